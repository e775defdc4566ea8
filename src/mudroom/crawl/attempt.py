"""One attempt at a page: what it was given, and the check before each of its hops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mudroom.address import ExceptionScope, ParsedUrl, parse_url
from mudroom.budget import Reservation
from mudroom.clock import Clock
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Frontier, FrontierEntry
from mudroom.crawl.keys import page_key
from mudroom.crawl.manners import HostManners
from mudroom.crawl.ports import Sleep
from mudroom.crawl.reach import Reach, ReachVerdict
from mudroom.crawl.reorder import ReorderBuffer
from mudroom.errors import Code, EgressRefused
from mudroom.intake import RobotsReader
from mudroom.model import OutcomeKind

__all__ = ["Attempt", "HopWatch", "Kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How a page ended as the record of its run has it, and what it left behind."""

    outcome: OutcomeKind
    code: Code | None
    page: EndedPage


@dataclass(slots=True, kw_only=True)
class Attempt:
    """A URL that was taken from the frontier, its number in the run, its share of the bytes."""

    entry: FrontierEntry
    number: int
    reservation: Reservation
    hop_hosts: list[str] = field(default_factory=list)
    """The hosts that its redirects and further tries asked."""
    spent_bytes: int = 0
    """What tries before the last one have cost."""
    retries: list[str] = field(default_factory=list)
    """The codes of the tries that failed, so far."""
    kept: Kept | None = None
    """What was to be recorded of it last, whether or not that came about."""

    @property
    def is_seed(self) -> bool:
        """Whether this is where the crawl began."""
        return self.entry.depth == 0


@dataclass(slots=True, kw_only=True)
class HopWatch:
    """Awaited before each request of one attempt: robots.txt always, and for redirects the crawl's rules.

    The URL itself is held against the crawl's reach again: the queue is a file, and may have been written to.
    A redirect's target must lie within the crawl's reach, must not be a page that the crawl already has,
    and waits for its host's turn like any other request. Where the seed moves to is the fetcher's to say.
    """

    attempt: Attempt
    reach: Reach
    frontier: Frontier
    line: ReorderBuffer[EndedPage]
    manners: HostManners
    robots: RobotsReader
    clock: Clock
    sleep: Sleep
    choose_delay: Callable[[str], float]
    is_seed: bool
    """Whether this is where the crawl began; a queue that somebody wrote to may say so of any page."""
    is_live: bool = True
    """Whether hosts are waited for."""
    own_keys: set[str] = field(default_factory=set)

    async def __call__(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        """Nothing, when the hop may be made.

        Raises: EgressRefused with REDIRECT_CROSS_HOST, OUT_OF_SCOPE, DUPLICATE_PAGE, or what robots.txt says.
        """
        is_first = not self.own_keys
        if is_first and not self.is_seed:
            self._check_entry()
        elif not self.is_seed:
            self._check_reach(url)
        await self.robots.check(url, scope)
        await self._claim(url, is_first=is_first)
        if not is_first:
            await self._wait_turn(url)
        self._learn_delay(url)

    def _check_entry(self) -> None:
        url = parse_url(self.attempt.entry.url)
        if url is None or self.reach.judge(url) is not ReachVerdict.INSIDE:
            raise EgressRefused(
                Code.OUT_OF_SCOPE, "the crawl's queue holds a page that the crawl does not cover"
            )

    def _check_reach(self, url: ParsedUrl) -> None:
        match self.reach.judge(url):
            case ReachVerdict.INSIDE:
                return
            case ReachVerdict.OFF_HOST:
                raise EgressRefused(
                    Code.REDIRECT_CROSS_HOST, f"the page moved to {url.host}, which this crawl does not cover"
                )
            case _:
                raise EgressRefused(
                    Code.OUT_OF_SCOPE, f"the page moved out of the crawl's scope on {url.host}"
                )

    async def _claim(self, url: ParsedUrl, *, is_first: bool) -> None:
        """A redirect may lead where no page before this one has: whether it does is known at its turn only."""
        if is_first:
            self.own_keys.add(self.attempt.entry.key)
            return
        key = page_key(url)
        if key in self.own_keys:
            return
        await self.line.wait_turn(self.attempt.number)
        if not self.frontier.claim(key):
            raise EgressRefused(Code.DUPLICATE_PAGE, f"the page moved to one of {url.host} that is known")
        self.own_keys.add(key)

    async def _wait_turn(self, url: ParsedUrl) -> None:
        if not self.is_live:
            return
        now = self.clock.monotonic()
        start = self.manners.book_hop(url.authority, now, self.choose_delay(url.origin))
        self.attempt.hop_hosts.append(url.authority)
        if start > now:
            await self.sleep(start - now)

    def _learn_delay(self, url: ParsedUrl) -> None:
        seconds = self.robots.crawl_delay_seconds(url.origin)
        if seconds is not None:
            self.manners.set_crawl_delay(url.authority, seconds)
