"""Titles, slugs and URLs in the one form in which they are scanned and handed on."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from mudroom.extract.clean import clean_exposed

__all__ = ["decode_url", "expose_url", "make_slug", "normalise_title"]

_MAX_TITLE = 300
_MAX_SLUG = 60
_MAX_URL = 4096
_MAX_ROUNDS = 8
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)


def normalise_title(untrusted_title: str) -> str:
    """A title on one line, cleaned, at most 300 characters."""
    title = " ".join(clean_exposed(untrusted_title).text.split())
    return title if len(title) <= _MAX_TITLE else title[: _MAX_TITLE - 1].rstrip() + "…"


def make_slug(untrusted_title: str, untrusted_url: str) -> str:
    """A file name for a document: 1 to 60 of a-z, 0-9 and inner hyphens; never a path, never a device.

    Made of the title, else of the URL's last part, else of its host, else "page".
    """
    url = expose_url(untrusted_url).partition("?")[0].partition("#")[0]
    host, _, path = url.partition("://")[2].partition("/")
    for candidate in (untrusted_title, path.rstrip("/").rpartition("/")[2], host):
        if slug := _slug_of(candidate):
            return f"{slug}-page" if slug in _RESERVED else slug
    return "page"


def expose_url(untrusted_href: str) -> str:
    """A URL as a person reads it: percent-decoded until nothing changes, cleaned, on one line.

    For display and for the scan, not for fetching. Bounded: 8 rounds, 4096 characters; what is still encoded
    after them stays so.
    """
    return " ".join(clean_exposed(decode_url(untrusted_href[:_MAX_URL])).text.split())


def decode_url(untrusted_href: str) -> str:
    """A URL percent-decoded until nothing changes, or 8 times; not cleaned."""
    text = untrusted_href
    for _ in range(_MAX_ROUNDS):
        decoded = unquote(text, errors="replace") if "%" in text else text
        if decoded == text:
            break
        text = decoded
    return text


def _slug_of(text: str) -> str:
    plain = (
        unicodedata.normalize("NFKD", text[: _MAX_TITLE * 2].casefold()).encode("ascii", "ignore").decode()
    )
    slug = _NOT_SLUG.sub("-", plain).strip("-")
    if len(slug) > _MAX_SLUG:
        head, _, _ = slug[: _MAX_SLUG + 1].rpartition("-")
        slug = (head or slug)[:_MAX_SLUG].strip("-")
    return slug
