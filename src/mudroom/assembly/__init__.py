"""Parts are chosen and joined here, once."""

from mudroom.assembly.build import build_archive, build_egress, build_reading_corpus, rebuild_archive
from mudroom.assembly.fetching import Fetcher
from mudroom.assembly.house import House, Network, fail_without_run, open_fetcher, open_house
from mudroom.assembly.machine import Check, CheckState, examine_machine
from mudroom.assembly.preview import open_explainer
from mudroom.assembly.shipping import ship_run
from mudroom.assembly.study import Study, open_study

__all__ = [
    "Check",
    "CheckState",
    "Fetcher",
    "House",
    "Network",
    "Study",
    "build_archive",
    "build_egress",
    "build_reading_corpus",
    "examine_machine",
    "fail_without_run",
    "open_explainer",
    "open_fetcher",
    "open_house",
    "open_study",
    "rebuild_archive",
    "ship_run",
]
