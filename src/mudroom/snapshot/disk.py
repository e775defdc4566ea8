"""The few calls that change a segment, as a seam, and what the operating system's refusals mean."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mudroom.errors import Code, StoreFailed

__all__ = ["Disk", "SystemDisk", "is_index_damage", "map_faults"]

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_WHAT_IT_WAS = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO})

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})


class Disk(Protocol):
    """Where a segment's bytes go."""

    def write(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write at the offset; how many bytes were taken."""
        ...

    def sync(self, descriptor: int) -> None:
        """Return when the bytes are on the disk itself."""
        ...

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """Cut the file to this size."""
        ...


class SystemDisk:
    """The operating system's own calls."""

    def write(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write at the offset; how many bytes were taken."""
        return os.pwrite(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        """Return when the bytes are on the disk itself."""
        os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """Cut the file to this size."""
        os.ftruncate(descriptor, size_bytes)


@contextmanager
def map_faults(folder: Path) -> Iterator[None]:
    """Turns what the system and SQLite raise into StoreFailed, once, for the whole of a store's work.

    Raises: StoreFailed NO_SPACE for a full disk or quota; SNAPSHOT_CORRUPT for a link or file where a folder
    was, or an index that is none; STORE_UNAVAILABLE for everything else.
    """
    try:
        yield
    except OSError as fault:
        raise _of_system(fault, folder) from fault
    except sqlite3.Error as fault:
        raise _of_index(fault, folder) from fault


def _of_system(fault: OSError, folder: Path) -> StoreFailed:
    if fault.errno in _NO_SPACE:
        return StoreFailed(Code.NO_SPACE, f"there is no room left for the archive in {folder}")
    if fault.errno in _NOT_WHAT_IT_WAS:
        return StoreFailed(
            Code.SNAPSHOT_CORRUPT,
            f"the archive {folder} holds something else where a file or folder of its own was",
        )
    return StoreFailed(
        Code.STORE_UNAVAILABLE, f"the archive {folder} cannot be used: {os.strerror(fault.errno or 0)}"
    )


def _of_index(fault: sqlite3.Error, folder: Path) -> StoreFailed:
    if is_index_damage(fault):
        return StoreFailed(
            Code.SNAPSHOT_CORRUPT,
            f"the index of the archive {folder} is damaged; mudroom rebuild makes it again from the segments",
        )
    match getattr(fault, "sqlite_errorcode", 0):
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR_SHMSIZE:
            return StoreFailed(Code.NO_SPACE, f"there is no room left for the archive's index in {folder}")
        case _:
            return StoreFailed(
                Code.STORE_UNAVAILABLE, f"the index of the archive {folder} cannot be used: {fault}"
            )


def is_index_damage(fault: sqlite3.Error) -> bool:
    """Whether it says that the index is not what it was: its pages, or a statement of ours that fits no longer."""
    return _primary_code(fault) in _DAMAGE


def _primary_code(fault: sqlite3.Error) -> int:
    """The kind of a fault; SQLite says more in the upper bits. 0 for what Python itself raised."""
    return int(getattr(fault, "sqlite_errorcode", 0)) & 0xFF
