"""What a prune may take, and the rows of it taken out of the index; its bytes are reclaimed afterwards.

All is decided in one transaction, so no record can be put, and no revisit can come to need a body, between
the choice and the deed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from mudroom.clock import format_time
from mudroom.snapshot.index import Index, make_source_key
from mudroom.snapshot.reference import parse_source_ref

__all__ = ["PruneReport", "PruneRule", "PruneTally", "take_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Which records may go. The newest of a source and the original of a revisit that stays never may."""

    keep_last: int = 1
    """As many of each source stay, the newest; less than one means one."""
    keep: Collection[str] = ()
    """References to records that stay, whatever else is said."""
    source_ids: Collection[str] | None = None
    """Only records of these sources may go; None for all."""
    run_ids: Collection[str] | None = None
    """Only records that these runs took in may go; None for all."""
    older_than: datetime | None = None
    """Only records fetched before this may go."""
    is_dry_run: bool = False
    """Count, and change nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneTally:
    """What was taken out of the index, or in a dry run would have been."""

    removed: int
    retained: int
    removed_bytes: int
    """Of their spans in the segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What a prune came to."""

    removed: int
    """Records that are gone: no reference to them resolves any more."""
    retained: int
    removed_bytes: int
    """Of the removed records."""
    freed_bytes: int = 0
    """What the segments are smaller by, remains of earlier prunes included; in a dry run none."""
    waiting_bytes: int = 0
    """Dead, in segments that somebody writes to at this moment; a later prune frees them."""
    damaged: tuple[str, ...] = ()
    """Segments with dead bytes that are left as they are, since they hold damage."""
    is_dry_run: bool = False


def take_out(index: Index, rule: PruneRule) -> PruneTally:
    """Take the rows that the rule gives up out of the index; in a dry run, count them.

    Raises: NotFound INVALID_REFERENCE for a reference to keep that is none; then nothing is changed.
    """
    keep = [bytes.fromhex(parse_source_ref(ref).record) for ref in rule.keep]
    with index.transaction() as db:
        db.execute("CREATE TEMP TABLE named (kind TEXT, value, PRIMARY KEY (kind, value)) WITHOUT ROWID")
        _name(db, "kept", keep)
        _name(db, "source", map(make_source_key, rule.source_ids or ()))
        _name(db, "run", rule.run_ids or ())
        _choose(db, rule)
        removed, removed_bytes = db.execute(
            "SELECT count(*), coalesce(sum(length), 0) FROM snapshots WHERE rowid IN temp.doomed"
        ).fetchone()
        if not rule.is_dry_run:
            _delete(db)
        (left,) = db.execute("SELECT count(*) FROM snapshots").fetchone()
        db.execute("DROP TABLE temp.named")
        db.execute("DROP TABLE temp.doomed")
    retained = left - removed if rule.is_dry_run else left
    return PruneTally(removed=removed, retained=retained, removed_bytes=removed_bytes)


def _name(db: sqlite3.Connection, kind: str, values: Iterable[object]) -> None:
    """Values for the statements that follow."""
    named = ((kind, value) for value in values)
    db.executemany("INSERT INTO temp.named VALUES (?, ?) ON CONFLICT DO NOTHING", named)


def _choose(db: sqlite3.Connection, rule: PruneRule) -> None:
    """The rows that may go, in the table `doomed`."""
    keep_last = max(1, rule.keep_last)
    db.execute("CREATE TEMP TABLE doomed (value INTEGER PRIMARY KEY)")
    db.execute(
        """
        INSERT INTO temp.doomed
        SELECT key FROM (
            SELECT snapshots.rowid AS key, record, run_id, fetched_at, row_number() OVER (
                PARTITION BY source ORDER BY fetched_at DESC, sha256 DESC, record DESC
            ) AS place
            FROM snapshots
            WHERE source IN (SELECT source FROM sources WHERE record_count > ?1)
              AND (?2 OR source IN (SELECT value FROM temp.named WHERE kind = 'source'))
        )
        WHERE place > ?1 AND record NOT IN (SELECT value FROM temp.named WHERE kind = 'kept')
          AND (?3 OR run_id IN (SELECT value FROM temp.named WHERE kind = 'run'))
          AND (?4 IS NULL OR fetched_at < ?4)
        """,
        (
            keep_last,
            rule.source_ids is None,
            rule.run_ids is None,
            None if rule.older_than is None else format_time(rule.older_than),
        ),
    )
    db.execute(
        """
        DELETE FROM temp.doomed WHERE value IN (
            SELECT original.rowid FROM snapshots AS revisit JOIN snapshots AS original
            ON original.record = revisit.original
            WHERE revisit.original IS NOT NULL AND revisit.rowid NOT IN temp.doomed
        )
        """
    )


def _delete(db: sqlite3.Connection) -> None:
    db.execute(
        """
        UPDATE segments SET dead = dead + gone.length FROM (
            SELECT segment, sum(length) AS length FROM snapshots WHERE rowid IN temp.doomed GROUP BY segment
        ) AS gone WHERE segments.id = gone.segment
        """
    )
    db.execute(
        """
        UPDATE sources SET record_count = record_count - gone.count FROM (
            SELECT source, count(*) AS count FROM snapshots WHERE rowid IN temp.doomed GROUP BY source
        ) AS gone WHERE sources.source = gone.source
        """
    )
    db.execute("DELETE FROM snapshots WHERE rowid IN temp.doomed")
