"""Parts are chosen and joined here, once."""

from mudroom.assembly.build import build_corpus, build_egress
from mudroom.assembly.house import House, open_house
from mudroom.assembly.machine import Check, CheckState, examine_machine

__all__ = [
    "Check",
    "CheckState",
    "House",
    "build_corpus",
    "build_egress",
    "examine_machine",
    "open_house",
]
