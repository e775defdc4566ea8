"""Which URLs belong to a crawl: its scope and its globs, judged on a parsed URL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto, unique
from typing import Any, Self

import re2

from mudroom.address import ParsedUrl, is_same_host, is_same_site
from mudroom.crawl.policy import CrawlPolicy, CrawlScope

__all__ = ["Reach", "ReachVerdict"]


@unique
class ReachVerdict(Enum):
    """Whether a URL belongs to the crawl, and if not, why."""

    INSIDE = auto()
    OFF_HOST = auto()
    OUT_OF_SCOPE = auto()
    """On a host of the crawl, but outside its prefix or page."""
    EXCLUDED = auto()


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of the web that one crawl covers, measured from where its seed was found."""

    policy: CrawlPolicy
    root: ParsedUrl
    folder: str
    _include: tuple[Any, ...]
    _exclude: tuple[Any, ...]

    @classmethod
    def around(cls, root: ParsedUrl, policy: CrawlPolicy) -> Self:
        """The reach of a crawl whose seed is, or has moved to, `root`."""
        return cls(
            policy=policy,
            root=root,
            folder=root.path[: root.path.rfind("/") + 1],
            _include=_compile(policy.include),
            _exclude=_compile(policy.exclude),
        )

    def judge(self, url: ParsedUrl) -> ReachVerdict:
        """Whether a link to this URL is followed."""
        if not self.has_host(url):
            return ReachVerdict.OFF_HOST
        scope = self.policy.scope
        if scope is CrawlScope.PAGE or (scope is CrawlScope.PREFIX and not url.path.startswith(self.folder)):
            return ReachVerdict.OUT_OF_SCOPE
        return self._judge_globs(url)

    def has_host(self, url: ParsedUrl) -> bool:
        """Whether the crawl covers this URL's host."""
        if is_same_host(self.root, url):
            return True
        if self.policy.scope is CrawlScope.DOMAIN:
            return is_same_site(self.root, url)
        return self.policy.scope is CrawlScope.HOST and not self.policy.same_host

    def _judge_globs(self, url: ParsedUrl) -> ReachVerdict:
        if not self._include and not self._exclude:
            return ReachVerdict.INSIDE
        subjects = (url.normalized, url.request_target)
        if _matches(self._exclude, subjects):
            return ReachVerdict.EXCLUDED
        if self._include and not _matches(self._include, subjects):
            return ReachVerdict.EXCLUDED
        return ReachVerdict.INSIDE


def _compile(globs: Iterable[str]) -> tuple[Any, ...]:
    """Patterns of a linear-time engine, since URLs are text from outside. Bit 1 says: path and query."""
    return tuple(
        (glob.startswith("/"), re2.compile(".*".join(re2.escape(part) for part in glob.split("*"))))
        for glob in globs
    )


def _matches(patterns: tuple[Any, ...], subjects: tuple[str, str]) -> bool:
    return any(pattern.fullmatch(subjects[on_target]) is not None for on_target, pattern in patterns)
