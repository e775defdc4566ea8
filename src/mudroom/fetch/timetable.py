"""Who waits for a moment: any number of names, and one timer for the earliest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from mudroom.clock import Clock
from mudroom.fetch.heap import Entry, RevocableHeap

__all__ = ["CallLater", "Timer", "Timetable"]

T = TypeVar("T")


class Timer(Protocol):
    """A call to come."""

    def cancel(self) -> None:
        """Give the call up."""
        ...


CallLater = Callable[[float, Callable[[], None]], Timer]
"""Has a function called once after some seconds; `call_later` of an asyncio loop is one."""


class Timetable(Generic[T]):
    """Items that wait for a moment of their name's, and are handed over when it has come.

    A timer that rings is believed: it may ring a little before the clock has come as far.
    """

    __slots__ = (
        "_call_later",
        "_clock",
        "_entries",
        "_heap",
        "_items",
        "_latest",
        "_number",
        "_on_due",
        "_timer",
    )

    def __init__(
        self, clock: Clock, on_due: Callable[[Iterable[T]], None], *, call_later: CallLater | None = None
    ) -> None:
        self._clock = clock
        self._on_due = on_due
        self._call_later = call_later
        self._heap: RevocableHeap[str] = RevocableHeap()
        self._entries: dict[str, Entry] = {}
        self._items: dict[str, set[T]] = {}
        self._latest = float("-inf")
        self._number = 0
        self._timer: tuple[float, Timer] | None = None

    def __len__(self) -> int:
        """How many names are waited for."""
        return len(self._items)

    def now(self) -> float:
        """The present moment."""
        return max(self._clock.monotonic(), self._latest)

    def add(self, name: str, moment: float, item: T) -> None:
        """Have an item wait for the moment of a name; where others wait for the name already, for theirs."""
        items = self._items.setdefault(name, set())
        items.add(item)
        if name not in self._entries:
            self._number += 1
            self._entries[name] = self._heap.push((moment, self._number), name)
            self._set_timer()

    def remove(self, name: str, item: T) -> None:
        """Have an item wait no longer; one that does not wait is let be."""
        items = self._items.get(name)
        if items is None:
            return
        items.discard(item)
        if not items:
            del self._items[name]
            self._heap.revoke(self._entries.pop(name))
            self._set_timer()

    def _set_timer(self) -> None:
        """One timer for the earliest moment, and none for nobody."""
        first = self._heap.first_key()
        if self._timer is not None:
            if first is not None and self._timer[0] == first[0]:
                return
            self._timer[1].cancel()
            self._timer = None
        if first is not None:
            call_later = self._call_later or asyncio.get_running_loop().call_later
            self._timer = (first[0], call_later(max(0.0, first[0] - self.now()), self._ring))

    def _ring(self) -> None:
        if self._timer is None:
            return
        self._latest, self._timer = max(self._latest, self._timer[0]), None
        now = self.now()
        due: list[T] = []
        while (first := self._heap.first_key()) is not None and first[0] <= now:
            name = self._heap.pop()
            if name is not None:
                del self._entries[name]
                due.extend(self._items.pop(name))
        self._on_due(due)
        self._set_timer()
