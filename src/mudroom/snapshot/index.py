"""Which record lies where: a SQLite file that can always be made again from the segments.

It is not synced on commit: after a loss of power its last rows may be gone, and then the segments, which are
synced, give them back at the next start. What is deleted after a commit, a segment, waits for a synced one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.schema import open_database

__all__ = ["AddRefusal", "Index", "IndexRow", "SegmentRow", "SpanRow", "make_source_key"]

# Whose segment is gone from the index is damaged, not absent: hence LEFT.
_SPAN = (
    "SELECT segments.name, offset, length, content_bytes, record, sha256, fetched_at, run_id, original,"
    " snapshots.rowid FROM snapshots LEFT JOIN segments ON segments.id = segment"
)


_SEGMENTS = "SELECT id, name, end, reserved, is_sealed, is_damaged, dead FROM segments"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """What the index knows of a segment."""

    id: int
    name: str
    end: int
    reserved: int
    is_sealed: bool
    is_damaged: bool
    dead_bytes: int = 0
    """Of records that were pruned, or lie elsewhere too."""


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
    original_sha256: str | None = None
    """Of a revisit: the record that holds its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """Where a snapshot lies, and what the index says of it."""

    segment_name: str
    offset: int
    length: int
    content_bytes: int
    record_sha256: str
    sha256: str
    fetched_at: str
    run_id: str
    original_sha256: str | None
    key: int
    """Its place in the order in which records were indexed."""

    @property
    def place(self) -> tuple[str, int, int]:
        """Where its bytes are; a record that was moved has another."""
        return self.segment_name, self.offset, self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRefusal:
    """Why rows were not added; then none of them was."""

    over_limit: frozenset[str] = frozenset()
    """Records of sources that have as many as they may."""
    without_original: frozenset[str] = frozenset()
    """Revisits whose original was pruned meanwhile."""


