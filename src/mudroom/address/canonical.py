"""One key for the spellings of one URL, so that a crawl visits it once."""

from __future__ import annotations

import re

from mudroom.address.parse import ParsedUrl

__all__ = ["canonical_key"]

_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def canonical_key(url: ParsedUrl) -> str:
    """The key under which a crawl knows a URL; two URLs with one key are one page.

    Why: only what RFC 3986 calls equivalent is merged. Escapes of reserved characters stay (`%2F` is
    no slash, `%23` no fragment), the query keeps its order, an empty query stays a query: a crawl
    that merges more loses pages, and pages with equal content are found by their digest anyway.
    Shapes: no fragment, no trailing host dot, no default port; a URL again, and its own key.
    Source: RFC 3986 sections 6.2.2.1 and 6.2.2.2.
    """
    target = url.request_target
    if "%" in target:
        # A percent sign that escapes nothing is spelled out first: `%%41b` would else become another
        # escape once its middle is decoded.
        target = _ESCAPE.sub(_normalise_escape, _STRAY_PERCENT.sub("%25", target))
    return url.origin + target


def _normalise_escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()
