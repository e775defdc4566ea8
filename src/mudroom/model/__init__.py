"""Artifacts and trust states: the values that every floor hands on."""

from mudroom.model.document import (
    UPGRADE_PROTOCOL,
    BlockedDocument,
    ExtractedDocument,
    Hop,
    Link,
    Provenance,
    UntrustedDocument,
)
from mudroom.model.finding import ExposedText, Finding, ScanReport, ScanRequest
from mudroom.model.refusals import REFUSAL_DETAILS, Limit
from mudroom.model.runs import format_document_id, format_run_id
from mudroom.model.sitemap import SitemapEntry, SitemapFault, SitemapKind, SitemapReading
from mudroom.model.text import SecurityText, TextPiece
from mudroom.model.vocabulary import (
    Channel,
    CrawlState,
    Decision,
    ExposedForm,
    Hiding,
    Initiator,
    Isolation,
    LinkRelation,
    OutcomeKind,
    PageState,
    RobotsState,
    RunKind,
    Severity,
    View,
    WarningCode,
)

__all__ = [
    "REFUSAL_DETAILS",
    "UPGRADE_PROTOCOL",
    "BlockedDocument",
    "Channel",
    "CrawlState",
    "Decision",
    "ExposedForm",
    "ExposedText",
    "ExtractedDocument",
    "Finding",
    "Hiding",
    "Hop",
    "Initiator",
    "Isolation",
    "Limit",
    "Link",
    "LinkRelation",
    "OutcomeKind",
    "PageState",
    "Provenance",
    "RobotsState",
    "RunKind",
    "ScanReport",
    "ScanRequest",
    "SecurityText",
    "Severity",
    "SitemapEntry",
    "SitemapFault",
    "SitemapKind",
    "SitemapReading",
    "TextPiece",
    "UntrustedDocument",
    "View",
    "WarningCode",
    "format_document_id",
    "format_run_id",
]
