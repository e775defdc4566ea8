"""Where downloaded bytes go: to standard output, or to a file that appears only when it is whole."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from mudroom.errors import Code, StoreFailed

__all__ = ["Destination", "FileDestination", "StreamDestination"]

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Destination(Protocol):
    """Takes a body, whole or not at all."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        ...

    @property
    def path(self) -> str | None:
        """Where it lies on disk; None where it does not."""
        ...

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """How many bytes it took. Raises StoreFailed."""
        ...


class StreamDestination:
    """Standard output."""

    name = "standard output"
    path: str | None = None

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """The bytes as they come; what was written of a body that breaks off cannot be taken back."""
        size = await _copy(chunks, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        return size


class FileDestination:
    """A file, written under a temporary name beside its own and then moved."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.name = str(target)
        self.path: str | None = str(target)

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """The body under its name, or nothing at all; a link at its name is replaced, not followed.

        Writing blocks the loop for as long as the page cache takes; here nothing else waits on it.
        """
        self._check_name()
        temporary = self._open_temporary()
        try:
            with temporary:
                size = await _copy(chunks, temporary.write)
            _put(temporary.name, self._target)
        except OSError as error:
            raise _fail(self._target, error) from error
        finally:
            _remove(temporary.name)
        return size

    def _check_name(self) -> None:
        """Raises StoreFailed where a file of this name cannot come to be, before the body is read."""
        try:
            status = os.lstat(self._target)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _fail(self._target, error) from error
        if stat.S_ISDIR(status.st_mode):
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"{self._target} is a folder; name a file in it")
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            # Moving a file there would put it in the place of the device itself.
            what = "is a device or a pipe; write to it with -o - and a redirection"
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"{self._target} {what}")

    def _open_temporary(self) -> IO[bytes]:
        try:
            return tempfile.NamedTemporaryFile(
                prefix=f".{self._target.name[:100]}.", suffix=".part", dir=self._target.parent, delete=False
            )
        except OSError as error:
            raise _fail(self._target, error) from error


def _fail(target: Path, error: OSError) -> StoreFailed:
    code = Code.NO_SPACE if error.errno in _NO_SPACE else Code.STORE_UNAVAILABLE
    return StoreFailed(code, f"{target} could not be written: {(error.strerror or 'unknown').lower()}")


def _put(temporary: str, target: Path) -> None:
    """The whole file at its name, with the mode that a file of this user has; temporary ones are closed to others."""
    mask = os.umask(0o077)
    os.umask(mask)
    Path(temporary).chmod(0o666 & ~mask)
    Path(temporary).replace(target)


def _remove(temporary: str) -> None:
    with suppress(FileNotFoundError):
        Path(temporary).unlink()


async def _copy(chunks: AsyncIterator[bytes], write: Callable[[bytes], object]) -> int:
    size = 0
    async for chunk in chunks:
        write(chunk)
        size += len(chunk)
    return size
