"""File names for URLs: no folders, nothing hidden or reserved, no two alike."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from mudroom.address import parse_url
from mudroom.extract import expose_url, make_slug

__all__ = ["name_files"]

_MAX_SUFFIX = 8
_DIGITS = 8


def name_files(untrusted_urls: Sequence[str]) -> list[str]:
    """A name for each URL, of the last part of its path; where names would meet, each has a digest of its URL.

    The digest depends on the URL alone, so that the same URLs have the same names the next time, whatever
    order they come in. Names differ without regard to case: some file systems have none.
    Raises: ValueError where two names meet all the same, which somebody must have worked for.
    """
    parts = [_split_name(url) for url in untrusted_urls]
    counts = Counter((stem + suffix).casefold() for stem, suffix in parts)
    names = [
        stem + suffix if counts[(stem + suffix).casefold()] == 1 else f"{stem}-{_digest(url)}{suffix}"
        for (stem, suffix), url in zip(parts, untrusted_urls, strict=True)
    ]
    name, count = Counter(name.casefold() for name in names).most_common(1)[0]
    if count > 1:
        raise ValueError(name)
    return names


def _split_name(untrusted_url: str) -> tuple[str, str]:
    """Stem and suffix, the suffix with its dot."""
    parsed = parse_url(untrusted_url)
    last = expose_url(parsed.path).rstrip("/").rpartition("/")[2] if parsed is not None else ""
    stem, dot, suffix = last.rpartition(".")
    slug = make_slug(stem if dot else last, untrusted_url)
    is_plain = bool(stem) and suffix.isascii() and suffix.isalnum() and len(suffix) <= _MAX_SUFFIX
    return slug, f".{suffix}" if is_plain else ""


def _digest(untrusted_url: str) -> str:
    return hashlib.sha256(untrusted_url.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
