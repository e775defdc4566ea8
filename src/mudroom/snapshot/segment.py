"""One file of the archive, written by one process at a time.

A writer holds the file's lock for as long as it lives, so whoever gets the lock knows that no writer does.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Sequence

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import Disk

__all__ = ["SEGMENT_SUFFIX", "SegmentFile", "lock_segment", "read_bytes"]

SEGMENT_SUFFIX = ".warc.gz"

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class SegmentFile:
    """A segment whose lock we hold. `end` is where its last whole record ends."""

    def __init__(self, *, name: str, descriptor: int, disk: Disk, end: int) -> None:
        self.name = name
        self.descriptor = descriptor
        self.end = end
        self._disk = disk

    def append(self, pieces: Sequence[bytes], *, is_synced: bool) -> None:
        """Write the pieces behind the end, all of them or, after an error, none.

        Raises: OSError as the disk gave it; whoever gets it lets the segment go, and what could not be cut
        back is cut when the segment is next taken up.
        """
        data = memoryview(b"".join(pieces))
        offset = self.end
        is_written = False
        try:
            while data:
                taken = self._disk.write(self.descriptor, data, offset)
                data = data[taken:]
                offset += taken
            if is_synced:
                self._disk.sync(self.descriptor)
            is_written = True
        finally:
            if not is_written:
                self._disk.truncate(self.descriptor, self.end)
        self.end = offset

    def sync(self) -> None:
        """Return when all that was appended is on the disk itself."""
        self._disk.sync(self.descriptor)

    def cut(self, size_bytes: int) -> None:
        """Cut off what stands behind `size_bytes`."""
        self._disk.truncate(self.descriptor, size_bytes)
        self.end = size_bytes

    def close(self) -> None:
        """Let the file and its lock go."""
        os.close(self.descriptor)


def lock_segment(folder: int, name: str, disk: Disk, *, is_new: bool) -> SegmentFile | None:
    """The segment under our lock; None when another writer has it, or removed it meanwhile.

    Raises: OSError; StoreFailed SNAPSHOT_CORRUPT when it is no regular file.
    """
    flags = _WRITE | os.O_CREAT | os.O_EXCL if is_new else _WRITE
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    is_kept = False
    try:
        _regular_size(descriptor, name)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = _regular_size(descriptor, name)
        is_kept = os.fstat(descriptor).st_nlink > 0
    except BlockingIOError:
        return None
    finally:
        if not is_kept:
            os.close(descriptor)
    return SegmentFile(name=name, descriptor=descriptor, disk=disk, end=size) if is_kept else None


def read_bytes(folder: int, name: str, offset: int, length: int) -> bytes:
    """Exactly these bytes of a segment.

    Raises: StoreFailed SNAPSHOT_CORRUPT when the file is gone, is none, or ends before them; OSError.
    """
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError as gone:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the archive's segment {name} is gone") from gone
    try:
        if offset + length > _regular_size(descriptor, name):
            raise StoreFailed(
                Code.SNAPSHOT_CORRUPT, f"the archive's segment {name} ends before a record that it held"
            )
        return os.pread(descriptor, length, offset)  # a segment is smaller than what one call can read
    finally:
        os.close(descriptor)


def _regular_size(descriptor: int, name: str) -> int:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the archive's segment {name} is not a regular file")
    return facts.st_size
