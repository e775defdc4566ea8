"""What a crawl has noticed and counted, kept in its frontier so that the next sitting knows it."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.crawl.frontier import Frontier, Left
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.notices import Notices
from mudroom.errors import Code, StoreFailed

__all__ = ["BytesSpent", "restore_progress", "save_progress"]

_DISCOVERED, _PAGE_BYTES = "discovered", "page_bytes"


@dataclass(slots=True)
class BytesSpent:
    """What a crawl has read, as far as the record of its run does not tell it at the next sitting."""

    pages: int = 0
    """Of pages that were taken in."""


def save_progress(frontier: Frontier, notices: Notices, sieve: LinkSieve, spent: BytesSpent) -> None:
    """Keep it, with all else that was done to the frontier since the last time. Raises: StoreFailed."""
    for name, value in notices.list_notes():
        frontier.note(name, value)
    frontier.note(_DISCOVERED, str(sieve.discovered))
    frontier.note(_PAGE_BYTES, str(spent.pages))
    frontier.commit()


def restore_progress(left: Left, notices: Notices, sieve: LinkSieve, spent: BytesSpent) -> int:
    """Know of it again: the bytes that pages have cost, those that wait to be taken in among them.

    Raises: StoreFailed SNAPSHOT_CORRUPT.
    """
    notes = left.notes
    try:
        notices.restore(notes)
        sieve.restore(notes)
        sieve.discovered = int(notes.get(_DISCOVERED, "0"))
        spent.pages = int(notes.get(_PAGE_BYTES, "0"))
    except (ValueError, TypeError, KeyError) as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the frontier of the run is damaged") from fault
    return spent.pages + sum(page.wire_bytes for _, page in left.line if page is not None)
