"""Which record lies where: a SQLite file that can always be made again from the segments.

It is not synced on commit: after a loss of power its last rows may be gone, and then the segments, which are
synced, give them back at the next start.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mudroom.errors import Code, StoreFailed

__all__ = ["Index", "IndexRow", "SegmentRow", "SpanRow"]

_VERSION = 1
_BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    end INTEGER NOT NULL,        -- bytes that hold indexed records
    reserved INTEGER NOT NULL,   -- bytes that count against the limit: what its writer may still fill
    is_sealed INTEGER NOT NULL,  -- full or damaged: never written to again
    is_damaged INTEGER NOT NULL  -- holds bytes that are no record, or lost some that were
) STRICT;
CREATE TABLE snapshots (
    record BLOB NOT NULL UNIQUE,  -- SHA-256 of the envelope
    source BLOB NOT NULL,         -- the first half of the SHA-256 of source_id
    fetched_at TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    segment INTEGER NOT NULL REFERENCES segments (id),
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    content_bytes INTEGER NOT NULL, -- of the body
    run_id TEXT NOT NULL            -- of the run that took it in; a replay finds its own by it
) STRICT;
CREATE INDEX snapshots_by_source ON snapshots (source, fetched_at);
CREATE INDEX snapshots_by_segment ON snapshots (segment);
"""

_SPAN = "SELECT segments.name, offset, length, content_bytes, record FROM snapshots JOIN segments ON segments.id = segment"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """What the index knows of a segment."""

    id: int
    name: str
    end: int
    reserved: int
    is_sealed: bool
    is_damaged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A snapshot to be indexed."""

    record_sha256: str
    source_id: str
    fetched_at: str
    sha256: str
    offset: int
    length: int
    content_bytes: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """Where a snapshot lies."""

    segment_name: str
    offset: int
    length: int
    content_bytes: int
    record_sha256: str


class Index:
    """One connection; it belongs to the thread that opened it."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._prepare_schema(path)

    def _prepare_schema(self, path: Path) -> None:
        if self._version() == 0:
            self._db.execute("BEGIN IMMEDIATE")
            if self._version() == 0:
                for statement in _SCHEMA.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
            self._db.execute("COMMIT")
        if self._version() != _VERSION:
            raise StoreFailed(
                Code.STORE_UNAVAILABLE,
                f"the archive {path.parent} was written by a later version of mudroom; use that version",
            )

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def segments(self) -> dict[str, SegmentRow]:
        """All segments by name."""
        rows = self._db.execute("SELECT id, name, end, reserved, is_sealed, is_damaged FROM segments")
        return {
            name: SegmentRow(
                id=key,
                name=name,
                end=end,
                reserved=reserved,
                is_sealed=bool(is_sealed),
                is_damaged=bool(is_damaged),
            )
            for key, name, end, reserved, is_sealed, is_damaged in rows
        }

    def add_segment(self, name: str) -> int:
        """The id of a segment, new or known. Synced: a segment with records is never unknown to its index."""
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(
            "INSERT INTO segments (name, end, reserved, is_sealed, is_damaged) VALUES (?, 0, 0, 0, 0)"
            " ON CONFLICT DO NOTHING",
            (name,),
        )
        self._db.execute("PRAGMA synchronous = NORMAL")
        return int(self._db.execute("SELECT id FROM segments WHERE name = ?", (name,)).fetchone()[0])

    def reserve(self, segment: int, *, reserved: int, max_bytes: int) -> bool:
        """Whether the segment may grow to this size within what all of them may hold; if so, it is noted."""
        cursor = self._db.execute(
            "UPDATE segments SET reserved = ?1 WHERE id = ?2 AND"
            " ?1 + (SELECT coalesce(sum(reserved), 0) FROM segments WHERE id <> ?2) <= ?3",
            (reserved, segment, max_bytes),
        )
        return cursor.rowcount == 1

    def settle(self, segment: int, *, end: int, is_sealed: bool, is_damaged: bool = False) -> None:
        """Note that nobody writes to the segment now, and where it ends. Damage seals it."""
        self._db.execute(
            "UPDATE segments SET end = ?1, reserved = ?1, is_sealed = ?2 OR ?3, is_damaged = ?3 WHERE id = ?4",
            (end, is_sealed, is_damaged, segment),
        )

    def drop_empty(self, name: str) -> None:
        """Forget a segment that never held a record."""
        self._db.execute("DELETE FROM segments WHERE name = ? AND end = 0", (name,))

    def holds(self, record_sha256: str) -> bool:
        """Whether this record is indexed."""
        row = self._db.execute("SELECT 1 FROM snapshots WHERE record = ?", (bytes.fromhex(record_sha256),))
        return row.fetchone() is not None

    def add(self, segment: int, rows: Iterable[IndexRow], *, end: int) -> None:
        """Index what now stands in a segment up to `end`, all of it or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (
                        bytes.fromhex(row.record_sha256),
                        _source_key(row.source_id),
                        row.fetched_at,
                        bytes.fromhex(row.sha256),
                        segment,
                        row.offset,
                        row.length,
                        row.content_bytes,
                        row.run_id,
                    )
                    for row in rows
                ],
            )
            self._db.execute(
                "UPDATE segments SET end = max(end, ?1), reserved = max(reserved, ?1) WHERE id = ?2",
                (end, segment),
            )
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def count(self) -> int:
        """How many snapshots are indexed."""
        return int(self._db.execute("SELECT count(*) FROM snapshots").fetchone()[0])

    def find(self, record_sha256: str) -> SpanRow | None:
        """Where the record lies."""
        rows = self._db.execute(f"{_SPAN} WHERE record = ?", (bytes.fromhex(record_sha256),))
        return next(map(_span_row, rows), None)

    def has_moment(self, source_id: str, fetched_at: str) -> bool:
        """Whether any snapshot of the source was taken at this moment."""
        row = self._db.execute(
            "SELECT 1 FROM snapshots WHERE source = ? AND fetched_at = ? LIMIT 1",
            (_source_key(source_id), fetched_at),
        )
        return row.fetchone() is not None

    def history(self, source_id: str, *, limit: int = -1) -> list[SpanRow]:
        """The snapshots of a source, newest first; ties by digest, so that every reader sees one order."""
        rows = self._db.execute(
            f"{_SPAN} WHERE source = ? ORDER BY fetched_at DESC, sha256 DESC, record DESC LIMIT ?",
            (_source_key(source_id), limit),
        )
        return [_span_row(row) for row in rows]


def _source_key(source_id: str) -> bytes:
    return hashlib.sha256(source_id.encode()).digest()[:16]


def _span_row(row: tuple[str, int, int, int, bytes]) -> SpanRow:
    name, offset, length, content_bytes, record = row
    return SpanRow(
        segment_name=name,
        offset=offset,
        length=length,
        content_bytes=content_bytes,
        record_sha256=record.hex(),
    )
