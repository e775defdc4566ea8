"""What a page leads to, once it is its turn: the root that its redirects set, sitemaps, links.

Pages come here in the order of their numbers, one at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any

from mudroom.address import ParsedUrl, parse_url
from mudroom.crawl.discovery import SiteDiscovery
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.faults import describe_fault
from mudroom.crawl.frontier import Frontier, FrontierEntry
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.notices import Notices
from mudroom.crawl.policy import CrawlPolicy, Discovery
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.reach import Reach
from mudroom.crawl.retries import describe_retries
from mudroom.crawl.seed import Seed, find_root, find_start
from mudroom.crawl.sitemap_visits import SitemapVisitor
from mudroom.crawl.traps import TrapWatch
from mudroom.crawl.twins import find_content_twin
from mudroom.model import WarningCode

__all__ = ["Follower"]

_log = logging.getLogger(__name__)

RunAside = Callable[[Coroutine[Any, Any, None]], Awaitable[Exception | None]]
"""Does work that ends with the crawl, and gives the error that it ended with."""


class Follower:
    """Follows the pages of one crawl into its frontier."""

    def __init__(
        self,
        parts: CrawlParts,
        policy: CrawlPolicy,
        seed: Seed,
        *,
        frontier: Frontier,
        notices: Notices,
        began_at: datetime,
        on_queued: Callable[[FrontierEntry], None],
    ) -> None:
        self._parts = parts
        self._policy = policy
        self._seed = seed
        self._frontier = frontier
        self._notices = notices
        self._began_at = began_at
        self._on_queued = on_queued
        self.sieve = self._make_sieve(seed.url)

    @property
    def reach(self) -> Reach:
        """What the crawl covers, from where its seed was found on."""
        return self.sieve.reach

    async def follow(self, page: EndedPage, sitemaps: SitemapVisitor, run_aside: RunAside) -> None:
        """Queue what the page leads to, and note what there is to warn of."""
        for sentence in describe_retries(page, self._policy.retries):
            self._notices.add(WarningCode.RETRIED, page.url, sentence)
        if page.number == 1:
            self._move_root(page)
            await self._discover(page, sitemaps, run_aside)
        twin = find_content_twin(self._frontier, page)
        if twin is not None:
            told = f"page {page.number} has the content of page {twin}; its links were not followed again"
            self._notices.add(WarningCode.SAME_CONTENT, page.url, told)
            return
        if page.depth < self._policy.max_depth and self._policy.discovery is not Discovery.SITEMAP:
            self.sieve.sift(page)

    def root_at(self, final_url: str | None) -> ParsedUrl:
        """The root of the crawl, now where the seed's redirects led, which policy allowed; never where a page says."""
        final = parse_url(final_url or "")
        root = self._seed.url if final is None else find_root(self._seed.url, final)
        if root != self._seed.url:
            discovered = self.sieve.discovered
            self.sieve = self._make_sieve(root)
            self.sieve.discovered = discovered
        return root

    def _move_root(self, seed_page: EndedPage) -> None:
        root = self.root_at(seed_page.final_url)
        if root.host != self._seed.url.host:
            self._notices.add(
                WarningCode.SEED_MOVED,
                root.normalized,
                f"the seed moved from {self._seed.url.host} to {root.host}, and the crawl with it",
            )

    async def _discover(self, seed_page: EndedPage, sitemaps: SitemapVisitor, run_aside: RunAside) -> None:
        """Read the site's sitemaps, unless the crawl is stopped meanwhile; nothing else is on its way now."""
        if self._parts.sitemaps is None:
            return
        start = find_start(self._seed, self.reach.root, seed_page.hops)
        discovery = SiteDiscovery(self._policy, sitemaps, self.sieve, self._notices, start)
        error = await run_aside(discovery.read_all())
        if error is not None:
            _log.error("sitemaps: unexpected %s", describe_fault(error))
            told = f"sitemaps were given up: {type(error).__name__}"
            self._notices.add(WarningCode.UNEXPECTED_ERROR, self._seed.name, told)

    def _make_sieve(self, root: ParsedUrl) -> LinkSieve:
        return LinkSieve(
            Reach.around(root, self._policy),
            self._parts.egress,
            self._frontier,
            self._notices,
            TrapWatch(self._policy, self._began_at.date(), self._frontier.note),
            self._on_queued,
        )
