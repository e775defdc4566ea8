"""All guests of one role: who serves which site, who waits, who is replaced.

A guest serves one (run, site) ever. A request takes, in this order: an idle guest of its key; a guest that
nobody has touched; a new one where there is room; the place of the idle guest unused for longest. Else it
waits; a guest that comes free goes to the first who waits for its key, and is given up for another key
only when there is none, or when the first in the queue was passed over too often.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mudroom.errors import Code, GuestFailed
from mudroom.jail.inmate import Inmate, SiteKey
from mudroom.jail.launch import Launcher
from mudroom.jail.options import GuestRole, GuestSharing, JailOptions
from mudroom.wire import FrameKind

__all__ = ["Ward"]

T = TypeVar("T")
# A guest of another site costs a start, some tens of documents' worth of work.
_MAX_PASSED_OVER = 32
_REFILL_DELAY_SECONDS = 0.25


@dataclass(slots=True, eq=False)
class _Waiter:
    key: SiteKey
    turn: asyncio.Future[Inmate]
    passed_over: int = field(default=0)


class Ward:
    """The guests of one role. All methods are of one event loop."""

    def __init__(self, launcher: Launcher, role: GuestRole, options: JailOptions) -> None:
        self._launcher = launcher
        self._role = role
        self._options = options
        self._guests: set[Inmate] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._cleaning: set[asyncio.Task[None]] = set()
        self._waiters: deque[_Waiter] = deque()
        self._failed_starts = 0
        self._refill: asyncio.TimerHandle | None = None
        self._first_key: SiteKey | None = None
        self._may_need_spares = options.by is GuestSharing.DOCUMENT
        self._is_closed = False

    async def start(self) -> None:
        """The first guest is ready. Raises GuestFailed(JAIL_UNAVAILABLE) when it did not start in a few tries."""
        waiter = _Waiter(("", ""), asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._dispatch()
        inmate = await self._await_turn(waiter)
        inmate.key = None
        self._release(inmate)

    async def ask(
        self,
        key: SiteKey,
        kind: FrameKind,
        payload: bytes,
        expected: FrameKind,
        decode: Callable[[memoryview], T],
    ) -> T:
        """The decoded answer of a guest that serves that key and no other. Raises as Inmate.ask does."""
        if self._is_closed:
            raise GuestFailed(Code.JAIL_UNAVAILABLE, "the jail is closed")
        self._note_key(key)
        waiter = _Waiter(key, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._dispatch()
        inmate = waiter.turn.result() if waiter.turn.done() else await self._await_turn(waiter)
        try:
            return await inmate.ask(kind, payload, expected, decode)
        finally:
            self._release(inmate)

    async def aclose(self) -> None:
        """No guest, task or file descriptor is left; who waits is told that the jail is closed."""
        self._is_closed = True
        if self._refill is not None:
            self._refill.cancel()
        self._fail_waiters(GuestFailed(Code.JAIL_UNAVAILABLE, "the jail was closed"))
        for task in self._starting:
            task.cancel()
        for inmate in tuple(self._guests):
            self._retire(inmate)
        while self._starting or self._cleaning:
            await asyncio.gather(*self._starting, *self._cleaning, return_exceptions=True)

    def _note_key(self, key: SiteKey) -> None:
        """A spare is for the next site: where only one is ever read, as in most crawls, none is started."""
        if self._first_key is None:
            self._first_key = key
        elif key != self._first_key:
            self._may_need_spares = True

    async def _await_turn(self, waiter: _Waiter) -> Inmate:
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled() and waiter.turn.exception() is None:
                self._release(waiter.turn.result())
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)
            raise

    def _release(self, inmate: Inmate) -> None:
        inmate.is_busy = False
        inmate.last_used = asyncio.get_running_loop().time()
        is_spent = inmate.key is not None and self._options.by is GuestSharing.DOCUMENT
        if not inmate.is_fit or is_spent or self._is_closed:
            self._retire(inmate)
        if not self._is_closed:
            self._dispatch()

    def _dispatch(self) -> None:
        """Gives idle guests to those who wait, and makes room or new guests for the rest."""
        for inmate in [guest for guest in self._guests if not guest.is_busy and not guest.is_fit]:
            self._retire(inmate)
        self._waiters = deque(waiter for waiter in self._waiters if not waiter.turn.done())
        self._give_up_for_the_patient()
        self._serve_by_key()
        self._serve_by_untouched()
        if self._waiters:
            self._make_guests()
        elif self._may_need_spares and self._options.spares_per_role and self._refill is None:
            self._refill = asyncio.get_running_loop().call_later(self._refill_delay(), self._on_refill)

    def _give_up_for_the_patient(self) -> None:
        """Makes a place for the first in the queue when others were served before it too often."""
        if not self._waiters or self._waiters[0].passed_over < _MAX_PASSED_OVER:
            return
        if not self._starting and self._places_taken() >= self._options.guests_per_role:
            self._evict_other_than(self._waiters[0].key)

    def _serve_by_key(self) -> None:
        idle = {guest.key: guest for guest in self._guests if not guest.is_busy and guest.key is not None}
        if not idle:
            return
        kept: deque[_Waiter] = deque()
        passed: list[_Waiter] = []
        for waiter in self._waiters:
            guest = idle.pop(waiter.key, None)
            if guest is None:
                kept.append(waiter)
                passed.append(waiter)
                continue
            self._hand_over(guest, waiter)
            for earlier in passed:
                earlier.passed_over += 1
        self._waiters = kept

    def _serve_by_untouched(self) -> None:
        for guest in [guest for guest in self._guests if guest.key is None and not guest.is_busy]:
            if not self._waiters:
                return
            is_full = self._places_taken() >= self._options.guests_per_role
            if is_full and not self._evict_other_than(self._waiters[0].key):
                return
            self._hand_over(guest, self._waiters.popleft())

    def _hand_over(self, guest: Inmate, waiter: _Waiter) -> None:
        guest.is_busy = True
        guest.key = waiter.key
        waiter.turn.set_result(guest)

    def _make_guests(self) -> None:
        """Starts guests for those who wait, in free places or in those of idle guests of other keys."""
        for waiter in tuple(self._waiters)[len(self._starting) :]:
            taken = self._places_taken() + len(self._starting)
            if taken >= self._options.guests_per_role and not self._evict_other_than(waiter.key):
                return
            self._start_one()

    def _places_taken(self) -> int:
        """Guests that serve a key; those that nobody has touched wait beside the places."""
        return sum(guest.key is not None for guest in self._guests)

    def _evict_other_than(self, key: SiteKey) -> bool:
        """Whether an idle guest of another key, the one unused for longest, gave its place up."""
        idle = [guest for guest in self._guests if not guest.is_busy and guest.key not in {None, key}]
        if not idle:
            return False
        self._retire(min(idle, key=lambda guest: guest.last_used))
        return True

    def _start_one(self) -> None:
        task = asyncio.get_running_loop().create_task(self._start_guest())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start_guest(self) -> None:
        try:
            inmate = await Inmate.start(self._launcher, self._role, self._options)
        except GuestFailed as failure:
            self._starting.discard(asyncio.current_task())
            self._failed_starts += 1
            if self._failed_starts >= self._options.start_attempts:
                self._failed_starts = 0
                self._fail_waiters(failure)
            elif self._waiters:
                self._dispatch()
            return
        self._failed_starts = 0
        self._starting.discard(asyncio.current_task())
        self._guests.add(inmate)
        if self._is_closed:
            self._retire(inmate)
        else:
            self._dispatch()

    def _fail_waiters(self, failure: GuestFailed) -> None:
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.turn.done():
                waiter.turn.set_exception(GuestFailed(failure.code, failure.message))

    def _retire(self, inmate: Inmate) -> None:
        self._guests.discard(inmate)
        inmate.kill()
        task = asyncio.get_running_loop().create_task(inmate.clean())
        self._cleaning.add(task)
        task.add_done_callback(self._cleaning.discard)

    def _refill_delay(self) -> float:
        return 0.0 if self._options.by is GuestSharing.DOCUMENT else _REFILL_DELAY_SECONDS

    def _on_refill(self) -> None:
        """Starts spares when the hurry is over: a command that reads one page ends before it would need them."""
        self._refill = None
        untouched = sum(guest.key is None for guest in self._guests) + len(self._starting)
        for _ in range(self._options.spares_per_role - untouched):
            self._start_one()
