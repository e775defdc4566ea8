"""The index made again from the segments, which are the truth."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from mudroom.clock import Clock, SystemClock
from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import SystemDisk, is_index_damage, map_faults
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
    lost_by_run: tuple[tuple[str, int], ...] = ()
    """Of them, as many as each run took in."""
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
    with map_faults(root):
        report = _rebuild_in_place(root, options, clock)
        if report is None:
            _put_aside(root)
            report = _rebuild(_open(root, options, clock), options, is_replaced=True)
    return report


def _open(root: Path, options: SnapshotOptions, clock: Clock) -> ArchiveFolder:
    return ArchiveFolder(root, options, clock, SystemDisk(), os.urandom)


def _rebuild_in_place(root: Path, options: SnapshotOptions, clock: Clock) -> RebuildReport | None:
    """The report, if the index can be read through and through and written to; None where it is damaged."""
    try:
        try:
            folder = _open(root, options, clock)
        except StoreFailed as failure:
            if failure.code is Code.SNAPSHOT_CORRUPT and root.is_dir() and not root.is_symlink():
                return None
            raise
        if folder.index.db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            folder.close()
            return None
        return _rebuild(folder, options, is_replaced=False)
    except sqlite3.DatabaseError as fault:
        if is_index_damage(fault):
            return None
        raise


def _put_aside(root: Path) -> None:
    """Keep the old index's files under another name; what was put aside before is replaced."""
    for name in _INDEX_FILES:
        path = root / name
        if os.path.lexists(path):
            path.replace(root / name.replace(INDEX_NAME, f"{INDEX_NAME}.old"))


def _rebuild(folder: ArchiveFolder, options: SnapshotOptions, *, is_replaced: bool) -> RebuildReport:
    """The index made again; the folder is closed at the end."""
    held: list[SegmentFile] = []
    index = folder.index
    try:
        index.db.execute("CREATE TEMP TABLE known AS SELECT record, run_id FROM snapshots")
        known = _count(index.db, "SELECT count(*) FROM temp.known")
        if not is_replaced:
            folder.recover()  # only an index that knows a segment can tell a torn tail from damage
        held += folder.lock_all()
        with index.transaction() as db:
            _forget(db, {file.name for file in held}, set(folder.segment_names()))
            for file in held:
                _index_segment(folder, file, options)
            index.delete_orphans()
            found = _count(
                db, "SELECT count(*) FROM temp.known WHERE record IN (SELECT record FROM snapshots)"
            )
            count = index.count()
            lost = _list_lost(db)
        segments = index.segments()
    finally:
        for file in held:
            file.close()
        folder.close()
    return RebuildReport(
        segment_count=len(segments),
        record_count=count,
        damaged=tuple(sorted(name for name, row in segments.items() if row.is_damaged)),
        lost_count=known - found,
        lost_by_run=lost,
        added_count=0 if is_replaced else count - found,
        is_index_replaced=is_replaced,
    )


def _list_lost(db: sqlite3.Connection) -> tuple[tuple[str, int], ...]:
    """The runs that records were lost of, in order of their ids, and how many of each."""
    rows = db.execute(
        "SELECT run_id, count(*) FROM temp.known"
        " WHERE record NOT IN (SELECT record FROM snapshots) GROUP BY run_id ORDER BY run_id"
    )
    return tuple((str(run_id), int(count)) for run_id, count in rows)


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
