"""Parts are chosen and joined here, once."""

from mudroom.assembly.build import build_archive, build_egress, build_reading_corpus, rebuild_archive
from mudroom.assembly.house import House, Network, fail_without_run, open_fetcher, open_house
from mudroom.assembly.machine import Check, CheckState, examine_machine

__all__ = [
    "Check",
    "CheckState",
    "House",
    "Network",
    "build_archive",
    "build_egress",
    "build_reading_corpus",
    "examine_machine",
    "fail_without_run",
    "open_fetcher",
    "open_house",
    "rebuild_archive",
]
