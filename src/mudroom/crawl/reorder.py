"""Pages end in any order and are taken in by number: what a crawl discovers follows from its pages.

The links of page n enter the frontier when those of all pages before it have, and the keys that its
redirects lead to are claimed then. So with one host and no score the next page is always the one that a
crawl of one page at a time would take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

__all__ = ["ReorderBuffer", "Weighed"]


class Weighed(Protocol):
    """Something that takes room while it waits."""

    @property
    def number(self) -> int:
        """The number of its page."""
        ...

    @property
    def weight(self) -> int:
        """How much room: its links."""
        ...


_Ended = TypeVar("_Ended", bound=Weighed)


class ReorderBuffer(Generic[_Ended]):
    """Pages in the order in which they were started, until each was taken in."""

    def __init__(self) -> None:
        self._line: deque[int] = deque()
        self._ended: dict[int, _Ended] = {}
        self._turns: dict[int, asyncio.Future[None]] = {}
        self._earlier: set[int] = set()
        self.weight = 0
        """Of all that has ended and waits."""

    def has(self, number: int) -> bool:
        """Whether the page was started in an earlier sitting."""
        return number in self._earlier

    def join_earlier(self, number: int) -> None:
        """A page was started in an earlier sitting."""
        self._earlier.add(number)
        self._line.append(number)

    def join(self, number: int) -> None:
        """A page was started, behind all others."""
        self._line.append(number)

    def end(self, page: _Ended) -> None:
        """A page has ended."""
        self._ended[page.number] = page
        self.weight += page.weight

    def take_ready(self) -> Iterator[_Ended]:
        """The pages whose turn it is; each leaves the line when the next is asked for."""
        while self._line and (page := self._ended.get(self._line[0])) is not None:
            yield page
            self._line.popleft()
            del self._ended[page.number]
            self._earlier.discard(page.number)
            self.weight -= page.weight
            if self._line and (turn := self._turns.get(self._line[0])) is not None and not turn.done():
                turn.set_result(None)

    async def wait_turn(self, number: int) -> None:
        """Nothing, once every page before this one was taken in."""
        if self._line[0] == number:
            return
        turn = self._turns[number] = asyncio.get_running_loop().create_future()
        try:
            await turn
        finally:
            del self._turns[number]
