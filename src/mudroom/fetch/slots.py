"""How many exchanges run at once: the seam at which a scheduler will choose who starts next.

A hop holds a slot from before its connection until its body has ended. A waiting hop holds no global
slot while it waits for its origin's, so that a stalled host cannot starve the others (decision 8).
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from mudroom.fetch.request import Priority

__all__ = ["OriginSlots", "Slots"]


class Slots(Protocol):
    """What lets hops start."""

    def hold(self, origin: str, priority: Priority) -> AbstractAsyncContextManager[None]:
        """A slot, entered when the hop may start."""
        ...


@dataclass(slots=True)
class _Gate:
    """The slots of one origin while it has any in use."""

    slots: asyncio.Semaphore
    users: int = 0


class OriginSlots:
    """First come, first served, within an origin's slots and then the global ones."""

    def __init__(self, *, global_slots: int = 32, origin_slots: int = 6) -> None:
        if global_slots < 1 or origin_slots < 1:
            raise ValueError("slots must be at least 1")
        self._global = asyncio.Semaphore(global_slots)
        self._origin_slots = origin_slots
        self._gates: dict[str, _Gate] = {}

    def hold(self, origin: str, priority: Priority) -> _Held:
        """A slot of the origin and a global one; `priority` is for schedulers that know more."""
        del priority
        return _Held(self, origin)

    @property
    def busy_origins(self) -> int:
        """Origins with a hop running or waiting; nothing is remembered of the others."""
        return len(self._gates)

    async def _enter(self, origin: str) -> None:
        gate = self._gates.get(origin)
        if gate is None:
            gate = self._gates[origin] = _Gate(asyncio.Semaphore(self._origin_slots))
        gate.users += 1
        try:
            await gate.slots.acquire()
            try:
                await self._global.acquire()
            except BaseException:
                gate.slots.release()
                raise
        except BaseException:
            self._forget(origin, gate)
            raise

    def _leave(self, origin: str) -> None:
        gate = self._gates[origin]
        self._global.release()
        gate.slots.release()
        self._forget(origin, gate)

    def _forget(self, origin: str, gate: _Gate) -> None:
        gate.users -= 1
        if not gate.users:
            del self._gates[origin]


class _Held:
    """One slot while it is held."""

    __slots__ = ("_origin", "_slots")

    def __init__(self, slots: OriginSlots, origin: str) -> None:
        self._slots = slots
        self._origin = origin

    async def __aenter__(self) -> None:
        await self._slots._enter(self._origin)  # noqa: SLF001 - one mechanism in two classes

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._slots._leave(self._origin)  # noqa: SLF001 - as above
