"""What a crawl has done so far, in numbers, and why it stopped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto, unique

from mudroom.crawl.policy import CrawlPolicy
from mudroom.errors import Code, Reason
from mudroom.intake import Failed, Outcome, Quarantined, Stored
from mudroom.model import CrawlState, OutcomeKind, WarningCode

__all__ = ["Stop", "Tally"]


@unique
class Stop(Enum):
    """Why no further page is started."""

    PAGES = auto()
    BYTES = auto()
    TIME = auto()
    CANCELLED = auto()
    STORE = auto()
    """Nothing can be written any more."""


_LIMITS = frozenset({Stop.PAGES, Stop.BYTES, Stop.TIME})


@dataclass(slots=True)
class Tally:
    """The counts of one crawl."""

    attempted: int = 0
    stored: int = 0
    seed_failed: bool = False
    stop: Stop | None = None
    ends: Counter[Code] = field(default_factory=Counter)
    """Pages that were not stored, by code; quarantined ones have none."""
    quarantined: int = 0
    store_failures: int = 0
    """Pages in a row, up to the last one, that could not be written."""
    store_fault: str = ""
    """Why the last of them could not."""

    def count(self, outcome: Outcome, *, is_seed: bool) -> None:
        """Count how a page ended."""
        is_unwritten = isinstance(outcome, Failed) and outcome.reason is Reason.STORE
        self.store_failures = self.store_failures + 1 if is_unwritten else 0
        if isinstance(outcome, Failed) and is_unwritten:
            self.store_fault = outcome.message
        if isinstance(outcome, Stored):
            self.stored += 1
        elif isinstance(outcome, Quarantined):
            self.quarantined += 1
        else:
            self.ends[outcome.code] += 1
            self.seed_failed = self.seed_failed or (is_seed and isinstance(outcome, Failed))

    def count_fault(self, code: Code, *, is_seed: bool) -> None:
        """Count a page that ended without an outcome: given up or broken."""
        self.ends[code] += 1
        self.seed_failed = self.seed_failed or is_seed

    def restore(self, outcome: OutcomeKind, code: Code | None, *, is_seed: bool) -> None:
        """Count a page that an earlier sitting recorded."""
        self.attempted += 1
        self.count_recorded(outcome, code, is_seed=is_seed)

    def count_recorded(self, outcome: OutcomeKind, code: Code | None, *, is_seed: bool) -> None:
        """Count a page by what the record of its run says of it."""
        if outcome is OutcomeKind.STORED:
            self.stored += 1
        elif outcome is OutcomeKind.QUARANTINED:
            self.quarantined += 1
        elif code is not None:
            self.ends[code] += 1
            self.seed_failed = self.seed_failed or (is_seed and outcome is OutcomeKind.FAILED)

    def name_state(self, *, has_dropped: bool) -> CrawlState:
        """The state in which the crawl ends.

        FAILED: nothing could be done, because the seed could not be had or nothing can be written.
        """
        if self.stop is Stop.CANCELLED:
            return CrawlState.CANCELLED
        if self.stop is Stop.STORE:
            return CrawlState.FAILED
        if self.stop in _LIMITS or has_dropped:
            return CrawlState.LIMIT_REACHED
        return CrawlState.FAILED if self.seed_failed else CrawlState.COMPLETE

    def explain_stop(self, policy: CrawlPolicy, *, remaining: int) -> tuple[WarningCode | Code, str] | None:
        """What to warn of because the crawl was stopped, or None when it was not."""
        waiting = f"{remaining} {'URL remains' if remaining == 1 else 'URLs remain'}"
        match self.stop:
            case Stop.PAGES:
                return WarningCode.PAGE_LIMIT, f"stopped after max_pages, {policy.max_pages}; {waiting}"
            case Stop.BYTES:
                return (
                    WarningCode.BYTE_LIMIT,
                    f"stopped at max_total_bytes, {policy.max_total_bytes}; {waiting}",
                )
            case Stop.TIME:
                limit = f"{policy.max_duration_seconds:g}"
                return WarningCode.TIME_LIMIT, f"stopped at max_duration_seconds, {limit}; {waiting}"
            case Stop.CANCELLED:
                return Code.CANCELLED, f"cancelled; {waiting}"
            case Stop.STORE:
                why = f": {self.store_fault}" if self.store_fault else ""
                return Code.STORE_UNAVAILABLE, f"stopped because pages could not be written{why}; {waiting}"
            case _:
                return None

    def explain_nothing(self) -> str:
        """Why no page was stored, in one sentence."""
        if not self.attempted:
            return "nothing was stored: no page was attempted"
        causes = [f"{code} {number}" for code, number in sorted(self.ends.items())]
        if self.quarantined:
            causes.append(f"QUARANTINED {self.quarantined}")
        pages = "page was" if self.attempted == 1 else "pages were"
        return f"nothing was stored: {self.attempted} {pages} attempted ({', '.join(causes)})"
