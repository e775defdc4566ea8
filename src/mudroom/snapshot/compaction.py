"""Dead bytes given back: what is kept of a segment moves to another, and the old one goes.

In this order, so that a kill between any two steps loses nothing: kept records are copied and synced, the
index is switched to the copies in one synced transaction, and only a segment that no row names any more is
closed for good, unlinked and forgotten. A segment that a living writer holds is left for a later prune.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.folder import ArchiveFolder, OpenSegment
from mudroom.snapshot.index import SegmentRow, SpanRow
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.pruning import PruneReport, PruneTally
from mudroom.snapshot.reading import HEADER_ROOM_BYTES
from mudroom.snapshot.records import move_span
from mudroom.snapshot.segment import SegmentFile
from mudroom.warc import derive_record_id

__all__ = ["Reclaimed", "reclaim", "report_of"]

_FLUSH_BYTES = 32 * 1024**2


@dataclass(slots=True, kw_only=True)
class Reclaimed:
    """What came of it so far."""

    freed_bytes: int = 0
    waiting_bytes: int = 0
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """A record and where its copy stands."""

    row: SpanRow
    offset: int
    length: int


def reclaim(folder: ArchiveFolder, options: SnapshotOptions) -> Reclaimed:
    """Give back the dead bytes of every segment that nobody writes to and that is sound.

    Those with the least to keep come first, so that a disk without room gains some before it needs any.
    Raises: OSError, sqlite3.Error, StoreFailed; what was moved by then is moved, the rest is where it was.
    """
    reclaimed = Reclaimed()
    compaction = _Compaction(folder, options, reclaimed)
    segments = [row for row in folder.index.segments().values() if row.dead_bytes]
    _forget_removed(folder)
    try:
        for row in sorted(segments, key=lambda one: one.end - one.dead_bytes):
            if row.is_damaged:
                reclaimed.damaged.append(row.name)
            else:
                compaction.clear(row)
    finally:
        compaction.close()
    reclaimed.freed_bytes = max(0, reclaimed.freed_bytes)
    return reclaimed


def _forget_removed(folder: ArchiveFolder) -> None:
    """Forget the segments whose file is gone and in which no record lies; a kill came between the two."""
    known = folder.index.segments()
    for name in set(known).difference(folder.segment_names()):
        folder.index.drop_empty(name)


def report_of(tally: PruneTally, reclaimed: Reclaimed, *, is_dry_run: bool = False) -> PruneReport:
    """Both halves of a prune as one report."""
    return PruneReport(
        removed=tally.removed,
        retained=tally.retained,
        removed_bytes=tally.removed_bytes,
        freed_bytes=reclaimed.freed_bytes,
        waiting_bytes=reclaimed.waiting_bytes,
        damaged=tuple(sorted(reclaimed.damaged)),
        is_dry_run=is_dry_run,
    )


class _Compaction:
    """The segment that kept records move to, and what was copied and not switched yet."""

    def __init__(self, folder: ArchiveFolder, options: SnapshotOptions, reclaimed: Reclaimed) -> None:
        self._folder = folder
        self._options = options
        self._reclaimed = reclaimed
        self._target: OpenSegment | None = None
        self._copies: list[_Copy] = []
        self._copied_bytes = 0

    def clear(self, row: SegmentRow) -> None:
        """Move what a segment keeps, and remove it."""
        try:
            file = self._folder.hold_segment(row.name)
        except FileNotFoundError:
            self._folder.index.drop_empty(row.name)  # its unlinking was the last that somebody did
            return
        if file is None:
            self._reclaimed.waiting_bytes += row.dead_bytes
            return
        try:
            self._move_all(file, row)
            self._remove(file, row)
        except StoreFailed as failure:
            if failure.code is not Code.SNAPSHOT_CORRUPT:
                raise
            self._reclaimed.damaged.append(row.name)
        finally:
            self._forget_copies()
            file.close()

    def close(self) -> None:
        """Let the new segment go; writers may go on in it."""
        target, self._target = self._target, None
        if target is not None:
            self._folder.release(target)

    def _begin(self) -> OpenSegment:
        self._target = self._folder.new_segment()
        self._reclaimed.freed_bytes -= self._target.file.end
        return self._target

    def _move_all(self, file: SegmentFile, row: SegmentRow) -> None:
        old_id = derive_record_id("warcinfo", row.name)
        for span in self._folder.index.rows_of_segment(row.id):
            target = self._target or self._begin()
            data = move_span(
                os.pread(file.descriptor, span.length, span.offset),
                max_content_bytes=span.content_bytes + HEADER_ROOM_BYTES,
                old_id=old_id,
                new_id=target.warcinfo_id,
                gzip_level=self._options.gzip_level,
            )
            offset = target.file.end
            self._folder.reserve(target, offset + len(data), is_counted=False)
            target.file.append([data], is_synced=False)
            self._copies.append(_Copy(row=span, offset=offset, length=len(data)))
            self._copied_bytes += len(data)
            is_full = target.file.end >= self._options.max_segment_bytes
            if is_full or self._copied_bytes >= _FLUSH_BYTES:
                self._switch(row)
            if is_full:
                self.close()
        self._switch(row)

    def _switch(self, old: SegmentRow) -> None:
        """Make the copies the records, once they are on the disk itself."""
        target, copies = self._target, self._copies
        if target is None or not copies:
            return
        target.file.sync()
        with self._folder.index.transaction(is_synced=True) as db:
            dead = 0
            for copy in copies:
                cursor = db.execute(
                    "UPDATE snapshots SET segment = ?, offset = ?, length = ?"
                    " WHERE record = ? AND segment = ? AND offset = ?",
                    (
                        target.key,
                        copy.offset,
                        copy.length,
                        bytes.fromhex(copy.row.record_sha256),
                        old.id,
                        copy.row.offset,
                    ),
                )
                dead += copy.length * (cursor.rowcount == 0)  # it was pruned while we copied it
            db.execute(
                "UPDATE segments SET end = ?1, reserved = max(reserved, ?1), dead = dead + ?2 WHERE id = ?3",
                (target.file.end, dead, target.key),
            )
            moved = sum(copy.row.length for copy in copies)
            db.execute("UPDATE segments SET dead = dead + ? WHERE id = ?", (moved, old.id))
        self._reclaimed.freed_bytes -= self._copied_bytes
        self._copies, self._copied_bytes = [], 0

    def _remove(self, file: SegmentFile, row: SegmentRow) -> None:
        """Unlink a segment in which no record is left."""
        with self._folder.index.transaction(is_synced=True) as db:
            cursor = db.execute(
                "UPDATE segments SET is_sealed = 1 WHERE id = ?1"
                " AND NOT EXISTS (SELECT 1 FROM snapshots WHERE segment = ?1)",
                (row.id,),
            )
            is_empty = cursor.rowcount == 1
        if is_empty:
            self._folder.unlink(row.name)
            self._reclaimed.freed_bytes += file.end
            self._folder.index.drop_empty(row.name)

    def _forget_copies(self) -> None:
        """Cut off what was copied and not switched, after a fault."""
        if self._target is not None and self._copies:
            self._target.file.cut(self._copies[0].offset)
        self._copies, self._copied_bytes = [], 0
