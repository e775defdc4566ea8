"""Four lanes, weighted: which of those that may start is next.

Fifteen turns make a cycle: eight prefer HIGH, four NORMAL, two LOW and one IDLE. A turn whose lane is empty
falls through to the others in an order of its own, so that no turn is lost and no lane starves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mudroom.fetch.heap import Entry, RevocableHeap
from mudroom.fetch.request import Priority

__all__ = ["CYCLE", "Lanes"]

T = TypeVar("T")

_HIGH, _NORMAL, _LOW, _IDLE = Priority

CYCLE: tuple[tuple[Priority, ...], ...] = (
    *((_HIGH, _NORMAL, _LOW, _IDLE),) * 8,
    *((_NORMAL, _HIGH, _LOW, _IDLE),) * 4,
    *((_LOW, _NORMAL, _HIGH, _IDLE),) * 2,
    (_IDLE, _LOW, _NORMAL, _HIGH),
)
"""The order in which each turn of a cycle looks into the lanes."""


class Lanes(Generic[T]):
    """What may start, by priority, and within a priority by number."""

    __slots__ = ("_heaps", "_turn", "offered")

    def __init__(self) -> None:
        self._heaps: tuple[RevocableHeap[T], ...] = tuple(RevocableHeap() for _ in Priority)
        self._turn = 0
        self.offered = 0
        """How many stand in the lanes."""

    def offer(self, priority: Priority, number: int, item: T) -> Entry:
        """Put an item into its lane, before those of a higher number."""
        self.offered += 1
        return self._heaps[priority].push(number, item)

    def withdraw(self, priority: Priority, entry: Entry) -> None:
        """Take an item out of its lane that has not been chosen."""
        self.offered -= 1
        self._heaps[priority].revoke(entry)

    def choose(self, may_start: Callable[[T], bool]) -> T | None:
        """The item whose turn it is, taken out; None when none may start, and then all lanes are empty.

        `may_start` is asked of an item when it is already out; one that may not start stays out.
        """
        for priority in CYCLE[self._turn]:
            heap = self._heaps[priority]
            while (item := heap.pop()) is not None:
                self.offered -= 1
                if may_start(item):
                    self._turn = (self._turn + 1) % len(CYCLE)
                    return item
        return None

    def rewind(self) -> None:
        """Begin the next cycle anew; for when nothing waits, or a lane might never have its turn."""
        self._turn = 0
