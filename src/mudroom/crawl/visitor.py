"""One page of a crawl, tried until it ends or no further try can help.

A try that failed for want of the network, or with a status that says so, is made again: after a pause that
doubles and that chance spreads, or as long as the host asked for. It is the same attempt under the same number,
and what the tries cost is charged one by one.
"""

from __future__ import annotations

from mudroom.address import parse_url
from mudroom.budget import ByteBudget
from mudroom.corpus import RunWriter
from mudroom.crawl.attempt import Attempt
from mudroom.crawl.frontier import Frontier
from mudroom.crawl.manners import HostManners
from mudroom.crawl.order import TakeOrder
from mudroom.crawl.policy import RETRY_AFTER_MAX_SECONDS, CrawlPolicy
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.reach import Reach
from mudroom.crawl.recording import AttemptWriter, leave
from mudroom.crawl.visits import VisitPlanner
from mudroom.errors import Reason, StoreFailed
from mudroom.intake import Failed, Outcome

__all__ = ["PageVisitor"]

_REFUSALS = frozenset({429, 503})
_RETRIED = frozenset({Reason.NETWORK, Reason.HTTP})
_FIRST_BACK_OFF_SECONDS = 0.5
"""Then twice as long each time; chance makes up to twice as much of it."""
_LONGEST_BACK_OFF_SECONDS = 30.0


class PageVisitor:
    """Takes the pages of one crawl in."""

    def __init__(
        self,
        parts: CrawlParts,
        policy: CrawlPolicy,
        planner: VisitPlanner,
        *,
        frontier: Frontier,
        manners: HostManners,
        budget: ByteBudget,
        order: TakeOrder,
    ) -> None:
        self._parts = parts
        self._policy = policy
        self._planner = planner
        self._frontier = frontier
        self._manners = manners
        self._budget = budget
        self._order = order

    async def visit(self, attempt: Attempt, reach: Reach, run: RunWriter) -> Outcome:
        """How the page ended; it is recorded then."""
        writer = AttemptWriter(run, self._frontier, attempt)
        attempt.retries.extend(self._order.list_retries(attempt.number))
        while True:
            outcome = await self._parts.intake.take_page(self._planner.plan(attempt, reach), writer)
            self._mind_host(attempt, outcome)
            if not self._goes_on(attempt, outcome):
                break
            writer.forget()
            await self._pause(attempt, outcome)
        try:
            await writer.settle()
            writer.hold(leave(attempt, outcome))
        except StoreFailed as error:
            facts = outcome.facts
            return Failed(facts=facts, code=error.code, message=error.message, retryable=error.retryable)
        return outcome

    def _goes_on(self, attempt: Attempt, outcome: Outcome) -> bool:
        """Whether another try follows, for which there are bytes left."""
        if not (isinstance(outcome, Failed) and outcome.retryable and outcome.reason in _RETRIED):
            return False
        if len(attempt.retries) >= self._policy.retries or not self._order.is_live:
            return False
        attempt.reservation.settle(outcome.facts.wire_bytes)
        reservation = self._budget.reserve()
        if reservation is None:
            return False
        attempt.reservation = reservation
        attempt.spent_bytes += outcome.facts.wire_bytes
        attempt.retries.append(outcome.code.value)
        return True

    async def _pause(self, attempt: Attempt, outcome: Outcome) -> None:
        """Until the host may be asked again; not before the back-off is over."""
        doubled = _FIRST_BACK_OFF_SECONDS * 2 ** (len(attempt.retries) - 1)
        asked = outcome.facts.retry_after_seconds or 0.0
        back_off = min(doubled, _LONGEST_BACK_OFF_SECONDS) * (1.0 + self._parts.chance())
        pause = max(back_off, min(asked, RETRY_AFTER_MAX_SECONDS))
        now = self._parts.clock.monotonic()
        host, origin = attempt.entry.host, attempt.entry.origin
        start = self._manners.book_hop(host, now + pause, self._planner.choose_delay(origin))
        attempt.hop_hosts.append(host)
        await self._parts.sleep(start - now)

    def _mind_host(self, attempt: Attempt, outcome: Outcome) -> None:
        # Behind redirects another host than the asked one may have answered.
        facts = outcome.facts
        final = parse_url(facts.final_url or "")
        host = attempt.entry.host if final is None else final.authority
        if facts.http_status in _REFUSALS:
            self._manners.note_refusal(host, self._parts.clock.monotonic(), facts.retry_after_seconds)
        elif facts.http_status is not None:
            self._manners.note_answer(host)
