"""The index's tables, their versions, and how an older one becomes the present one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from mudroom.errors import Code, StoreFailed

__all__ = ["INDEX_NAME", "SCHEMA_VERSION", "open_database", "refuse_later_version"]

INDEX_NAME = "index.sqlite"
SCHEMA_VERSION = 2
_BUSY_SECONDS = 30.0

_NEW_IN_2 = (
    """
    CREATE TABLE sources (
        source BLOB PRIMARY KEY,
        record_count INTEGER NOT NULL  -- of its rows in snapshots; what differs from it was lost
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX snapshots_by_run ON snapshots (run_id, fetched_at)",
    "CREATE INDEX snapshots_by_content ON snapshots (sha256, run_id) WHERE original IS NULL",
)

_SCHEMA = (
    """
    CREATE TABLE segments (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        end INTEGER NOT NULL,        -- bytes that hold indexed records
        reserved INTEGER NOT NULL,   -- bytes that count against the limit: what its writer may still fill
        is_sealed INTEGER NOT NULL,  -- full or damaged: never written to again
        is_damaged INTEGER NOT NULL, -- holds bytes that are no record, or lost some that were
        dead INTEGER NOT NULL DEFAULT 0 -- bytes of records that were pruned, or lie elsewhere too
    ) STRICT""",
    """
    CREATE TABLE snapshots (
        record BLOB NOT NULL UNIQUE,  -- SHA-256 of the envelope
        source BLOB NOT NULL,         -- the first half of the SHA-256 of source_id
        fetched_at TEXT NOT NULL,
        sha256 BLOB NOT NULL,
        segment INTEGER NOT NULL REFERENCES segments (id),
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        content_bytes INTEGER NOT NULL, -- of the body that lies here: of a revisit none
        run_id TEXT NOT NULL,           -- of the run that took it in; a replay finds its own by it
        original BLOB                   -- of a revisit: the record that holds its body
    ) STRICT""",
    "CREATE INDEX snapshots_by_source ON snapshots (source, fetched_at)",
    "CREATE INDEX snapshots_by_segment ON snapshots (segment)",
    *_NEW_IN_2,
)

_MIGRATIONS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        1: (
            "ALTER TABLE segments ADD COLUMN dead INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE snapshots ADD COLUMN original BLOB",
            *_NEW_IN_2,
            "INSERT INTO sources SELECT source, count(*) FROM snapshots GROUP BY source",
        )
    }
)
"""From each older version to the next. A writer of the older one that still runs is refused by its own INSERT."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the index, its tables of the present version.

    Raises: StoreFailed STORE_UNAVAILABLE for a later version, and names it; sqlite3.Error.
    """
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    is_kept = False
    try:
        _refuse_later(_version(db), path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        _bring_up(db)
        is_kept = True
    finally:
        if not is_kept:
            db.close()
    return db


def refuse_later_version(path: Path) -> None:
    """Refuse an index of a later version before SQLite, or anybody, has touched it.

    Raises: StoreFailed STORE_UNAVAILABLE for one, and names it; sqlite3.Error.
    """
    _refuse_later(_stored_version(path), path)


_FIRST_TABLES = frozenset({"segments", "snapshots"})
_TABLES = _FIRST_TABLES | {"sources"}


def _bring_up(db: sqlite3.Connection) -> None:
    if _version(db) != SCHEMA_VERSION:
        _migrate(db)
    if not _tables(db) >= _TABLES:
        raise _not_ours()


def _migrate(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        while (version := _version(db)) < SCHEMA_VERSION:  # another process may have come first
            tables = _tables(db)
            if version < 0 or (tables if version == 0 else not tables >= _FIRST_TABLES):
                raise _not_ours()
            for statement in _MIGRATIONS[version] if version else _SCHEMA:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {version + 1 if version else SCHEMA_VERSION}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _stored_version(path: Path) -> int:
    """What the file says by itself: opened as one that never changes, it is neither locked nor recovered.

    0 where it says nothing so: when the copying of the log into it was cut off (a kill, a full disk), it is no
    database without its log. Whoever opens it with its log sees whether it is damaged.
    """
    db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
    try:
        return _version(db)
    except sqlite3.DatabaseError:
        return 0
    finally:
        db.close()


def _tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _not_ours() -> StoreFailed:
    return StoreFailed(
        Code.SNAPSHOT_CORRUPT, "the archive's index is no index of mudroom; mudroom rebuild makes one"
    )


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _refuse_later(version: int, path: Path) -> None:
    if version > SCHEMA_VERSION:
        raise StoreFailed(
            Code.STORE_UNAVAILABLE,
            f"the archive {path.parent} was written by a later version of mudroom (its index is of version "
            f"{version}, this one reads up to {SCHEMA_VERSION}); use that version; nothing was changed",
        )
