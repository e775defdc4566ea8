"""In which order pages are taken: as the frontier and the time say, or as an earlier run recorded it.

What a crawl of one host attempts follows from its pages alone. Of several hosts, or with scores, it also
follows from which of them were free or read at a moment: such a crawl comes out the same again only along
its recorded order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from mudroom.crawl.frontier import CountOpen, Frontier, FrontierEntry
from mudroom.crawl.resuming import GIVEN_UP
from mudroom.crawl.tally import Stop
from mudroom.errors import Code

__all__ = ["LiveOrder", "RecordedOrder", "TakeOrder"]

_ABORTS = frozenset({Stop.TIME, Stop.CANCELLED})


class TakeOrder(Protocol):
    """Chooses the next page of a crawl."""

    @property
    def is_live(self) -> bool:
        """Whether hosts are waited for and failures tried again; a recorded crawl does neither."""
        ...

    @property
    def stop(self) -> Stop | None:
        """Why the crawl ends where the order has ended; None where its own limits say it."""
        ...

    @property
    def began_at(self) -> datetime | None:
        """When the crawl that it follows began; None for now."""
        ...

    def was_given_up(self, code: Code) -> bool:
        """Whether a page that ended with this code was on its way when the run was stopped.

        Why: nothing behind such a page was taken in, whatever had ended.
        """
        ...

    def list_retries(self, number: int) -> Sequence[str]:
        """The codes of the tries of a page that the record says have failed."""
        ...

    def take(self, frontier: Frontier, count_open: CountOpen) -> FrontierEntry | None:
        """The next page with its number, or None while there is none."""
        ...

    def pass_over(self) -> bool:
        """Nothing on its way can bring what comes next: go on behind it. False when there is nothing."""
        ...


class LiveOrder:
    """Breadth first or by score, host-fair."""

    is_live = True
    stop = None
    began_at = None

    def take(self, frontier: Frontier, count_open: CountOpen) -> FrontierEntry | None:
        """What the frontier gives."""
        return frontier.take(count_open)

    def pass_over(self) -> bool:
        """False: what waits can only be waited for."""
        return False

    def was_given_up(self, code: Code) -> bool:  # noqa: ARG002 - there is no record
        """False: it has ended now."""
        return False

    def list_retries(self, number: int) -> Sequence[str]:  # noqa: ARG002 - there is no record
        """None."""
        return ()


class RecordedOrder:
    """The pages of an earlier run, by number and key; what else waits is left waiting."""

    is_live = False

    def __init__(
        self,
        pages: Iterable[tuple[int, str]],
        *,
        stop: Stop | None = None,
        began_at: datetime | None = None,
        retries: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        """Follow `pages`, in order of their numbers, with keys as `page_key` gives them.

        Shapes: `stop` is why that run ended, where its policy alone does not say so: time, bytes, a person;
            `retries` as `read_retries` gives them.
        """
        self.began_at = began_at
        self._retries = retries or {}
        self._pages = tuple(pages)
        self._next = 0
        self._stop = stop
        self.missing: list[tuple[int, str]] = []
        """Pages that no page led to this time."""

    @property
    def stop(self) -> Stop | None:
        """Why that run ended, once its pages are through."""
        return self._stop if self._next == len(self._pages) else None

    def take(self, frontier: Frontier, count_open: CountOpen) -> FrontierEntry | None:  # noqa: ARG002 - no host is waited for
        """The next page of the record, if it waits."""
        if self._next == len(self._pages):
            return None
        number, key = self._pages[self._next]
        entry = frontier.take_key(key, number)
        if entry is not None:
            self._next += 1
        return entry

    def was_given_up(self, code: Code) -> bool:
        """Whether a page that ended with this code was on its way when the run was stopped."""
        return self._stop in _ABORTS and code in GIVEN_UP

    def list_retries(self, number: int) -> Sequence[str]:
        """What the record says of the page."""
        return self._retries.get(number, ())

    def pass_over(self) -> bool:
        """Note the page as missing."""
        if self._next == len(self._pages):
            return False
        self.missing.append(self._pages[self._next])
        self._next += 1
        return True
