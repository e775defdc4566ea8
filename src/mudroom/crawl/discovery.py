"""Pages that a site names in its sitemaps, read after the seed and before its links are followed.

    robots.txt names them, else /sitemap.xml ─▶ indexes, breadth first ─▶ locations ─▶ frontier, at depth 1

One sitemap is asked for at a time, in order, so that the order of pages follows from what the sitemaps say
and not from which of them was faster. A sitemap or a location on a host that the crawl does not cover is
never asked for. Nothing that a sitemap does can end the crawl: what is wrong with one is a warning.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from mudroom.address import (
    AllowedUrl,
    EgressPolicy,
    ExceptionScope,
    ParsedUrl,
    RefusedUrl,
    canonical_key,
    judge_url,
    parse_url,
)
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.notices import Notices
from mudroom.crawl.policy import CrawlPolicy, CrawlScope, Discovery
from mudroom.crawl.reach import ReachVerdict
from mudroom.crawl.sitemap_notes import SitemapNotes
from mudroom.crawl.sitemap_visits import SitemapVisitor
from mudroom.intake import SitemapAnswer
from mudroom.model import SitemapKind

__all__ = ["DiscoveryStart", "SiteDiscovery"]

_PIECE = 1000
_MAX_QUEUED = 10_000
"""Sitemaps that wait: as many as may ever be asked for."""
_ENOUGH_PER_PAGE = 2
"""Known pages for each that may be attempted, after which no further sitemap is asked for. Twice, since a
redirect can lead one to another."""


def _is_wanted(policy: CrawlPolicy) -> bool:
    """Whether a crawl of this policy reads sitemaps: not where no second page could follow from one."""
    return (
        policy.discovery is not Discovery.LINKS
        and policy.scope is not CrawlScope.PAGE
        and policy.max_depth > 0
        and policy.max_pages > 1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryStart:
    """Where the crawl is rooted, and which exceptions the sitemaps there may use (decision 4)."""

    root: ParsedUrl
    own_scope: ExceptionScope
    """For URLs of the root's own origin."""
    named_scope: ExceptionScope
    """For URLs elsewhere that its robots.txt names: those that the root was itself dialled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A sitemap to ask for."""

    url: AllowedUrl
    depth: int
    is_guess: bool = False
    """Nobody named it: where there is none, nothing is amiss."""


class SiteDiscovery:
    """Reads the sitemaps of one crawl into its frontier; used once."""

    def __init__(
        self,
        policy: CrawlPolicy,
        visitor: SitemapVisitor,
        sieve: LinkSieve,
        notices: Notices,
        start: DiscoveryStart,
    ) -> None:
        self._policy = policy
        self._visitor = visitor
        self._sieve = sieve
        self._start = start
        self._notes = SitemapNotes(notices=notices)
        self._queue: deque[_Waiting] = deque()
        self._known: set[str] = set()
        # Half of the frontier is for links.
        self._max_pages = min(policy.max_sitemap_urls, max(policy.frontier_cap // 2, 1))
        self._places = 0
        self._pages = 0

    async def read_all(self) -> None:
        """Everything within bounds, queued, and what there is to warn of noted. Raises: nothing of a site's."""
        if not _is_wanted(self._policy):
            return
        try:
            await self._find_first()
            asked = 0
            while self._queue and asked < self._policy.max_sitemaps and not self._has_enough():
                waiting = self._queue.popleft()
                asked += 1
                answer = await self._visitor.visit(
                    waiting.url, self._start.root, is_named=self._is_named(waiting)
                )
                await self._take_in(waiting, answer)
        finally:
            self._notes.unasked += len(self._queue)
            self._notes.tell_counted(self._start.root.normalized)

    def _has_enough(self) -> bool:
        enough = self._max_pages
        if self._policy.should_follow is None:  # else the best may be named last
            enough = min(enough, _ENOUGH_PER_PAGE * self._policy.max_pages)
        return self._pages >= enough or self._visitor.bytes_left <= 0

    def _is_named(self, waiting: _Waiting) -> bool:
        return waiting.depth == 1 and not waiting.is_guess

    # Sitemaps to ask for.

    async def _find_first(self) -> None:
        root, own_scope = self._start.root, self._start.own_scope
        named = await self._visitor.robots.list_sitemaps(root, own_scope)
        for untrusted_location in named:
            url = parse_url(untrusted_location, base=root)
            is_own = url is not None and url.origin == root.origin
            scope = own_scope if is_own else self._start.named_scope
            self._add_sitemap(untrusted_location, root, scope, depth=1)
        if not named:
            verdict = judge_url(f"{root.origin}/sitemap.xml", self._egress(), own_scope)
            if isinstance(verdict, AllowedUrl):
                self._known.add(canonical_key(verdict.url))
                self._queue.append(_Waiting(url=verdict, depth=1, is_guess=True))

    def _add_sitemap(
        self, untrusted_location: str, base: ParsedUrl, scope: ExceptionScope, *, depth: int
    ) -> None:
        """Queue a sitemap, once; counted where it may not be asked for."""
        verdict = judge_url(untrusted_location, self._egress(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            self._notes.refused[verdict.code] += 1
        elif not self._visitor.covers(self._start.root, verdict.url):
            self._notes.off_host_sitemaps += 1
        elif depth > self._policy.max_sitemap_depth:
            self._notes.too_deep += 1
        elif len(self._queue) >= _MAX_QUEUED:
            self._notes.unasked += 1
        elif (key := canonical_key(verdict.url)) not in self._known:
            self._known.add(key)
            self._queue.append(_Waiting(url=verdict, depth=depth))

    def _egress(self) -> EgressPolicy:
        return self._visitor.parts.egress.current()

    # What came of one.

    async def _take_in(self, waiting: _Waiting, answer: SitemapAnswer) -> None:
        self._notes.tell_answer(waiting.url.url.normalized, answer, is_guess=waiting.is_guess)
        if answer.reading is None:
            return
        base, scope = answer.final or waiting.url.url, answer.link_scope
        entries, is_index = answer.reading.entries, answer.reading.kind is SitemapKind.INDEX
        for place, (untrusted_location, _) in enumerate(entries):
            if is_index:
                self._add_sitemap(untrusted_location, base, scope, depth=waiting.depth + 1)
            elif self._pages < self._max_pages:
                self._add_page(untrusted_location, base, scope)
            else:
                self._notes.pages_left_out += len(entries) - place
                return
            if place % _PIECE == _PIECE - 1:
                await asyncio.sleep(0)  # fifty thousand of them take a second or two

    def _add_page(self, untrusted_location: str, base: ParsedUrl, scope: ExceptionScope) -> None:
        """Queue a page at depth 1, in the order in which sitemaps name them."""
        verdict = judge_url(untrusted_location, self._egress(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            self._notes.refused[verdict.code] += 1
            return
        reached = self._sieve.reach.judge(verdict.url)
        if reached is ReachVerdict.OFF_HOST:
            self._notes.off_host_pages += 1
        elif reached is ReachVerdict.INSIDE:
            self._places += 1
            self._pages += self._sieve.admit(verdict.url, scope, self._places)
