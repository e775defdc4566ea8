"""What is asked of the way in for one attempt: limits, redirects, headers, and the check before each hop."""

from __future__ import annotations

from mudroom.address import ParsedUrl, parse_url
from mudroom.crawl.attempt import Attempt, HopWatch
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Frontier
from mudroom.crawl.keys import page_key
from mudroom.crawl.manners import HostManners
from mudroom.crawl.policy import CrawlPolicy, CrawlScope
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.reach import Reach
from mudroom.crawl.reorder import ReorderBuffer
from mudroom.fetch import RedirectRule, RedirectScope
from mudroom.intake import PageRequest, RobotsMode, RobotsReader
from mudroom.model import RobotsState

__all__ = ["VisitPlanner"]

_MAX_REDIRECTS = 5
"""Within a crawl (decision 3)."""
_DELAY_SECONDS = 1.0
"""Where none was asked for."""


class VisitPlanner:
    """Turns attempts of one crawl into requests."""

    def __init__(
        self,
        parts: CrawlParts,
        policy: CrawlPolicy,
        seed_url: ParsedUrl,
        *,
        frontier: Frontier,
        line: ReorderBuffer[EndedPage],
        manners: HostManners,
        robots: RobotsReader,
        is_live: bool,
    ) -> None:
        self._parts = parts
        self._policy = policy
        self._seed_origin = seed_url.origin
        self._seed_key = page_key(seed_url)
        self._frontier = frontier
        self._line = line
        self._is_live = is_live
        self._manners = manners
        self._robots = robots
        self._robots_state = RobotsState.ALLOWED if policy.robots is RobotsMode.OBEY else RobotsState.IGNORED
        self._free_origins = frozenset(
            url.origin
            for origin in parts.egress.current().allow_origins
            if (url := parse_url(origin.name)) is not None
        )

    def choose_delay(self, origin: str) -> float:
        """The seconds between two starts: those that were asked for, else none for the operator's own origins."""
        if not self._is_live:
            return 0.0
        if self._policy.delay_seconds is not None:
            return self._policy.delay_seconds
        return 0.0 if origin in self._free_origins else _DELAY_SECONDS

    def plan(self, attempt: Attempt, reach: Reach) -> PageRequest:
        """The request for an attempt."""
        entry, policy = attempt.entry, self._policy
        limit = attempt.reservation.limit_bytes
        return PageRequest(
            untrusted_url=entry.url,
            number=attempt.number,
            depth=entry.depth,
            initiator=entry.initiator,
            scope=entry.scope,
            redirects=RedirectRule(max_hops=_MAX_REDIRECTS, scope=self._choose_redirects(attempt)),
            headers=policy.seed_headers if entry.origin == self._seed_origin else (),
            max_body_bytes=limit,
            is_reserved=limit < policy.max_page_bytes,
            may_revalidate=policy.revalidate,
            gate=self._watch(attempt, reach),
            robots=self._robots_state,
        )

    def _watch(self, attempt: Attempt, reach: Reach) -> HopWatch:
        return HopWatch(
            attempt=attempt,
            reach=reach,
            frontier=self._frontier,
            line=self._line,
            manners=self._manners,
            robots=self._robots,
            clock=self._parts.clock,
            sleep=self._parts.sleep,
            choose_delay=self.choose_delay,
            is_seed=self._is_seed(attempt),
            is_live=self._is_live,
        )

    def _is_seed(self, attempt: Attempt) -> bool:
        return attempt.is_seed and attempt.entry.key == self._seed_key

    def _choose_redirects(self, attempt: Attempt) -> RedirectScope:
        """How far a redirect may lead: the seed's within its site, any other's within the scope."""
        if self._policy.scope is CrawlScope.HOST and not self._policy.same_host:
            return RedirectScope.ANY
        if self._is_seed(attempt) or self._policy.scope is CrawlScope.DOMAIN:
            return RedirectScope.SAME_SITE
        return RedirectScope.SAME_HOST
