"""What a crawl may do: its budgets, its manners and its reach, checked as a whole before it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum, unique

from mudroom.errors import FetchFailed, InvalidConfig
from mudroom.intake import RobotsMode
from mudroom.net import check_request_headers

__all__ = [
    "CRAWL_DELAY_MAX_SECONDS",
    "RETRY_AFTER_MAX_SECONDS",
    "CrawlPolicy",
    "CrawlScope",
    "Discovery",
]

CRAWL_DELAY_MAX_SECONDS = 30.0
"""The longest Crawl-delay that is honoured; a larger one counts as this. Bing and Yandex cap alike."""
RETRY_AFTER_MAX_SECONDS = 120.0
"""The longest pause that one Retry-After can ask of a host's queue."""

_MIB = 1024 * 1024
_MAX_PAGES_CEILING = 1_000_000
_MAX_DEPTH_CEILING = 1_000
_MAX_CONCURRENCY = 32
_MAX_DELAY_SECONDS = 3600
_MAX_DURATION_SECONDS = 30 * 24 * 3600
_MAX_BYTES = 1 << 50
_MAX_SITEMAPS = 10_000
_MAX_SITEMAP_DEPTH = 10
_MAX_SITEMAP_BYTES = 1 << 29
"""What a guest can be sent, and can hold."""
_MAX_GLOBS = 100
_MAX_GLOB_CHARS = 1000
_FRONTIER_FLOOR = 10_000
_FRONTIER_PER_PAGE = 20


@unique
class CrawlScope(StrEnum):
    """How far from its seed a crawl may go."""

    PAGE = "page"
    """The seed alone."""
    PREFIX = "prefix"
    """URLs of the seed's host whose path begins with the seed's folder."""
    HOST = "host"
    DOMAIN = "domain"
    """All hosts of the seed's registrable domain."""


@unique
class Discovery(StrEnum):
    """Where a crawl learns of pages."""

    LINKS = "links"
    """From the links of accepted pages."""
    SITEMAP = "sitemap"
    """From the site's sitemaps; links are not followed."""
    BOTH = "both"
    """From sitemaps first, then from links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlPolicy:
    """The options of one crawl. `check` reports all that is wrong with them at once."""

    max_pages: int = 100
    """Attempts, not successes: pages that fail count too."""
    max_depth: int = 3
    """Links from the seed; the seed has depth 0."""
    concurrency: int = 8
    """Pages on their way in at one time; 32 at most."""
    per_host_concurrency: int = 4
    """Of them, to one host."""
    delay_seconds: float | None = None
    """From one request's start to the next one's, per host; none given: 1, and 0 for origins in
    egress.allow_origins."""
    max_page_bytes: int = 10 * _MIB
    """Of one page's body as received."""
    max_total_bytes: int = 500 * _MIB
    """Of all bodies as received: pages, redirects and robots.txt files."""
    max_duration_seconds: float = 30 * 60.0
    """Then what is on its way is given up, and what was taken in stays."""
    max_frontier: int | None = None
    """URLs that may wait at one time; None is the larger of 10,000 and 20 a page."""
    same_host: bool = True
    """With scope `host`: whether links and redirects to other hosts are left alone."""
    scope: CrawlScope = CrawlScope.HOST
    """page, prefix (the seed's folder), host or domain (the hosts of its registrable domain)."""
    discovery: Discovery = Discovery.BOTH
    """links, sitemap or both: where the crawl learns of pages. Sitemaps are those that robots.txt names, else
    /sitemap.xml; their pages count as one link from the seed, and come before its links."""
    max_sitemaps: int = 50
    """Sitemaps and indexes to ask for."""
    max_sitemap_depth: int = 3
    """Of indexes in indexes: 1 is what robots.txt names."""
    max_sitemap_bytes: int = 10 * _MIB
    """Of one sitemap as received, and once more of what it unpacks to."""
    max_sitemap_urls: int = 50_000
    """Pages to learn of from all sitemaps."""
    include: tuple[str, ...] = ()
    """Globs of which a URL must match one: `*` is any run of characters, all else is itself. A glob that
    begins with a slash is matched against path and query, any other against the whole URL."""
    exclude: tuple[str, ...] = ()
    """Globs of which a URL may match none; these win."""
    robots: RobotsMode = RobotsMode.OBEY
    """obey or ignore robots.txt; what was chosen stands in the manifest."""
    follow_nofollow: bool = False
    """Whether links that their page marks `nofollow` are followed."""
    revalidate: bool = False
    """Whether a site is asked if a page is still the one in the archive, and then that one is read again."""
    seed_headers: tuple[tuple[str, str], ...] = ()
    """Sent to the seed's origin and nowhere else; never archived and never in the manifest."""

    @property
    def frontier_cap(self) -> int:
        """How many URLs may wait at one time."""
        if self.max_frontier is not None:
            return self.max_frontier
        return max(_FRONTIER_FLOOR, _FRONTIER_PER_PAGE * self.max_pages)

    def list_faults(self) -> tuple[str, ...]:
        """All that is wrong with these options, each with its value and what was expected."""
        return tuple(_list_faults(self))

    def check(self) -> None:
        """Nothing, when a crawl can run with this. Raises InvalidConfig with every fault."""
        faults = self.list_faults()
        if faults:
            raise InvalidConfig(faults)

    def describe(self) -> Mapping[str, object]:
        """The options as the manifest holds them; of headers only the names."""
        options: dict[str, object] = {
            field.name: _to_plain(getattr(self, field.name))
            for field in fields(self)
            if field.name != "seed_headers"
        }
        options["max_frontier"] = self.frontier_cap
        options["seed_header_names"] = [name for name, _ in self.seed_headers]
        return options


