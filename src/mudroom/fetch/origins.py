"""One origin: what runs at it, what waits for it, and how much of it may run at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

from mudroom.fetch.request import Priority

__all__ = ["Origin", "Waiting"]

_PATIENCE = 45
"""Starts at an origin that may pass a lane over before its first is due: three cycles. Lanes are chosen for
all origins together, and an origin whose slots come free in step with the turns might have only those of
one lane."""


class Waiting(Protocol):
    """What an origin's queues know of what waits in them."""

    priority: Priority
    number: int


W = TypeVar("W", bound=Waiting)


class Origin(Generic[W]):
    """An origin that is in use."""

    __slots__ = ("_passed", "_queues", "host", "limit", "name", "running", "waiting")

    def __init__(self, name: str, host: str, limit: int) -> None:
        self.name = name
        self.host = host
        self.limit = limit
        self.running = 0
        self.waiting = 0
        self._queues: tuple[OrderedDict[int, W], ...] = ()

    def add(self, item: W) -> None:
        """Let an item wait, behind those of its priority."""
        if not self._queues:
            self._queues = tuple(OrderedDict() for _ in Priority)
            self._passed = [0] * len(Priority)
        self._queues[item.priority][item.number] = item
        self.waiting += 1

    def remove(self, item: W) -> None:
        """Let an item wait no longer."""
        del self._queues[item.priority][item.number]
        self.waiting -= 1
        if not self.waiting:
            self._queues = ()

    def list_first(self) -> list[W]:
        """The first of each lane."""
        return [next(iter(queue.values())) for queue in self._queues if queue]

    def pass_over(self, chosen: W) -> W:
        """What starts when an item is chosen: the item, or what other lanes' patience has run out for."""
        for priority, queue in enumerate(self._queues):
            if priority == chosen.priority or not queue:
                self._passed[priority] = 0
            elif self._passed[priority] >= _PATIENCE:
                self._passed[priority] = 0
                return next(iter(queue.values()))
            else:
                self._passed[priority] += 1
        return chosen
