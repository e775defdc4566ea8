"""What is extracted, and how much of it: sources and limits."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.errors import Code, ContentRefused
from mudroom.model import Limit, View

__all__ = ["ExtractLimits", "ExtractSource", "SitemapLimits", "limit_passed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractSource:
    """Where a document's bytes came from, as far as reading them needs it."""

    url: str
    """The final URL, absolute; links are relative to it. For files an address of the caller's making."""
    content_type: str
    """As declared; empty when it was not."""
    views: frozenset[View] = frozenset({View.MARKDOWN})
    filename: str | None = None
    no_sniff: bool = False
    """Whether the peer asked that the declared type be taken as it is (X-Content-Type-Options)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractLimits:
    """Bounds of one extraction. Passing one refuses the document; only links are cut, with a warning."""

    max_body_bytes: int = 16 << 20
    """Of the body once its content codings are removed."""
    max_depth: int = 4096
    """Nested elements; browsers stop at 512, tag soup that people still read goes to a few thousand."""
    max_nodes: int = 1_000_000
    """Elements, texts and comments of the tree."""
    max_attributes: int = 20_000
    """On one element."""
    max_selector_steps: int = 20_000_000
    """Style selectors times elements they are tried on."""
    max_output_chars: int = 20_000_000
    """Of each view."""
    max_security_chars: int = 40_000_000
    """Of all strings that a model could see."""
    max_links: int = 20_000
    """Kept of one document; the rest is left out with a warning."""
    max_pieces: int = 500_000
    """Strings that a model could see."""
    max_embedded_depth: int = 3
    """Documents in documents: srcdoc, feed entries, data URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapLimits:
    """Bounds of reading one sitemap. Nothing refuses it: what was read before a bound is kept."""

    max_unpacked_bytes: int = 10 << 20
    """Once gzip is undone; of every layer."""
    max_entries: int = 50_000
    """Source: sitemaps.org, the most that one file may hold."""
    max_depth: int = 64
    """Nested elements; a sitemap has four."""
    max_location_chars: int = 8192
    """As of a link. Source: sitemaps.org allows 2,048."""


def limit_passed(limit: Limit) -> ContentRefused:
    """The refusal of a document that is larger than is read in one respect."""
    return ContentRefused(
        Code.EXTRACTION_LIMIT, f"The document was not read: it {limit}.", detail=limit.value
    )
