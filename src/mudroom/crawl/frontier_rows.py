"""A frontier as rows of SQLite: its schema, and entries to rows and back."""

from __future__ import annotations

import hashlib
import struct

from mudroom.address import ExceptionScope, parse_url
from mudroom.crawl.ended import decode_scope, encode_scope
from mudroom.crawl.frontier import FrontierEntry, Rank, Recorded
from mudroom.crawl.keys import page_key
from mudroom.model import Initiator

__all__ = [
    "CLAIMED",
    "ENTRY_COLUMNS",
    "SCHEMA",
    "VERSION",
    "EntryRow",
    "digest_key",
    "from_row",
    "make_recorded",
    "pack_rank",
    "to_row",
]

VERSION = 1
CLAIMED = -1
"""The number of a key that only a redirect led to."""

SCHEMA = """
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,  -- of the key
    rank BLOB,                    -- sorts as the crawl does; NULL for a key that was only claimed
    host TEXT,
    url TEXT,
    key TEXT,                     -- NULL where it is the URL
    initiator TEXT,
    scope TEXT,
    number INTEGER                -- of its page, from when it was taken; NULL while it waits
) STRICT;
CREATE INDEX waiting ON urls (host, rank) WHERE number IS NULL;
CREATE INDEX taken ON urls (number) WHERE number IS NOT NULL;
CREATE TABLE held (
    number INTEGER PRIMARY KEY,
    page TEXT NOT NULL            -- what a page leaves behind until it is taken in
) STRICT;
CREATE TABLE contents (
    digest BLOB PRIMARY KEY,
    number INTEGER NOT NULL       -- the page that had this content first
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

ENTRY_COLUMNS = "rank, host, url, key, initiator, scope, number"
EntryRow = tuple[bytes, str, str, str | None, str, str, int | None]

_RANK = struct.Struct(">QHIQ")
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def digest_key(key: str) -> bytes:
    """A key in sixteen bytes."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def pack_rank(rank: Rank) -> bytes:
    """A rank as bytes that sort as it does."""
    score, depth, parent, place = rank
    (bits,) = struct.unpack(">Q", struct.pack(">d", score + 0.0))  # -0.0 becomes 0.0
    ordered = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return _RANK.pack(ordered, depth, parent, place)


def _unpack_rank(packed: bytes) -> Rank:
    ordered, depth, parent, place = _RANK.unpack(packed)
    bits = ordered ^ _SIGN if ordered & _SIGN else ordered ^ _ALL
    (score,) = struct.unpack(">d", struct.pack(">Q", bits))
    return (score, depth, parent, place)


def to_row(entry: FrontierEntry) -> tuple[bytes, bytes, str, str, str | None, str, str]:
    """Digest and entry as they are inserted."""
    return (
        digest_key(entry.key),
        pack_rank(entry.rank),
        entry.host,
        entry.url,
        None if entry.key == entry.url else entry.key,
        entry.initiator.value,
        encode_scope(entry.scope),
    )


def make_recorded(page: Recorded) -> FrontierEntry | None:
    """A page of the record as an entry, where the file has lost it; None for what is no URL."""
    url = parse_url(page.url)
    if url is None:
        return None
    return FrontierEntry(
        url=url.normalized,
        key=page_key(url),
        host=url.authority,
        origin=url.origin,
        depth=page.depth,
        parent=0,
        place=page.number,
        initiator=Initiator.PAGE,
        scope=ExceptionScope.none(),
    )


def from_row(row: EntryRow) -> FrontierEntry:
    """An entry as it was. Raises: ValueError, struct.error for a row that nobody wrote like this."""
    packed, host, url, key, initiator, scope, number = row
    score, depth, parent, place = _unpack_rank(packed)
    parsed, granted, named_by = parse_url(url), decode_scope(scope), Initiator(initiator)
    if parsed is None:
        raise ValueError("the frontier holds what is no URL")
    if depth and (granted.is_operator or named_by is Initiator.OPERATOR):
        raise ValueError("a page that another led to has the rights of who named the seed")
    return FrontierEntry(
        url=url,
        key=key or url,
        host=host,
        origin=parsed.origin,
        depth=depth,
        parent=parent,
        place=place,
        initiator=named_by,
        scope=granted,
        score=-score,
        number=number or 0,
    )
