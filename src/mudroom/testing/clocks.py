"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["FixedClock"]

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
