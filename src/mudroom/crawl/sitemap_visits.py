"""One sitemap asked for as politely as a page: its host's turn, robots.txt, the crawl's bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mudroom.address import AllowedUrl, ExceptionScope, ParsedUrl, is_same_host, is_same_site
from mudroom.budget import ByteBudget
from mudroom.corpus import RunWriter
from mudroom.crawl.manners import HostManners
from mudroom.crawl.policy import CrawlPolicy, CrawlScope
from mudroom.crawl.ports import CrawlParts
from mudroom.errors import Code, EgressRefused
from mudroom.extract import SitemapLimits
from mudroom.fetch import RedirectRule, RedirectScope
from mudroom.intake import RobotsReader, SitemapAnswer, SitemapAsk

__all__ = ["SitemapVisitor"]

_MAX_REDIRECTS = 5
_REFUSALS = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapVisitor:
    """Asks for the sitemaps of one crawl."""

    parts: CrawlParts
    policy: CrawlPolicy
    writer: RunWriter
    robots: RobotsReader
    manners: HostManners
    budget: ByteBudget
    choose_delay: Callable[[str], float]
    is_live: bool = True
    """Whether hosts are waited for."""

    def covers(self, root: ParsedUrl, url: ParsedUrl) -> bool:
        """Whether a sitemap may be asked for there: at the root's host, or anywhere on a domain that is crawled."""
        judge = is_same_site if self.policy.scope is CrawlScope.DOMAIN else is_same_host
        return judge(root, url)

    @property
    def bytes_left(self) -> int:
        """What the crawl may still read."""
        return self.budget.max_total_bytes - self.budget.spent_bytes - self.budget.reserved_bytes

    async def visit(self, url: AllowedUrl, root: ParsedUrl, *, is_named: bool) -> SitemapAnswer:
        """What came of one. One that robots.txt names needs no permission of its, but a redirect of it does."""
        reader = self.parts.sitemaps
        if reader is None:
            raise ValueError("sitemaps are visited where there is somebody to read them")
        watch = _Watch(visitor=self, root=root, is_free=is_named)
        limit = self.policy.max_sitemap_bytes
        is_wide = self.policy.scope is CrawlScope.DOMAIN
        ask = SitemapAsk(
            url=url,
            run_id=self.writer.run_id,
            record=self.writer.record_source,
            check=watch.check,
            redirects=RedirectRule(
                max_hops=_MAX_REDIRECTS,
                scope=RedirectScope.SAME_SITE if is_wide else RedirectScope.SAME_HOST,
            ),
            max_body_bytes=limit,
            max_wire_bytes=self.bytes_left,
            limits=SitemapLimits(max_unpacked_bytes=limit),
        )
        try:
            answer = await reader.read(ask)
        finally:
            watch.end()
        self.budget.charge(answer.wire_bytes)
        self._mind_host((answer.final or url.url).authority, answer)
        return answer

    def _mind_host(self, host: str, answer: SitemapAnswer) -> None:
        if answer.http_status in _REFUSALS:
            self.manners.note_refusal(host, self.parts.clock.monotonic(), answer.retry_after_seconds)
        elif answer.http_status is not None:
            self.manners.note_answer(host)


@dataclass(slots=True, kw_only=True)
class _Watch:
    """Awaited before each request on the way to one sitemap."""

    visitor: SitemapVisitor
    root: ParsedUrl
    is_free: bool
    """The next request needs no permission."""
    hosts: list[str] = field(default_factory=list)
    """The hosts whose turn was taken."""

    async def check(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        """Nothing, when the request may be made. Raises: EgressRefused as a page's check does."""
        visitor = self.visitor
        if not visitor.covers(self.root, url):
            raise EgressRefused(
                Code.REDIRECT_CROSS_HOST, f"the sitemap moved to {url.host}, which this crawl does not cover"
            )
        if not self.is_free:
            await visitor.robots.check(url, scope)
        self.is_free = False
        await self._wait_turn(url)
        seconds = visitor.robots.crawl_delay_seconds(url.origin)
        if seconds is not None:
            visitor.manners.set_crawl_delay(url.authority, seconds)

    async def _wait_turn(self, url: ParsedUrl) -> None:
        if not self.visitor.is_live:
            return
        visitor, now = self.visitor, self.visitor.parts.clock.monotonic()
        start = visitor.manners.book_hop(url.authority, now, visitor.choose_delay(url.origin))
        self.hosts.append(url.authority)
        if start > now:
            await visitor.parts.sleep(start - now)

    def end(self) -> None:
        """Give the hosts' places back."""
        for host in self.hosts:
            self.visitor.manners.end_hop(host)
