"""Which hop starts next, and when: decided when a slot is free, from what waits then.

    hold ─▶ running ─▶ ended                          a slot was free: nothing is queued, nothing awaited
       └──▶ waiting ─▶ running ─▶ ended
               └─────▶ ended                          its caller gave up

What waits stands in a queue of its origin. The first of each of the origin's lanes is *offered* to the lanes
of all origins when it may start: the origin has a slot and its host's moment has come. Rules that hold
between any two events:

- while a global slot is free, nothing is offered: what might start has started;
- what waits is offered, or stands behind one that is, or its origin is full, or its host's moment is awaited;
- an origin is known while something runs or waits there, and a timer is set while a moment is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, fields
from types import TracebackType
from typing import cast

from mudroom.clock import Clock
from mudroom.fetch.heap import Entry
from mudroom.fetch.hosts import HostTimes
from mudroom.fetch.lanes import Lanes
from mudroom.fetch.origins import Origin
from mudroom.fetch.request import Priority
from mudroom.fetch.retry_after import find_retry_after
from mudroom.fetch.timetable import CallLater, Timetable
from mudroom.net import Headers

__all__ = ["Scheduler", "SchedulerOptions"]

_REFUSALS = frozenset({429, 503})
_MULTIPLEXED = "HTTP/2"
"""The first protocol, in order of their names, that carries many requests on one connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """How many exchanges run at once, and how politely."""

    global_slots: int = 32
    origin_slots: int = 6
    http2_origin_slots: int = 16
    """Of an origin that answered by HTTP/2 last."""
    host_delay_seconds: float = 0.0
    """From one start to the next at the same host."""
    max_host_pause_seconds: float = 120.0
    """However long a host asks to be left alone."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_slots") and value < 1:
                raise ValueError(f"{field.name} must be at least 1")
            if value < 0:
                raise ValueError(f"{field.name} must not be negative")


class _Done(tuple[()]):
    """What need not be waited for; awaiting it makes no coroutine and no future, and calls no Python."""

    __slots__ = ()
    __await__ = tuple.__iter__


_DONE: Awaitable[None] = cast("Awaitable[None]", _Done())


class _Turn:
    """A slot's place among those that wait."""

    __slots__ = ("entry", "number", "origin", "priority", "slot", "waiter")

    def __init__(
        self, slot: _Slot, origin: Origin[_Turn], number: int, waiter: asyncio.Future[None] | None
    ) -> None:
        self.slot = slot
        self.origin = origin
        self.priority = slot.priority
        self.number = number
        self.entry: Entry | None = None
        """Its receipt while it stands in the lanes."""
        self.waiter = waiter

    def is_given_up(self) -> bool:
        """Whether its caller has gone, and has not come to say so yet."""
        return self.waiter is not None and self.waiter.done()


class _Slot:
    """One hop's turn: `turn` is set while it waits, `origin` while it runs."""

    __slots__ = ("_scheduler", "host", "origin", "origin_name", "priority", "turn")

    def __init__(self, scheduler: Scheduler, origin_name: str, host: str, priority: Priority) -> None:
        self._scheduler = scheduler
        self.origin_name = origin_name
        self.host = host
        self.priority = priority
        self.origin: Origin[_Turn] | None = None
        self.turn: _Turn | None = None

    def raise_priority(self, priority: Priority) -> None:
        if priority < self.priority:
            self.priority = priority
            if self.turn is not None:
                self._scheduler.move(self.turn)

    def note_answer(self, protocol: str, status: int, headers: Headers) -> None:
        if self.origin is not None:
            self._scheduler.note_answer(self.origin, protocol, status, headers)

    def __aenter__(self) -> Awaitable[None]:
        return _DONE if self._scheduler.start_at_once(self) else self._wait()

    def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> Awaitable[None]:
        self._scheduler.leave(self)
        return _DONE

    async def _wait(self) -> None:
        turn = self._scheduler.enter(self)
        if self.origin is not None:
            return
        turn.waiter = asyncio.get_running_loop().create_future()
        try:
            await turn.waiter
        except BaseException:
            self._scheduler.leave(self)  # it may have been let start while its caller gave up
            raise


