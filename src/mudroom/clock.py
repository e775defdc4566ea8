"""The time, passed in: nothing below the surfaces asks the operating system itself."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "format_time"]


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow; for durations and deadlines."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow; for durations and deadlines."""
        return time.monotonic()


def format_time(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC with milliseconds and Z, as references and records hold it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
