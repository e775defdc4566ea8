"""Archives of others, in and out: WARC and WACZ files read into a run, and written from one."""

from mudroom.exchange.importing import Importer, ImportLimits
from mudroom.exchange.outgoing import ExportRule, ExportSummary, export_warc
from mudroom.exchange.wacz import export_wacz

__all__ = ["ExportRule", "ExportSummary", "ImportLimits", "Importer", "export_wacz", "export_warc"]
