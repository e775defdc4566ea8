"""The seam at which a hop is let start: what a fetcher asks of whatever schedules it.

A hop holds a slot from before its connection until its body has ended. A waiting hop holds no global
slot while it waits for its origin's, so that a stalled host cannot starve the others (decision 8).
"""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import Protocol

from mudroom.fetch.request import Priority
from mudroom.net import Headers

__all__ = ["Slot", "Slots"]


class Slot(Protocol):
    """One hop's turn: entered when the hop may start, left when its body has ended."""

    def raise_priority(self, priority: Priority) -> None:
        """Have a hop that still waits join the lane of a higher priority, behind what waits there."""
        ...

    def note_answer(self, protocol: str, status: int, headers: Headers) -> None:
        """Tell what the origin answered, at its headers, so that what comes next can be paced by it."""
        ...

    def __aenter__(self) -> Awaitable[None]:
        """Wait until the hop may start."""
        ...

    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Awaitable[None]:
        """Let the next one start."""
        ...


class Slots(Protocol):
    """What lets hops start."""

    def hold(self, origin: str, host: str, priority: Priority) -> Slot:
        """A slot for one hop; `host` is the origin's name or address, without scheme and port."""
        ...
