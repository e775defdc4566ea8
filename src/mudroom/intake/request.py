"""What is asked of the way in: which URL, who named it, under which limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.fetch import HopCheck, RedirectRule
from mudroom.model import Initiator, RobotsState, View

__all__ = ["FileRequest", "PageRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """One page to take in."""

    untrusted_url: str
    """As written: judged before any canonicalisation, relative to `base` when there is one."""
    number: int
    """Its place in the run, from 1."""
    depth: int = 0
    """Links away from the seed of its crawl."""
    initiator: Initiator
    scope: ExceptionScope
    """The exceptions that this URL may use."""
    base: ParsedUrl | None = None
    redirects: RedirectRule = field(default_factory=RedirectRule)
    headers: tuple[tuple[str, str], ...] = ()
    max_body_bytes: int | None = None
    """A cap below the fetcher's own: the reservation of a crawl. None for none."""
    is_reserved: bool = False
    """The cap is a budget's remainder: reaching it is CRAWL_LIMIT_REACHED, not a violation."""
    may_revalidate: bool = False
    """Whether the site is asked if the archive's newest snapshot of the page still holds, and that one served."""
    gate: HopCheck | None = None
    robots: RobotsState = RobotsState.NOT_CHECKED
    views: frozenset[View] = frozenset({View.MARKDOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """One file to take in, from a path or from bytes that were already read."""

    name: str
    """Its name for people and for the type: a path as given, or '-' for standard input."""
    number: int
    untrusted_body: bytes
    content_type: str = ""
    url: str | None = None
    """Where it came from, when the operator says so."""
    views: frozenset[View] = frozenset({View.MARKDOWN})
