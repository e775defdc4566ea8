"""What an exit status means."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, unique

from mudroom.intake import Blocked, Failed, Outcome, Quarantined, Stored

__all__ = ["ExitStatus", "judge_outcomes"]


@unique
class ExitStatus(IntEnum):
    """The statuses of every command; the table stands in the README too."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NEGATIVE = 3
    CANCELLED = 130


def judge_outcomes(outcomes: Iterable[Outcome]) -> ExitStatus:
    """The status of several: a negative verdict outweighs a failure, a failure outweighs success."""
    worst = ExitStatus.DONE
    for outcome in outcomes:
        match outcome:
            case Blocked() | Quarantined():
                return ExitStatus.NEGATIVE
            case Failed():
                worst = ExitStatus.FAILED
            case Stored():
                pass
    return worst