def _to_plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


_WHOLE_NUMBERS = (
    # field, smallest, largest
    ("max_pages", 0, _MAX_PAGES_CEILING),
    ("max_depth", 0, _MAX_DEPTH_CEILING),
    ("concurrency", 1, _MAX_CONCURRENCY),
    ("per_host_concurrency", 1, _MAX_CONCURRENCY),
    ("max_page_bytes", 1, _MAX_BYTES),
    ("max_total_bytes", 1, _MAX_BYTES),
    ("max_sitemaps", 1, _MAX_SITEMAPS),
    ("max_sitemap_depth", 1, _MAX_SITEMAP_DEPTH),
    ("max_sitemap_bytes", 1, _MAX_SITEMAP_BYTES),
    ("max_sitemap_urls", 1, _FRONTIER_PER_PAGE * _MAX_PAGES_CEILING),
)


def _list_faults(policy: CrawlPolicy) -> Iterator[str]:
    for name, low, high in _WHOLE_NUMBERS:
        yield from _judge_whole(name, getattr(policy, name), low, high)
    if policy.max_frontier is not None:
        yield from _judge_whole(
            "max_frontier", policy.max_frontier, 1, _FRONTIER_PER_PAGE * _MAX_PAGES_CEILING
        )
    if policy.delay_seconds is not None:
        yield from _judge_number("delay_seconds", policy.delay_seconds, 0, _MAX_DELAY_SECONDS)
    yield from _judge_number("max_duration_seconds", policy.max_duration_seconds, 0, _MAX_DURATION_SECONDS)
    for name in ("same_host", "follow_nofollow", "revalidate"):
        if not isinstance(getattr(policy, name), bool):
            yield f"{name} is {getattr(policy, name)!r}; expected true or false"
    yield from _judge_word("scope", policy.scope, CrawlScope)
    yield from _judge_word("discovery", policy.discovery, Discovery)
    yield from _judge_word("robots", policy.robots, RobotsMode)
    if policy.same_host is False and policy.scope in (CrawlScope.PAGE, CrawlScope.PREFIX):
        yield f"same_host is false with scope {policy.scope}; expected scope host or domain beside it"
    for name in ("include", "exclude"):
        yield from _judge_globs(name, getattr(policy, name))
    yield from _judge_headers(policy.seed_headers)


def _judge_whole(name: str, value: object, low: int, high: int) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        yield f"{name} is {value!r}; expected a whole number from {low} to {high}"


def _judge_number(name: str, value: object, low: int, high: int) -> Iterator[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not low <= float(str(value)) <= high:
        yield f"{name} is {value!r}; expected a number of seconds from {low} to {high}"


def _judge_word(name: str, value: object, words: type[StrEnum]) -> Iterator[str]:
    if not isinstance(value, words):
        yield f"{name} is {value!r}; expected one of {', '.join(words)}"


def _judge_globs(name: str, globs: object) -> Iterator[str]:
    if not isinstance(globs, tuple) or len(globs) > _MAX_GLOBS:
        yield f"{name} is {type(globs).__name__}; expected a tuple of at most {_MAX_GLOBS} globs"
        return
    for glob in globs:
        if not isinstance(glob, str) or not 0 < len(glob) <= _MAX_GLOB_CHARS:
            yield f"{name} holds {glob!r:.60}; expected a glob of 1 to {_MAX_GLOB_CHARS} characters"


def _judge_headers(headers: object) -> Iterator[str]:
    """Faults by name only: a value may be a secret."""
    if not isinstance(headers, tuple):
        yield f"seed_headers is {type(headers).__name__}; expected a tuple of (name, value)"
        return
    for header in headers:
        try:
            check_request_headers((header,))
        except FetchFailed as error:
            yield f"seed_headers: {error.message}"
