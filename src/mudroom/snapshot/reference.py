"""References that can be cited: `mudroom-snapshot:<source_id>?url=…&sha256=…&fetched_at=…&record=…`.

A reference is canonical or invalid: what is not byte-equal to its own re-encoding names nothing. So two
references to one record are the same string, and a changed one cannot pass for another spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, unique
from urllib.parse import parse_qsl, quote, unquote, urlencode

from mudroom.errors import Code, NotFound

__all__ = ["SourceKind", "SourceRef", "build_source_id", "build_source_ref", "is_citable", "parse_source_ref"]

_SCHEME = "mudroom-snapshot:"
_KEYS = ["url", "sha256", "fetched_at", "record"]
_MAX_REF_CHARS = 200 * 1024  # two URLs of 8 KiB, each character twelve when escaped, and the digests
_MAX_URL_CHARS = 8 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


@unique
class SourceKind(StrEnum):
    """What a snapshot is of; the first part of its source_id."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    FILE = "file"
    RENDER = "render"
    REQUISITE = "requisite"


_KINDS = frozenset(SourceKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRef:
    """The parts of a reference."""

    source_id: str
    url: str
    sha256: str
    """Of the body, 64 hex digits."""
    fetched_at: str
    """RFC 3339 in UTC with milliseconds and Z."""
    record: str
    """SHA-256 of the envelope, 64 hex digits."""

    @property
    def kind(self) -> SourceKind:
        """What the snapshot is of."""
        return SourceKind(self.source_id.partition("::")[0])

    def __str__(self) -> str:
        return build_source_ref(self)


def build_source_id(kind: SourceKind, requested_url: str) -> str:
    """The identity of a source over time: its kind and the normal URL that was asked for."""
    return f"{kind.value}::{requested_url}"


def is_citable(text: str) -> bool:
    """Whether a URL can stand in a reference: there, not too long, and without control characters."""
    return 0 < len(text) <= _MAX_URL_CHARS and text.isprintable()


def build_source_ref(ref: SourceRef) -> str:
    """The reference as text."""
    query = urlencode(
        [
            ("url", ref.url),
            ("sha256", ref.sha256),
            ("fetched_at", ref.fetched_at),
            ("record", ref.record),
        ]
    )
    return f"{_SCHEME}{quote(ref.source_id, safe='')}?{query}"


def parse_source_ref(untrusted_ref: str) -> SourceRef:
    """The parts of a reference in its one valid spelling.

    Raises: NotFound INVALID_REFERENCE for anything else.
    """
    ref = _parts(untrusted_ref)
    if ref is None or build_source_ref(ref) != untrusted_ref:
        raise NotFound(Code.INVALID_REFERENCE, "this is not a source_ref that mudroom has written")
    return ref


def _parts(untrusted_ref: str) -> SourceRef | None:
    if len(untrusted_ref) > _MAX_REF_CHARS or not untrusted_ref.isascii():
        return None
    source, _, query = untrusted_ref.removeprefix(_SCHEME).partition("?")
    try:
        source_id = unquote(source, errors="strict")
        pairs = parse_qsl(
            query, strict_parsing=True, keep_blank_values=True, errors="strict", max_num_fields=4
        )
        url, sha256, fetched_at, record = (value for _, value in pairs)
        datetime.fromisoformat(fetched_at)
    except ValueError:
        return None
    kind, _, requested_url = source_id.partition("::")
    is_sound = (
        [key for key, _ in pairs] == _KEYS
        and kind in _KINDS
        and is_citable(requested_url)
        and is_citable(url)
        and _SHA256.fullmatch(sha256)
        and _SHA256.fullmatch(record)
        and _TIME.fullmatch(fetched_at)
    )
    if not is_sound:
        return None
    return SourceRef(source_id=source_id, url=url, sha256=sha256, fetched_at=fetched_at, record=record)
