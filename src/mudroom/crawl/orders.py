"""What is wanted of one sitting of a crawl beside its policy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from mudroom.crawl.cancel import CancelToken
from mudroom.crawl.order import LiveOrder, TakeOrder
from mudroom.intake import Outcome

__all__ = ["Outlet", "RunOrders", "give_to_nobody"]

Outlet = Callable[[Outcome], Awaitable[None]]
"""Is given each page when it has ended; the crawl waits for it."""


async def give_to_nobody(_outcome: Outcome) -> None:
    """Nothing: nobody waits for pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrders:
    """How one sitting is done."""

    began_at: datetime
    """When the first sitting began."""
    cancel: CancelToken = field(default_factory=CancelToken)
    order: TakeOrder = field(default_factory=LiveOrder)
    outlet: Outlet = give_to_nobody
