"""The archive's folder: opened without following links, its index with it, and segments taken up to write.

What a dead writer left is put right here: whole records that were synced but not indexed are indexed, a torn
tail is cut, and a damaged stretch is left where it is, the segment closed to writing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mudroom.clock import Clock, format_time
from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import Disk
from mudroom.snapshot.index import Index, SegmentRow
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.records import encode_warcinfo
from mudroom.snapshot.recovery import scan_segment
from mudroom.snapshot.schema import INDEX_NAME, refuse_later_version
from mudroom.snapshot.segment import SEGMENT_SUFFIX, SegmentFile, lock_segment
from mudroom.warc import derive_record_id

__all__ = ["ArchiveFolder", "OpenSegment"]

_PREFIX = "mudroom-"
_RESERVE_BYTES = 8 * 1024**2
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class OpenSegment:
    """A segment that we write to: its file, its key in the index, the id its records name."""

    file: SegmentFile
    key: int
    warcinfo_id: str
    reserved_bytes: int


class ArchiveFolder:
    """An opened archive; it belongs to the thread that opened it.

    Raises, at opening and in every method: OSError and sqlite3.Error as they come, StoreFailed for what is
    there but not as it must be; `map_faults` turns the former into the latter.
    """

    def __init__(
        self,
        root: Path,
        options: SnapshotOptions,
        clock: Clock,
        disk: Disk,
        randomness: Callable[[int], bytes],
    ) -> None:
        self.root = root
        self._options = options
        self._clock = clock
        self._disk = disk
        self._randomness = randomness
        self.unrecovered: StoreFailed | None = None
        """Why `recover` failed, where it did: then what the index does not know may be there all the same."""
        self._has_new_revisits = False
        self.descriptor = _enter(root)
        self.index = self._open_index()

    def _open_index(self) -> Index:
        is_open = False
        try:
            self._make_index_file()
            refuse_later_version(self.root / INDEX_NAME)
            os.fchmod(self.descriptor, 0o700)
            index = Index(self.root / INDEX_NAME)
            self._index_file = self._stat(INDEX_NAME)
            is_open = True
        finally:
            if not is_open:
                os.close(self.descriptor)
        return index

    def _make_index_file(self) -> None:
        """An index file for its owner alone.

        Nobody but SQLite may open it: closing a descriptor of it would drop the locks that SQLite holds on it
        in this process, for all that SQLite knows it still has them.
        """
        try:
            os.mknod(INDEX_NAME, stat.S_IFREG | 0o600, dir_fd=self.descriptor)
        except FileExistsError:
            if not stat.S_ISREG(self._stat(INDEX_NAME).st_mode):
                raise StoreFailed(
                    Code.SNAPSHOT_CORRUPT, f"the index of the archive {self.root} is not a regular file"
                ) from None

    def _stat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def close(self) -> None:
        """Let folder and index go."""
        self.index.close()
        os.close(self.descriptor)

    def check_place(self) -> None:
        """Refuse an archive whose folder or index is not, at its path, the one that was opened.

        Raises: StoreFailed SNAPSHOT_CORRUPT.
        """
        held = os.fstat(self.descriptor)
        with suppress(FileNotFoundError):
            is_there = os.path.samestat(held, self.root.lstat())
            if is_there and os.path.samestat(self._stat(INDEX_NAME), self._index_file):
                return
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the archive {self.root} is not the one that was opened")

    def segment_names(self) -> list[str]:
        """The segments in the folder, newest first; files of other names are none of ours."""
        names = os.listdir(self.descriptor)  # noqa: PTH208 - of the folder we hold, whatever stands at its path now
        return sorted(
            (n for n in names if n.startswith(_PREFIX) and n.endswith(SEGMENT_SUFFIX)), reverse=True
        )

    def recover(self) -> None:
        """Index what dead writers left unindexed. What live writers hold is left to them."""
        known = self.index.segments()
        open_names = [
            name
            for name in self.segment_names()
            if (row := known.get(name)) is None or not (row.is_sealed or self._is_settled(row))
        ]
        if not open_names:
            return
        held: list[SegmentFile] = []
        try:
            # One transaction, and every lock until it is committed: a revisit and its original may come back
            # from two segments, and nobody may see, or judge, the one without the other.
            with self.index.transaction(is_synced=True):
                for name in open_names:
                    segment = self._take_up(name)
                    if segment is not None:
                        held.append(segment.file)
                self._delete_orphans()
        finally:
            for file in held:
                file.close()

    def _is_settled(self, row: SegmentRow) -> bool:
        """Whether the file ends where the index says and nobody has reserved more: then there is nothing to do."""
        try:
            facts = self._stat(row.name)
        except FileNotFoundError:
            return True  # a prune has removed it
        return stat.S_ISREG(facts.st_mode) and facts.st_size == row.end == row.reserved

    def _delete_orphans(self) -> None:
        if self._has_new_revisits:
            self.index.delete_orphans()
            self._has_new_revisits = False

    def hold_segment(self, name: str) -> SegmentFile | None:
        """A segment under our lock, nothing in it unindexed; None while a writer has it, or where it is damaged.

        Raises: FileNotFoundError when there is no such file.
        """
        file = lock_segment(self.descriptor, name, self._disk, is_new=False)
        if file is None:
            return None
        is_sound = is_kept = False
        try:
            with self.index.transaction():
                row = self.index.segment(name)
                if row is not None and not row.is_damaged:
                    is_sound = self._put_right(file, row.id, row)
                    self._delete_orphans()
                    self.index.settle(row.id, end=file.end, is_sealed=row.is_sealed, is_damaged=not is_sound)
            is_kept = is_sound
        finally:
            if not is_kept:
                file.close()
        return file if is_kept else None

    def take_segment(self) -> OpenSegment:
        """A segment to write to: the newest that nobody holds and that is sound and not full, or a new one."""
        known = self.index.segments()
        for name in self.segment_names():
            row = known.get(name)
            if row is None or not row.is_sealed:
                segment = self._take_alone(name)
                if segment is not None:
                    return segment
        return self._new_segment()

    def _take_alone(self, name: str) -> OpenSegment | None:
        segment: OpenSegment | None = None
        is_committed = False
        try:
            with self.index.transaction(is_synced=True):
                segment = self._take_up(name)
                self._delete_orphans()
            is_committed = True
        finally:
            if segment is not None and not is_committed:
                segment.file.close()
        return segment

    def lock_all(self) -> list[SegmentFile]:
        """Every segment under our lock, oldest first.

        Raises: StoreFailed STORE_UNAVAILABLE when a living writer has one; then none is held.
        """
        held: list[SegmentFile] = []
        is_kept = False
        try:
            for name in reversed(self.segment_names()):
                file = lock_segment(self.descriptor, name, self._disk, is_new=False)
                if file is None:
                    raise StoreFailed(
                        Code.STORE_UNAVAILABLE,
                        f"the archive {self.root} is being written to; stop other mudroom processes and try again",
                    )
                held.append(file)
            is_kept = True
        finally:
            if not is_kept:
                for file in held:
                    file.close()
        return held

    def unlink(self, name: str) -> None:
        """Take a segment's file away."""
        os.unlink(name, dir_fd=self.descriptor)

    def new_segment(self) -> OpenSegment:
        """A segment for what moves from others; it may be made in a full archive, which then shrinks."""
        return self._new_segment(is_counted=False)

    def reserve(self, segment: OpenSegment, size_bytes: int, *, is_counted: bool = True) -> None:
        """Make sure that the segment may grow to this size.

        Shapes: not `is_counted` is what will be given back at once: it may pass the limit.
        Raises: StoreFailed ARCHIVE_FULL when archive.max_bytes would be passed.
        """
        if size_bytes <= segment.reserved_bytes:
            return
        if not is_counted:
            self.index.reserve(segment.key, reserved=size_bytes, max_bytes=None)
            segment.reserved_bytes = size_bytes
            return
        for wanted in (size_bytes + _RESERVE_BYTES, size_bytes):
            if self.index.reserve(segment.key, reserved=wanted, max_bytes=self._options.max_bytes):
                segment.reserved_bytes = wanted
                return
        raise StoreFailed(
            Code.ARCHIVE_FULL,
            f"the archive {self.root} has reached archive.max_bytes ({self._options.max_bytes} bytes); "
            "mudroom prune makes room",
        )

    def release(self, segment: OpenSegment) -> None:
        """Stop writing to a segment; full ones are closed for good."""
        is_full = segment.file.end >= self._options.max_segment_bytes
        try:
            self.index.settle(segment.key, end=segment.file.end, is_sealed=is_full)
        finally:
            segment.file.close()

    def _take_up(self, name: str) -> OpenSegment | None:
        """The segment under our lock, put right; None when it is held, gone, damaged, full or empty."""
        try:
            file = lock_segment(self.descriptor, name, self._disk, is_new=False)
        except FileNotFoundError:
            return None  # a prune has removed it since we saw its name
        if file is None:
            return None
        is_kept = False
        try:
            row = self.index.segment(name)  # as it is now that nobody else can change it
            if row is not None and row.is_sealed:
                return None
            if file.end == 0 and (row is None or row.end == 0):
                # A writer died between the file and its first record.
                os.unlink(name, dir_fd=self.descriptor)
                self.index.drop_empty(name)
                return None
            key = self.index.add_segment(name)
            is_sound = self._put_right(file, key, row)
            is_full = file.end >= self._options.max_segment_bytes
            self.index.settle(key, end=file.end, is_sealed=is_full, is_damaged=not is_sound)
            is_kept = is_sound and not is_full
        finally:
            if not is_kept:
                file.close()
        if not is_kept:
            return None
        return OpenSegment(
            file=file, key=key, warcinfo_id=derive_record_id("warcinfo", name), reserved_bytes=file.end
        )

    def _put_right(self, file: SegmentFile, key: int, row: SegmentRow | None) -> bool:
        """Whether the segment can be written to, its tail indexed or cut."""
        known_end = row.end if row else 0
        if file.end <= known_end:
            return file.end == known_end
        scan = scan_segment(file, start=known_end, max_record_bytes=self._options.max_record_bytes)
        self.index.add(key, scan.rows, end=scan.end)
        self._has_new_revisits |= any(row.original_sha256 for row in scan.rows)
        # Behind what was indexed nothing was acknowledged, so what is torn there is cut. Of a segment that
        # the index does not know that cannot be said, and nothing of it is.
        if row is not None and not scan.is_sound and scan.gap_count == 0:
            file.cut(scan.end)
            return True
        return scan.is_sound

    def _new_segment(self, *, is_counted: bool = True) -> OpenSegment:
        file = None
        while file is None:
            now = self._clock.now()
            stamp = format_time(now).translate({ord(mark): None for mark in "-:."})
            name = f"{_PREFIX}{stamp}-{self._randomness(10).hex()}{SEGMENT_SUFFIX}"
            file = lock_segment(self.descriptor, name, self._disk, is_new=True)
        is_kept = False
        try:
            key = self.index.add_segment(name)
            warcinfo, warcinfo_id = encode_warcinfo(
                segment_name=name, created_at=format_time(now), software=self._options.software
            )
            segment = OpenSegment(file=file, key=key, warcinfo_id=warcinfo_id, reserved_bytes=0)
            self.reserve(segment, len(warcinfo), is_counted=is_counted)
            file.append([warcinfo], is_synced=self._options.is_synced)
            self._disk.sync(self.descriptor)
            is_kept = True
        finally:
            if not is_kept:
                file.close()
        return segment


def _enter(root: Path) -> int:
    """A descriptor of the archive's folder, made where there is none; neither it nor its parent is a link.

    SQLite opens the index by its path, which no descriptor can stand in for: who could swap a folder on it
    between the two is who could write the index itself.
    """
    if not os.path.lexists(root.parent):
        root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    parent = os.open(root.parent, _FOLDER)
    try:
        with suppress(FileExistsError):
            os.mkdir(root.name, 0o700, dir_fd=parent)
        return os.open(root.name, _FOLDER, dir_fd=parent)
    finally:
        os.close(parent)
