"""What a guest read of a sitemap. Untrusted: no location in it was judged yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import NamedTuple

__all__ = ["SitemapEntry", "SitemapFault", "SitemapKind", "SitemapReading"]


@unique
class SitemapKind(StrEnum):
    """What its locations lead to: pages, or further sitemaps."""

    UNKNOWN = "unknown"
    INDEX = "index"
    PAGES = "pages"
    TEXT = "text"
    FEED = "feed"


@unique
class SitemapFault(StrEnum):
    """What was wrong with a sitemap; whatever was read before it is kept."""

    MALFORMED = "malformed"
    DOCTYPE = "doctype"
    """A document type was declared; nothing behind it is read."""
    NO_SITEMAP = "no-sitemap"
    """It is something else, such as an HTML page."""
    EMPTY = "empty"
    GZIP = "gzip"
    """It could not be unpacked to its end."""
    BYTES = "bytes"
    ENTRIES = "entries"
    DEPTH = "depth"
    LOCATIONS = "locations"
    """Some entries had no location, or one that is longer than is read; they are left out."""


class SitemapEntry(NamedTuple):
    """A location as written, white space around it removed; judged by `address` before anyone asks for it."""

    untrusted_location: str
    last_modified: str = ""
    """A W3C date such as 2026-01-31 or 2026-01-31T10:00:00Z; empty where there was none that is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapReading:
    """The entries of one sitemap in its own order, each location once."""

    kind: SitemapKind
    entries: tuple[SitemapEntry, ...] = ()
    faults: tuple[SitemapFault, ...] = ()
    """Each once, in the order of their declaration."""
