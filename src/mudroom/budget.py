"""Limits that are spent: bytes, pages and time of one run.

Each attempt reserves `min(max_page_bytes, max_total_bytes - spent - reserved)` and is capped at it, so
that pages never pass the limit however many attempts run at once. What is read beside them (robots.txt)
is charged once it was read, and can pass it by what was being read at that moment.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ByteBudget", "Reservation"]


@dataclass(slots=True)
class Reservation:
    """A share of a budget, held by one attempt until `settle`."""

    budget: ByteBudget
    limit_bytes: int
    is_settled: bool = False

    def settle(self, used_bytes: int) -> None:
        """Give back what was not used; a second call does nothing."""
        if not self.is_settled:
            self.is_settled = True
            self.budget._settle(self.limit_bytes, used_bytes)  # noqa: SLF001 - one mechanism in two classes


@dataclass(slots=True)
class ByteBudget:
    """Bytes that one run may read from the network."""

    max_total_bytes: int
    max_page_bytes: int
    spent_bytes: int = 0
    reserved_bytes: int = 0

    def reserve(self) -> Reservation | None:
        """A reservation for one attempt, or None when nothing is left."""
        limit = min(self.max_page_bytes, self.max_total_bytes - self.spent_bytes - self.reserved_bytes)
        if limit <= 0:
            return None
        self.reserved_bytes += limit
        return Reservation(budget=self, limit_bytes=limit)

    def charge(self, used_bytes: int) -> None:
        """Spend bytes that nobody had reserved."""
        self.spent_bytes += used_bytes

    def _settle(self, reserved: int, used: int) -> None:
        self.reserved_bytes -= reserved
        self.spent_bytes += min(used, reserved)
