"""How many exchanges run at once: the seam at which a scheduler will choose who starts next.

A hop holds a slot from before its connection until its body has ended. A waiting hop holds no global
slot while it waits for its origin's, so that a stalled host cannot starve the others (decision 8).
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from mudroom.fetch.request import Priority

__all__ = ["OriginSlots", "Slots"]


class Slots(Protocol):
    """What lets hops start."""

    def hold(self, origin: str, priority: Priority) -> AbstractAsyncContextManager[None]:
        """A slot, entered when the hop may start."""
        ...


class _Gate:
    """Slots that are handed from one hop to the one that waits longest.

    Why not asyncio.Semaphore: a slot that is free costs no coroutine here, and it is the common case.
    """

    __slots__ = ("free", "users", "waiting")

    def __init__(self, free: int) -> None:
        self.free = free
        self.users = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    def try_take(self) -> bool:
        """Whether a slot was free; it is now the caller's."""
        if not self.free:
            return False
        self.free -= 1
        return True

    async def wait(self) -> None:
        """Take a slot when one is handed on."""
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.give_back()  # it was handed over while its hop gave up
            raise

    def give_back(self) -> None:
        """Hand a slot to the first that still waits, or keep it free."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class OriginSlots:
    """First come, first served, within an origin's slots and then the global ones."""

    def __init__(self, *, global_slots: int = 32, origin_slots: int = 6) -> None:
        if global_slots < 1 or origin_slots < 1:
            raise ValueError("slots must be at least 1")
        self._global = _Gate(global_slots)
        self._origin_slots = origin_slots
        self._gates: dict[str, _Gate] = {}

    def hold(self, origin: str, priority: Priority) -> _Held:
        """A slot of the origin and a global one; `priority` is for schedulers that know more."""
        del priority
        return _Held(self._global, self._gates, origin, self._origin_slots)


class _Held:
    """One hop's slots while it has them."""

    __slots__ = ("_all", "_gate", "_gates", "_origin")

    def __init__(self, all_slots: _Gate, gates: dict[str, _Gate], origin: str, origin_slots: int) -> None:
        self._all = all_slots
        self._gates = gates
        self._origin = origin
        self._gate = gates.get(origin) or _Gate(origin_slots)

    async def __aenter__(self) -> None:
        gate = self._gate = self._gates.setdefault(self._origin, self._gate)
        gate.users += 1
        try:
            if not gate.try_take():
                await gate.wait()
            try:
                if not self._all.try_take():
                    await self._all.wait()
            except BaseException:
                gate.give_back()
                raise
        except BaseException:
            self._leave()
            raise

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._all.give_back()
        self._gate.give_back()
        self._leave()

    def _leave(self) -> None:
        self._gate.users -= 1
        if not self._gate.users:
            del self._gates[self._origin]
