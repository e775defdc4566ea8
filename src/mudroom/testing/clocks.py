"""Clocks that stand still until a test moves them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

__all__ = ["FixedClock", "PaperTimer", "RingingClock"]

_START = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


class FixedClock:
    """The `Clock` of a test: both readings move together, and only by `advance`."""

    def __init__(self, start: datetime = _START, monotonic_seconds: float = 1000.0) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock's start needs a time zone")
        self._now = start.astimezone(UTC)
        self._monotonic = monotonic_seconds

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for a step back: use `set_now` for a clock that was put back."""
        if seconds < 0:
            raise ValueError("monotonic time only grows")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def set_now(self, moment: datetime) -> None:
        """Put the time of day somewhere else, as an administrator would; `monotonic` stays."""
        self._now = moment.astimezone(UTC)


class PaperTimer:
    """A call that a `RingingClock` will make."""

    def __init__(self, moment: float, call: Callable[[], None]) -> None:
        self.moment = moment
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        """Give the call up."""
        self.is_cancelled = True


class RingingClock(FixedClock):
    """A fixed clock that also stands in for a loop's timers: they ring while it is moved past them."""

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[PaperTimer] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> PaperTimer:
        """Have a function called when the clock has moved so far."""
        timer = PaperTimer(self.monotonic() + seconds, call)
        self._timers.append(timer)
        return timer

    @property
    def timers(self) -> tuple[PaperTimer, ...]:
        """Those that are still to ring, the earliest first."""
        waiting = (timer for timer in self._timers if not timer.is_cancelled)
        return tuple(sorted(waiting, key=lambda timer: timer.moment))

    def advance(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = self.monotonic() + seconds
        while self.timers and self.timers[0].moment <= end:
            timer = self.timers[0]
            self._timers.remove(timer)
            super().advance(max(0.0, timer.moment - self.monotonic()))
            timer.call()
        super().advance(max(0.0, end - self.monotonic()))
