"""The index made again from the segments, which are the truth."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from mudroom.clock import Clock, SystemClock
from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import SystemDisk, map_faults
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.recovery import scan_segment
from mudroom.snapshot.schema import INDEX_NAME
from mudroom.snapshot.segment import SegmentFile

__all__ = ["RebuildReport", "rebuild_index"]

_INDEX_FILES = (INDEX_NAME, f"{INDEX_NAME}-wal", f"{INDEX_NAME}-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """What was found."""

    segment_count: int
    record_count: int
    damaged: tuple[str, ...]
    """Segments that hold bytes which are no record; what is whole in them is indexed."""
    lost_count: int = 0
    """Records that the old index knew and that are in no segment, or not whole. Nothing resolves to them now."""
    added_count: int = 0
    """Records that the old index did not know."""
    is_index_replaced: bool = False
    """The old index could not be read; it was put aside as index.sqlite.old."""


def rebuild_index(
    root: Path, options: SnapshotOptions | None = None, clock: Clock | None = None
) -> RebuildReport:
    """Read every segment from its start and index what is whole. Blocks; nobody may be writing.

    All of it is one transaction: who reads meanwhile sees the old index, and a kill leaves it. An index that
    cannot be read is put aside first. Memory: the rows of one segment at a time.
    Raises: StoreFailed STORE_UNAVAILABLE when a writer holds a segment, or a later version wrote the archive;
    and as the store itself does.
    """
    options, clock = options or SnapshotOptions(), clock or SystemClock()
    if not root.is_dir():
        raise StoreFailed(Code.STORE_UNAVAILABLE, f"there is no archive in {root}")
    is_replaced = False
    with map_faults(root):
        folder = _open_sound(root, options, clock)
        if folder is None:
            _put_aside(root)
            is_replaced = True
            folder = ArchiveFolder(root, options, clock, SystemDisk(), os.urandom)
        try:
            return _rebuild(folder, options, is_replaced=is_replaced)
        finally:
            folder.close()


def _open_sound(root: Path, options: SnapshotOptions, clock: Clock) -> ArchiveFolder | None:
    """The archive, if its index can be read through and through."""
    try:
        with map_faults(root):
            folder = ArchiveFolder(root, options, clock, SystemDisk(), os.urandom)
            try:
                is_sound = folder.index.db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            except sqlite3.Error:
                is_sound = False
    except StoreFailed as failure:
        if failure.code is not Code.SNAPSHOT_CORRUPT:
            raise
        return None
    if not is_sound:
        folder.close()
        return None
    return folder


def _put_aside(root: Path) -> None:
    """Keep the old index's files under another name; what was put aside before is replaced."""
    for name in _INDEX_FILES:
        path = root / name
        if os.path.lexists(path):
            path.replace(root / name.replace(INDEX_NAME, f"{INDEX_NAME}.old"))


def _rebuild(folder: ArchiveFolder, options: SnapshotOptions, *, is_replaced: bool) -> RebuildReport:
    index = folder.index
    index.db.execute("CREATE TEMP TABLE known AS SELECT record FROM snapshots")
    known = _count(index.db, "SELECT count(*) FROM temp.known")
    if not is_replaced:
        folder.recover()  # only an index that knows a segment can tell a torn tail from damage
    held = folder.lock_all()
    try:
        with index.transaction() as db:
            _forget(db, {file.name for file in held}, set(folder.segment_names()))
            for file in held:
                _index_segment(folder, file, options)
            index.delete_orphans()
            found = _count(
                db, "SELECT count(*) FROM temp.known WHERE record IN (SELECT record FROM snapshots)"
            )
            count = index.count()
    finally:
        for file in held:
            file.close()
    segments = index.segments()
    return RebuildReport(
        segment_count=len(segments),
        record_count=count,
        damaged=tuple(sorted(name for name, row in segments.items() if row.is_damaged)),
        lost_count=known - found,
        added_count=0 if is_replaced else count - found,
        is_index_replaced=is_replaced,
    )


def _forget(db: sqlite3.Connection, held: set[str], there: set[str]) -> None:
    """Forget all that is read anew or is gone; a segment that was begun since then keeps its rows."""
    names = [name for (name,) in db.execute("SELECT name FROM segments")]
    for name in names:
        if name in held or name not in there:
            db.execute(
                "DELETE FROM snapshots WHERE segment = (SELECT id FROM segments WHERE name = ?)", (name,)
            )
            db.execute("DELETE FROM segments WHERE name = ?", (name,))
    db.execute("DELETE FROM snapshots WHERE segment NOT IN (SELECT id FROM segments)")
    db.execute("DELETE FROM sources")
    db.execute("INSERT INTO sources SELECT source, count(*) FROM snapshots GROUP BY source")


def _index_segment(folder: ArchiveFolder, file: SegmentFile, options: SnapshotOptions) -> None:
    if file.end == 0:
        folder.unlink(file.name)  # a writer died between the file and its first record
        return
    scan = scan_segment(file, start=0, max_record_bytes=options.max_record_bytes)
    is_full = file.end >= options.max_segment_bytes
    key = folder.index.insert_segment(
        file.name, end=file.end, is_sealed=is_full or not scan.is_sound, is_damaged=not scan.is_sound
    )
    folder.index.insert(key, scan.rows, end=file.end)


def _count(db: sqlite3.Connection, statement: str) -> int:
    return int(db.execute(statement).fetchone()[0])
