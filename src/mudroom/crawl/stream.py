"""Pages of a crawl handed on one by one, as each has ended: bounded, and at the pace of who reads them."""

from __future__ import annotations

import asyncio
from collections import deque

from mudroom.intake import Outcome

__all__ = ["OutcomeStream"]

_WAITING = 8


class OutcomeStream:
    """A short queue between a crawl and who reads its pages. When it is full, the crawl waits."""

    def __init__(self) -> None:
        self._outcomes: deque[Outcome] = deque()
        self._changed = asyncio.Condition()
        self._is_over = False

    async def put(self, outcome: Outcome) -> None:
        """Hand a page on once there is room; at once when nobody reads any more."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or len(self._outcomes) < _WAITING)
            if not self._is_over:
                self._outcomes.append(outcome)
                self._changed.notify_all()

    async def get(self) -> Outcome | None:
        """The next page; None after the last."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or bool(self._outcomes))
            if not self._outcomes:
                return None
            outcome = self._outcomes.popleft()
            self._changed.notify_all()
            return outcome

    async def close(self) -> None:
        """No more pages come; those that wait can still be read."""
        async with self._changed:
            self._is_over = True
            self._changed.notify_all()
