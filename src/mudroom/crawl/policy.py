"""What a crawl may do: its budgets, its manners and its reach, checked as a whole before it starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum, unique
from typing import Any, Self, get_args, get_origin, get_type_hints

from mudroom.errors import FetchFailed, InvalidConfig
from mudroom.intake import RobotsMode
from mudroom.model import LinkRelation
from mudroom.net import check_request_headers

__all__ = [
    "CRAWL_DELAY_MAX_SECONDS",
    "RETRY_AFTER_MAX_SECONDS",
    "CrawlPolicy",
    "CrawlScope",
    "Discovery",
    "LinkContext",
    "ShouldFollow",
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
_MAX_RETRIES = 5
_NO_TRAP = 1_000_000
"""A threshold so high is none."""
_MAX_GLOB_CHARS = 1000
_FRONTIER_FLOOR = 10_000
_FRONTIER_PER_PAGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkContext:
    """Where a link stands, for `should_follow`."""

    page_url: str
    """The page that holds it, as it was asked for."""
    page_number: int
    depth: int
    """Links away from the seed that its target would have."""
    place: int
    """Its place among the links of that page, from 0."""


ShouldFollow = Callable[[str, LinkContext], bool | float]
"""False leaves a link out. A number is its score, and the higher comes first; True is 1.0, and 0.0 is a low
score and no refusal. What raises, or answers anything else, costs the link and a warning."""


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
    retries: int = 2
    """Further tries of a page that failed for want of the network or with a status such as 503; 5 at most."""
    follow_nofollow: bool = False
    """Whether links are followed that their page marks `nofollow`, each by itself, or all of them in a
    robots meta element or an X-Robots-Tag header."""
    follow_relations: frozenset[LinkRelation] = frozenset({LinkRelation.CANONICAL, LinkRelation.NEXT})
    """alternate, canonical, next: what a page says it is related to and is followed beside its links."""
    revalidate: bool = False
    """Whether a site is asked if a page is still the one in the archive, and then that one is read again."""
    trap_repeats: int = 3
    """Times in a row that a run of path segments may not stand in a URL: /a/b/a/b/a/b is three."""
    trap_segments: int = 24
    """Path segments of a URL, at most."""
    trap_url_chars: int = 2000
    """Characters of a URL's path and query, at most."""
    trap_months_ahead: int = 24
    """Months ahead of the crawl's first day that a URL may name."""
    trap_dates: int = 4000
    """URLs of one form that name dates, per host; eleven years of days."""
    trap_parameters: int = 20
    """Parameters of a URL, at most."""
    trap_parameter_sets: int = 64
    """Different sets of parameters of one path."""
    should_follow: ShouldFollow | None = None
    """Asked of each link that would be followed: False leaves it out, a number is its score."""
    seed_headers: tuple[tuple[str, str], ...] = ()
    """Sent to the seed's origin and nowhere else; never archived and never in the manifest."""

    @property
    def frontier_cap(self) -> int:
        """How many URLs may wait at one time."""
        if self.max_frontier is not None:
            return self.max_frontier
        return max(_FRONTIER_FLOOR, _FRONTIER_PER_PAGE * self.max_pages)

    @property
    def followed_relations(self) -> frozenset[LinkRelation]:
        """Every relation that is followed; links for people always are."""
        return self.follow_relations | {LinkRelation.ANCHOR}

    def list_faults(self) -> tuple[str, ...]:
        """All that is wrong with these options, each with its value and what was expected."""
        return tuple(_list_faults(self))

    def check(self) -> None:
        """Nothing, when a crawl can run with this. Raises InvalidConfig with every fault."""
        faults = self.list_faults()
        if faults:
            raise InvalidConfig(faults)

    @classmethod
    def from_options(
        cls,
        options: Mapping[str, Any],
        *,
        seed_headers: tuple[tuple[str, str], ...] = (),
        should_follow: ShouldFollow | None = None,
    ) -> Self:
        """The policy that a manifest describes; what stands in no manifest comes apart.

        Raises: InvalidConfig for options that are none of this version's, or without what was there.
        """
        described = dict(options)
        if described.pop("is_scored", False) != (should_follow is not None):
            raise InvalidConfig(
                "the run's links are scored by a function of its program; go on with it there", is_of_run=True
            )
        named = described.pop("seed_header_names", [])
        hints = get_type_hints(cls)
        if sorted(named) != sorted(name for name, _ in seed_headers):
            raise InvalidConfig(
                f"the run sends the headers {', '.join(named) or 'none'}; give just those again",
                is_of_run=True,
            )
        read = {
            name: _from_plain(described[name], hints[name]) for name in described if name in hints
        }  # what else stands there is not the policy's
        policy = cls(**read, seed_headers=seed_headers, should_follow=should_follow)
        policy.check()
        return policy

    def describe(self) -> Mapping[str, object]:
        """The options as the manifest holds them; of headers only the names."""
        options: dict[str, object] = {
            field.name: _to_plain(getattr(self, field.name))
            for field in fields(self)
            if field.name not in _UNDESCRIBED
        }
        options["max_frontier"] = self.frontier_cap
        options["is_scored"] = self.should_follow is not None
        options["seed_header_names"] = [name for name, _ in self.seed_headers]
        return options


_UNDESCRIBED = frozenset({"seed_headers", "should_follow"})
"""Of the one only names stand in a manifest, of the other whether there was one."""


def _from_plain(value: object, hint: Any) -> Any:
    """A value as it was before `_to_plain`; what cannot be one is left for `check` to find."""
    if isinstance(value, list):
        inner = get_args(hint)[:1]
        items = tuple(_from_plain(item, inner[0]) if inner else item for item in value)
        return frozenset(items) if get_origin(hint) is frozenset else items
    if isinstance(hint, type) and issubclass(hint, StrEnum) and value in {word.value for word in hint}:
        return hint(value)
    return value


def _to_plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
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
    ("retries", 0, _MAX_RETRIES),
    ("trap_repeats", 2, _NO_TRAP),
    ("trap_segments", 1, _NO_TRAP),
    ("trap_url_chars", 1, _NO_TRAP),
    ("trap_months_ahead", 0, _NO_TRAP),
    ("trap_dates", 1, _NO_TRAP),
    ("trap_parameters", 1, _NO_TRAP),
    ("trap_parameter_sets", 1, _NO_TRAP),
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
    yield from _judge_relations(policy.follow_relations)
    for name in ("include", "exclude"):
        yield from _judge_globs(name, getattr(policy, name))
    yield from _judge_headers(policy.seed_headers)
    yield from _judge_function("should_follow", policy.should_follow)


def _judge_function(name: str, value: object) -> Iterator[str]:
    if value is not None and not callable(value):
        yield f"{name} is {type(value).__name__}; expected a function of link and context"


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


def _judge_relations(relations: object) -> Iterator[str]:
    is_sound = isinstance(relations, frozenset) and all(isinstance(word, LinkRelation) for word in relations)
    if not is_sound:
        yield f"follow_relations is {relations!r:.60}; expected a frozenset of {', '.join(LinkRelation)}"


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
        if not (isinstance(header, tuple) and [type(part) for part in header] == [str, str]):
            yield f"seed_headers holds {type(header).__name__}; expected (name, value), both text"
            continue
        try:
            check_request_headers((header,))
        except FetchFailed as error:
            yield f"seed_headers: {error.message}"
