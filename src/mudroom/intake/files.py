"""A local file read once, by a descriptor that was judged: no link, folder, pipe or device."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from mudroom.errors import Code, FileRefused

__all__ = ["open_local_file", "read_local_file", "read_stream"]

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_REFUSALS = {
    errno.ENOENT: (Code.FILE_NOT_FOUND, "does not exist"),
    errno.ENOTDIR: (Code.FILE_NOT_FOUND, "does not exist"),
    errno.ELOOP: (Code.FILE_NOT_REGULAR, "is a symbolic link"),
    errno.EACCES: (Code.FILE_UNREADABLE, "may not be read by this user"),
    errno.EPERM: (Code.FILE_UNREADABLE, "may not be read by this user"),
    errno.ENXIO: (Code.FILE_NOT_REGULAR, "is a socket or a pipe without a reader"),
    errno.ENAMETOOLONG: (Code.FILE_NOT_FOUND, "has a name that is too long"),
}


def read_local_file(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, at most `max_bytes`.

    The file is opened without following a link and without waiting for a pipe's other end, and what was
    opened is judged, not the path: a file swapped in between is refused or read, never followed.
    Raises: FileRefused with FILE_NOT_FOUND, FILE_NOT_REGULAR, FILE_UNREADABLE or FILE_TOO_LARGE.
    """
    descriptor = _open(path)
    try:
        _check_regular(path, os.fstat(descriptor), max_bytes)
        body = _read_whole(descriptor, max_bytes + 1)
    except OSError as error:
        raise _refuse(path, error) from error
    finally:
        os.close(descriptor)
    if len(body) > max_bytes:
        raise _too_large(path, max_bytes)
    return body


def open_local_file(path: Path) -> BinaryIO:
    """A regular file to read from, opened and judged as `read_local_file` does, of any size.

    Raises: FileRefused with FILE_NOT_FOUND, FILE_NOT_REGULAR or FILE_UNREADABLE.
    """
    descriptor = _open(path)
    try:
        _check_regular(path, os.fstat(descriptor), sys.maxsize)
    except BaseException:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")  # noqa: PTH123 - the caller closes what was judged by its descriptor


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from error


def _read_whole(descriptor: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    left = max_bytes
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _check_regular(path: Path, status: os.stat_result, max_bytes: int) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise FileRefused(Code.FILE_NOT_REGULAR, f"{path.name or path} is {name}, not a file")
    if status.st_size > max_bytes:
        raise _too_large(path, max_bytes)


def _too_large(path: Path, max_bytes: int) -> FileRefused:
    return FileRefused(Code.FILE_TOO_LARGE, f"{path.name} is larger than {max_bytes:,} bytes")


def _refuse(path: Path, error: OSError | ValueError) -> FileRefused:
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        code, what = _REFUSALS[error.errno]
        return FileRefused(code, f"{path.name or path} {what}")
    if isinstance(error, ValueError):
        # What the system takes no path with.
        return FileRefused(Code.FILE_NOT_FOUND, f"{path.name or path} has a name that no file can have")
    return FileRefused(Code.FILE_UNREADABLE, f"{path.name or path} could not be read: {error.strerror}")


def read_stream(stream: BinaryIO, max_bytes: int) -> bytes:
    """What a stream such as standard input holds, at most `max_bytes`. Raises FileRefused."""
    try:
        body = stream.read(max_bytes + 1)
    except OSError as error:
        why = "is closed" if error.errno == errno.EBADF else f"could not be read: {error.strerror}"
        raise FileRefused(Code.FILE_UNREADABLE, f"standard input {why}") from error
    if len(body) > max_bytes:
        raise FileRefused(Code.FILE_TOO_LARGE, f"standard input holds more than {max_bytes:,} bytes")
    return body
