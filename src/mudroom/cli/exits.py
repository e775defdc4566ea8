"""What an exit status means."""

from __future__ import annotations

from enum import IntEnum, unique

__all__ = ["ExitStatus"]


@unique
class ExitStatus(IntEnum):
    """The statuses of every command; the table stands in the README too."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NEGATIVE = 3
    CANCELLED = 130
