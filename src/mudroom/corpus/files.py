"""Files and folders of a workspace, reached without following a link; and what refusals mean."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mudroom.errors import Code, StoreFailed

__all__ = [
    "enter_folder",
    "enter_private",
    "enter_workspace",
    "make_file",
    "map_faults",
    "open_below",
    "open_folder",
    "read_file",
    "write_file",
]

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_WHAT_IT_WAS = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENXIO})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TOP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def map_faults(workspace: Path) -> Iterator[None]:
    """Turns what the system raises into StoreFailed, once, for all of the corpus's work.

    Raises: StoreFailed NO_SPACE, SNAPSHOT_CORRUPT (a link, or a file where a folder was), else
    STORE_UNAVAILABLE.
    """
    try:
        yield
    except OSError as fault:
        raise _of_system(fault, workspace) from fault


def _of_system(fault: OSError, workspace: Path) -> StoreFailed:
    if fault.errno in _NO_SPACE:
        return StoreFailed(Code.NO_SPACE, f"there is no room left in the workspace {workspace}")
    if fault.errno in _NOT_WHAT_IT_WAS:
        return StoreFailed(
            Code.SNAPSHOT_CORRUPT,
            f"the workspace {workspace} holds something else where a file or folder of its own was",
        )
    why = os.strerror(fault.errno or 0)
    return StoreFailed(
        Code.STORE_UNAVAILABLE,
        f"the workspace {workspace} cannot be used: {why}; mend that, or name another with --workspace",
    )


def enter_workspace(workspace: Path) -> int:
    """A descriptor of the workspace, made unless something stands there; its parents as private as a home.

    The workspace is named by a person and may be a link; nothing below it is ever followed. Raises OSError.
    """
    if not os.path.lexists(workspace):
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(workspace, _TOP)


def enter_folder(name: str, mode: int, *, within: int) -> int:
    """A descriptor of a folder, made with this mode unless something stands there. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=within)
    return open_folder(name, within=within)


def enter_private(name: str, *, within: int) -> int:
    """As `enter_folder`, and it is closed to others, also where it was open to them.

    Raises: OSError; StoreFailed STORE_UNAVAILABLE where it is somebody else's, so that we cannot close it.
    """
    descriptor = enter_folder(name, 0o700, within=within)
    is_closed = False
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
        is_closed = True
    except PermissionError as fault:
        raise StoreFailed(
            Code.STORE_UNAVAILABLE,
            f"the folder {name} of the workspace is open to others and belongs to somebody else; "
            "take it over, or name another workspace with --workspace",
        ) from fault
    finally:
        if not is_closed:
            os.close(descriptor)
    return descriptor


def open_below(workspace: Path, *names: str) -> int:
    """A descriptor of the folder that the names lead to, of which none is followed if it is a link.

    Raises: OSError.
    """
    descriptor = os.open(workspace, _TOP)
    for name in names:
        above = descriptor
        try:
            descriptor = open_folder(name, within=above)
        finally:
            os.close(above)
    return descriptor


def open_folder(name: str | Path, *, within: int | None = None) -> int:
    """A descriptor of the folder itself, never of what a link points to. Raises OSError."""
    return os.open(name, _FOLDER, dir_fd=within)


def make_file(name: str, mode: int, *, within: int, flags: int = os.O_WRONLY) -> int:
    """A descriptor of an empty file of our own, in place of whatever a dead process or somebody left there.

    What stood there is taken away and never opened: it may be a pipe that waits, or another name of a file
    that lies elsewhere. Raises: OSError, also where it is a folder.
    """
    try:
        return os.open(name, flags | _NEW, mode, dir_fd=within)
    except FileExistsError:
        os.unlink(name, dir_fd=within)
    return os.open(name, flags | _NEW, mode, dir_fd=within)


def write_file(
    staging: int, folder: int, name: str, pieces: Iterable[bytes], *, mode: int, is_synced: bool
) -> None:
    """The file, whole or not at all: written beside its place, then moved there.

    Shapes: `staging` is a folder of the same file system where a half-written file may lie for a moment.
    Raises: OSError; then nothing is left of it.
    """
    partial = f".partial-{name}"
    descriptor = make_file(partial, mode, within=staging)
    is_moved = False
    try:
        try:
            _write_all(descriptor, pieces)
            if is_synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(partial, name, src_dir_fd=staging, dst_dir_fd=folder)
        is_moved = True
    finally:
        if not is_moved:
            os.unlink(partial, dir_fd=staging)
    if is_synced:
        os.fsync(folder)


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        if len(buffer) >= 1 << 16:
            _drain(descriptor, buffer)
    _drain(descriptor, buffer)


def _drain(descriptor: int, buffer: bytearray) -> None:
    while buffer:
        del buffer[: os.write(descriptor, buffer)]


def read_file(folder: int, name: str, *, max_bytes: int | None = None) -> bytes:
    """The file's bytes, or its first `max_bytes`.

    Raises: OSError; StoreFailed SNAPSHOT_CORRUPT when it is no regular file.
    """
    descriptor = os.open(name, _READ, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"{name} in the workspace is not a regular file")
        return stream.read() if max_bytes is None else stream.read(max_bytes)
