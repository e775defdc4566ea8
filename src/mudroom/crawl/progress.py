"""What a crawl has noticed and counted, kept in its frontier so that the next sitting knows it."""

from __future__ import annotations

from collections.abc import Mapping

from mudroom.budget import ByteBudget
from mudroom.crawl.frontier import Frontier
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.notices import Notices
from mudroom.errors import Code, StoreFailed

__all__ = ["restore_progress", "save_progress"]

_DISCOVERED, _WIRE_BYTES = "discovered", "wire_bytes"


def save_progress(frontier: Frontier, notices: Notices, sieve: LinkSieve, budget: ByteBudget) -> None:
    """Keep it, with all else that was done to the frontier since the last time. Raises: StoreFailed."""
    for name, value in notices.list_notes():
        frontier.note(name, value)
    frontier.note(_DISCOVERED, str(sieve.discovered))
    frontier.note(_WIRE_BYTES, str(budget.spent_bytes))
    frontier.commit()


def restore_progress(
    notes: Mapping[str, str], notices: Notices, sieve: LinkSieve, budget: ByteBudget
) -> None:
    """Know of it again. Raises: StoreFailed SNAPSHOT_CORRUPT."""
    try:
        notices.restore(notes)
        sieve.restore(notes)
        sieve.discovered = int(notes.get(_DISCOVERED, "0"))
        budget.charge(int(notes.get(_WIRE_BYTES, "0")))
    except (ValueError, TypeError, KeyError) as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the frontier of the run is damaged") from fault
