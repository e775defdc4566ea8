"""What is asked of the way in: which URL, who named it, under which limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.errors import MudroomError
from mudroom.fetch import HopCheck, RedirectRule
from mudroom.model import Initiator, RobotsState, View

__all__ = ["FileRequest", "PageRequest", "RecordRequest"]


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
    retrieved_at: datetime | None = None
    """When it was retrieved from there, when the operator says so."""
    views: frozenset[View] = frozenset({View.MARKDOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRequest:
    """One answer that somebody kept, to take in: all of it is what they say."""

    url: str
    """In normal form, or as written where `refusal` says that it is none."""
    number: int
    retrieved_at: datetime
    status: int | None
    """None for what was no HTTP answer."""
    untrusted_body: bytes = b""
    """As it was sent, transfer coding removed."""
    headers: tuple[tuple[str, str], ...] = ()
    raw_header: bytes = b""
    refusal: MudroomError | None = None
    """Why it is recorded and not taken in."""
    views: frozenset[View] = frozenset({View.MARKDOWN})