class Scheduler:
    """The `Slots` of a fetcher; it belongs to one event loop."""

    def __init__(
        self, options: SchedulerOptions, clock: Clock, *, call_later: CallLater | None = None
    ) -> None:
        self._options = options
        self._origin_slots = options.origin_slots
        self._free = options.global_slots
        self._clock = clock
        self._times = HostTimes(
            delay_seconds=options.host_delay_seconds, max_pause_seconds=options.max_host_pause_seconds
        )
        self._paced = self._times.hosts
        self._delays_hosts = options.host_delay_seconds > 0
        self._origins: dict[str, Origin[_Turn]] = {}
        self._lanes: Lanes[_Turn] = Lanes()
        self._timetable: Timetable[Origin[_Turn]] = Timetable(clock, self._on_due, call_later=call_later)
        self._waiting = 0
        self._number = 0

    @property
    def running(self) -> int:
        """Slots that are held."""
        return self._options.global_slots - self._free

    @property
    def waiting(self) -> int:
        """Hops that wait for one."""
        return self._waiting

    @property
    def origins(self) -> int:
        """Origins at which something runs or waits."""
        return len(self._origins)

    def hold(self, origin: str, host: str, priority: Priority) -> _Slot:
        """A slot for one hop; it takes nothing until it is entered."""
        return _Slot(self, origin, host, priority)

    # What a slot asks.

    def start_at_once(self, slot: _Slot) -> bool:
        """Whether a slot could start without waiting; then it runs."""
        if not self._free:
            return False
        origin = self._origins.get(slot.origin_name)
        if origin is not None and (origin.waiting or origin.running >= origin.limit):
            return False
        if self._paced and not self._has_come(slot.host):
            return False
        self._start(slot, self._know(slot) if origin is None else origin)
        return True

    def enter(self, slot: _Slot, waiter: asyncio.Future[None] | None = None) -> _Turn:
        """Let a slot wait; where it need not, it runs already on return."""
        origin = self._know(slot)
        self._number += 1
        turn = slot.turn = _Turn(slot, origin, self._number, waiter)
        origin.add(turn)
        self._waiting += 1
        self._offer(origin)
        if self._free:
            self._dispatch()
        return turn

    def leave(self, slot: _Slot) -> None:
        """Take a slot back, or out of the queue; one that is neither is let be."""
        origin = slot.origin
        if origin is not None:
            slot.origin = None
            self._free += 1
            origin.running -= 1
            if origin.waiting:
                self._offer(origin)
            elif not origin.running:
                del self._origins[origin.name]
            if self._waiting:
                self._dispatch()
        elif slot.turn is not None:
            self._take_out(slot.turn)

    def move(self, turn: _Turn) -> None:
        """Have what waits stand at the end of the lane of its slot's new priority."""
        self._take_out(turn)
        self.enter(turn.slot, turn.waiter)

    def note_answer(self, origin: Origin[_Turn], protocol: str, status: int, headers: Headers) -> None:
        """Pace an origin and its host by an answer."""
        if status in _REFUSALS:
            asked = find_retry_after(headers, self._clock.now())
            self._times.note_refusal(origin.host, self._timetable.now(), asked)
        elif self._paced:
            self._times.note_answer(origin.host, self._timetable.now())
        limit = self._options.http2_origin_slots if protocol >= _MULTIPLEXED else self._origin_slots
        if limit != origin.limit:
            origin.limit = limit
            if origin.waiting:
                self._offer(origin)
                self._dispatch()

    # Starting.

    def _dispatch(self) -> None:
        """Let start what may, while there are slots."""
        while self._free and self._lanes.offered:
            chosen = self._lanes.choose(self._may_start)
            if chosen is None:
                break
            origin = chosen.origin
            turn = origin.pass_over(chosen)
            if turn.is_given_up():
                self._take_out(turn)
                turn = chosen
            self._start(turn.slot, origin)
            self._take_out(turn)
            if turn.waiter is not None:
                turn.waiter.set_result(None)

    def _start(self, slot: _Slot, origin: Origin[_Turn]) -> None:
        self._free -= 1
        origin.running += 1
        slot.origin = origin
        if self._delays_hosts:
            self._times.book(origin.host, self._timetable.now())

    def _may_start(self, turn: _Turn) -> bool:
        """Whether what was offered may start now; if not, what keeps it will have it offered again."""
        turn.entry = None
        if turn.is_given_up():
            self._take_out(turn)
            return False
        origin = turn.origin
        if origin.running >= origin.limit:
            return False
        if self._paced and not self._has_come(origin.host):
            self._await_host(origin)
            return False
        return True

    def _offer(self, origin: Origin[_Turn]) -> None:
        """Have the first of each lane of an origin stand in the lanes, unless it has to wait."""
        if origin.running >= origin.limit:
            return
        if self._paced and not self._has_come(origin.host):
            self._await_host(origin)
            return
        for turn in origin.list_first():
            if turn.entry is None:
                turn.entry = self._lanes.offer(turn.priority, turn.number, turn)

    def _take_out(self, turn: _Turn) -> None:
        """Take what waits out of its queue and out of the lanes; who stood behind it steps forward."""
        turn.slot.turn = None
        if turn.entry is not None:
            self._lanes.withdraw(turn.priority, turn.entry)
            turn.entry = None
        self._waiting -= 1
        if not self._waiting:
            self._lanes.rewind()
        origin = turn.origin
        origin.remove(turn)
        if origin.waiting:
            self._offer(origin)
            return
        self._timetable.remove(origin.host, origin)
        if not origin.running:
            del self._origins[origin.name]

    def _know(self, slot: _Slot) -> Origin[_Turn]:
        """The origin of a slot, from now on known."""
        origin = self._origins.get(slot.origin_name)
        if origin is None:
            origin = Origin(slot.origin_name, slot.host, self._origin_slots)
            self._origins[slot.origin_name] = origin
        return origin

    def _await_host(self, origin: Origin[_Turn]) -> None:
        self._timetable.add(origin.host, self._times.next_start(origin.host), origin)

    def _on_due(self, origins: Iterable[Origin[_Turn]]) -> None:
        for origin in origins:
            self._offer(origin)
        self._dispatch()

    def _has_come(self, host: str) -> bool:
        return self._times.next_start(host) <= self._timetable.now()