class Index:
    """One connection; it belongs to the thread that opened it."""

    def __init__(self, path: Path) -> None:
        self._db = open_database(path)

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, for the statements of pruning and rebuilding."""
        return self._db

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    @contextmanager
    def transaction(self, *, is_synced: bool = False) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; synced, it is on the disk itself when this returns.

        Within another transaction it is part of that one.
        """
        is_inner = self._db.in_transaction
        if is_inner:
            yield self._db
            return
        if is_synced:
            self._db.execute("PRAGMA synchronous = FULL")
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            if self._db.in_transaction:
                self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if is_synced:
                self._db.execute("PRAGMA synchronous = NORMAL")

    def segments(self) -> dict[str, SegmentRow]:
        """All segments by name."""
        return {row.name: row for row in map(_segment_row, self._db.execute(_SEGMENTS))}

    def segment(self, name: str) -> SegmentRow | None:
        """One segment."""
        row = self._db.execute(f"{_SEGMENTS} WHERE name = ?", (name,)).fetchone()
        return None if row is None else _segment_row(row)

    def add_segment(self, name: str) -> int:
        """The id of a segment, new or known. Synced: a segment with records is never unknown to its index."""
        with self.transaction(is_synced=True) as db:
            db.execute(
                "INSERT INTO segments (name, end, reserved, is_sealed, is_damaged) VALUES (?, 0, 0, 0, 0)"
                " ON CONFLICT DO NOTHING",
                (name,),
            )
            return int(db.execute("SELECT id FROM segments WHERE name = ?", (name,)).fetchone()[0])

    def insert_segment(self, name: str, *, end: int, is_sealed: bool, is_damaged: bool) -> int:
        """Within a transaction: a segment that nobody writes to; its id."""
        cursor = self._db.execute(
            "INSERT INTO segments (name, end, reserved, is_sealed, is_damaged) VALUES (?1, ?2, ?2, ?3, ?4)",
            (name, end, is_sealed, is_damaged),
        )
        return int(cursor.lastrowid or 0)

    def reserve(self, segment: int, *, reserved: int, max_bytes: int | None) -> bool:
        """Whether the segment may grow to this size within what all of them may hold; if so, it is noted."""
        cursor = self._db.execute(
            "UPDATE segments SET reserved = ?1 WHERE id = ?2 AND (?3 IS NULL OR"
            " ?1 + (SELECT coalesce(sum(reserved), 0) FROM segments WHERE id <> ?2) <= ?3)",
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
        """Forget a segment in which no record lies."""
        self._db.execute(
            "DELETE FROM segments WHERE name = ? AND NOT EXISTS"
            " (SELECT 1 FROM snapshots WHERE segment = segments.id)",
            (name,),
        )

    def holds(self, record_sha256: str) -> bool:
        """Whether this record is indexed."""
        row = self._db.execute("SELECT 1 FROM snapshots WHERE record = ?", (bytes.fromhex(record_sha256),))
        return row.fetchone() is not None

    def count_of(self, source_id: str) -> int:
        """How many records the source has."""
        row = self._db.execute(
            "SELECT record_count FROM sources WHERE source = ?", (make_source_key(source_id),)
        )
        return int((row.fetchone() or (0,))[0])

    def add(
        self, segment: int, rows: Iterable[IndexRow], *, end: int, max_records_per_source: int | None = None
    ) -> AddRefusal | None:
        """Index what now stands in a segment up to `end`: all of it, or nothing and why.

        Shapes: without `max_records_per_source` nothing is refused: what was acknowledged once is indexed.
        """
        with self.transaction() as db:
            over, orphans = set(), set()
            for row, count in self.insert(segment, rows, end=end):
                if max_records_per_source is None:
                    continue
                if count > max_records_per_source:
                    over.add(row.record_sha256)
                if row.original_sha256 is not None and not self.holds(row.original_sha256):
                    orphans.add(row.record_sha256)
            if over or orphans:
                db.execute("ROLLBACK")
                return AddRefusal(over_limit=frozenset(over), without_original=frozenset(orphans))
        return None

    def insert(self, segment: int, rows: Iterable[IndexRow], *, end: int) -> list[tuple[IndexRow, int]]:
        """Within a transaction: index what stands in a segment up to `end`.

        Shapes: the new rows, each with the count of its source; what is indexed elsewhere is dead here.
        """
        new: list[tuple[IndexRow, int]] = []
        dead = 0
        for row in rows:
            if _insert(self._db, segment, row):
                new.append((row, _count_up(self._db, make_source_key(row.source_id))))
            else:
                dead += row.length
        self._db.execute(
            "UPDATE segments SET end = max(end, ?1), reserved = max(reserved, ?1), dead = dead + ?2"
            " WHERE id = ?3",
            (end, dead, segment),
        )
        return new

    def count(self) -> int:
        """How many snapshots are indexed."""
        return int(self._db.execute("SELECT count(*) FROM snapshots").fetchone()[0])

    def find(self, record_sha256: str) -> SpanRow | None:
        """Where the record lies."""
        return self._first("WHERE record = ?", bytes.fromhex(record_sha256))

    def find_original(self, run_id: str, sha256: str) -> SpanRow | None:
        """The record of a run that holds this body, itself no revisit."""
        return self._first(
            "WHERE sha256 = ? AND run_id = ? AND original IS NULL ORDER BY snapshots.rowid LIMIT 1",
            bytes.fromhex(sha256),
            run_id,
        )

    def has_moment(self, source_id: str, fetched_at: str) -> bool:
        """Whether any snapshot of the source was taken at this moment."""
        row = self._db.execute(
            "SELECT 1 FROM snapshots WHERE source = ? AND fetched_at = ? LIMIT 1",
            (make_source_key(source_id), fetched_at),
        )
        return row.fetchone() is not None

    def history(self, source_id: str, *, limit: int = -1) -> list[SpanRow]:
        """The snapshots of a source, newest first; ties by digest, so that every reader sees one order."""
        return self._all(
            "WHERE source = ? ORDER BY fetched_at DESC, sha256 DESC, record DESC LIMIT ?",
            make_source_key(source_id),
            limit,
        )

    def of_run(self, run_id: str, source_id: str) -> list[SpanRow]:
        """The snapshots that a run took of a source, oldest first."""
        return self._all(
            "WHERE source = ? AND run_id = ? ORDER BY fetched_at, sha256, record",
            make_source_key(source_id),
            run_id,
        )

    def page_of_run(self, run_id: str, *, after: tuple[str, int], limit: int) -> list[SpanRow]:
        """The next snapshots of a run in order of time, behind that moment and key."""
        return self._all(
            "WHERE run_id = ?1 AND fetched_at >= ?2 AND (fetched_at > ?2 OR snapshots.rowid > ?3)"
            " ORDER BY fetched_at, snapshots.rowid LIMIT ?4",
            run_id,
            *after,
            limit,
        )

    def page_of_all(self, *, after: int, limit: int) -> list[SpanRow]:
        """The next snapshots of all in the order in which they were indexed."""
        return self._all("WHERE snapshots.rowid > ? ORDER BY snapshots.rowid LIMIT ?", after, limit)

    def rows_of_segment(self, segment: int) -> list[SpanRow]:
        """What lies in a segment, in order."""
        return self._all("WHERE segment = ? ORDER BY offset", segment)

    def delete_orphans(self) -> None:
        """Within a transaction: forget the revisits whose original is gone.

        A prune keeps what a kept revisit needs: where no segment is damaged, such a one was pruned itself, or
        never acknowledged, and came back with the bytes of a segment that was put right.
        """
        if self._db.execute("SELECT 1 FROM segments WHERE is_damaged LIMIT 1").fetchone():
            return
        gone = self._db.execute(
            "DELETE FROM snapshots WHERE original IS NOT NULL AND NOT EXISTS (SELECT 1 FROM snapshots"
            " AS held WHERE held.record = snapshots.original) RETURNING source, segment, length"
        ).fetchall()
        for source, segment, length in gone:
            self._db.execute("UPDATE sources SET record_count = record_count - 1 WHERE source = ?", (source,))
            self._db.execute("UPDATE segments SET dead = dead + ? WHERE id = ?", (length, segment))

    def run_ids(self) -> list[str]:
        """The runs that any record is of."""
        # A skip from one run to the next in the index, where DISTINCT would read every row of it.
        rows = self._db.execute(
            "WITH RECURSIVE runs (id) AS (SELECT min(run_id) FROM snapshots UNION ALL"
            " SELECT (SELECT min(run_id) FROM snapshots WHERE run_id > id) FROM runs WHERE id IS NOT NULL)"
            " SELECT id FROM runs WHERE id IS NOT NULL"
        )
        return [run_id for (run_id,) in rows]

    def _first(self, where: str, *values: object) -> SpanRow | None:
        return next(iter(self._all(where, *values)), None)

    def _all(self, where: str, *values: object) -> list[SpanRow]:
        return [_span_row(row) for row in self._db.execute(f"{_SPAN} {where}", values)]


def make_source_key(source_id: str) -> bytes:
    """What stands for a source in the index."""
    return hashlib.sha256(source_id.encode()).digest()[:16]


def _insert(db: sqlite3.Connection, segment: int, row: IndexRow) -> bool:
    """Whether the row is new."""
    cursor = db.execute(
        "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            bytes.fromhex(row.record_sha256),
            make_source_key(row.source_id),
            row.fetched_at,
            bytes.fromhex(row.sha256),
            segment,
            row.offset,
            row.length,
            row.content_bytes,
            row.run_id,
            bytes.fromhex(row.original_sha256) if row.original_sha256 else None,
        ),
    )
    return cursor.rowcount == 1


def _count_up(db: sqlite3.Connection, source: bytes) -> int:
    """One more record of the source; how many it has now."""
    rows = db.execute(
        "INSERT INTO sources VALUES (?, 1) ON CONFLICT DO UPDATE SET record_count = record_count + 1"
        " RETURNING record_count",
        (source,),
    ).fetchall()
    return int(rows[0][0])


def _segment_row(row: Any) -> SegmentRow:
    key, name, end, reserved, is_sealed, is_damaged, dead = row
    return SegmentRow(
        id=key,
        name=name,
        end=end,
        reserved=reserved,
        is_sealed=bool(is_sealed),
        is_damaged=bool(is_damaged),
        dead_bytes=dead,
    )


def _span_row(row: Any) -> SpanRow:
    name, offset, length, content_bytes, record, sha256, fetched_at, run_id, original, key = row
    if name is None:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT,
            "the archive's index has lost the segment of a record; mudroom rebuild makes it again",
        )
    return SpanRow(
        segment_name=name,
        offset=offset,
        length=length,
        content_bytes=content_bytes,
        record_sha256=record.hex(),
        sha256=sha256.hex(),
        fetched_at=fetched_at,
        run_id=run_id,
        original_sha256=original.hex() if original else None,
        key=key,
    )
