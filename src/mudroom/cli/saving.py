"""Where downloaded bytes go: to standard output, to a device or pipe, or to a file that appears when whole."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from mudroom.errors import Code, StoreFailed
from mudroom.fetch import FileSink, fail_to_write

__all__ = ["Destination", "FileDestination", "StreamDestination"]

# Not blocking: a reader that is slow, or not there yet, must not keep Ctrl-C from being heard.
_THROUGH = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_READER_PAUSE_SECONDS = 0.05


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
        size = 0
        async for chunk in chunks:
            sys.stdout.buffer.write(chunk)
            size += len(chunk)
        sys.stdout.buffer.flush()
        return size


class FileDestination:
    """A file, written under a temporary name beside its own and then moved; or what no file may replace."""

    def __init__(self, target: Path, *, is_named: bool = True) -> None:
        """Shapes: only a target that a person named may be a device or pipe, not one named after a URL."""
        self.target = target
        self._is_named = is_named
        self.name = str(target)
        self.path: str | None = str(target)

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """The body under its name, or nothing at all; a link at its name is replaced, not followed.

        Except for devices and pipes, which are written as the body comes and stay what they are.
        """
        if self.leads_through():
            return await self._pass_through(chunks)
        return await FileSink(self.target).take(chunks)

    def leads_through(self) -> bool:
        """Whether a device or pipe has this name, itself or behind a link.

        Raises StoreFailed where a file of this name cannot come to be, before the body is read.
        """
        try:
            mode = os.lstat(self.target).st_mode
            if stat.S_ISLNK(mode):
                mode = self.target.stat().st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise fail_to_write(self.target, error) from error
        if stat.S_ISDIR(mode):
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"{self.target} is a folder; name a file in it")
        if stat.S_ISSOCK(mode):
            raise StoreFailed(
                Code.STORE_UNAVAILABLE, f"{self.target} is a socket; name a file, or pipe -o - into it"
            )
        if not stat.S_ISREG(mode) and not self._is_named:
            raise StoreFailed(
                Code.STORE_UNAVAILABLE,
                f"{self.target} is a device or pipe here; remove it, or name it yourself with -o",
            )
        return not stat.S_ISREG(mode) or _names_what_is_open(self.target)

    async def _pass_through(self, chunks: AsyncIterator[bytes]) -> int:
        """The bytes as they come; what was written of a body that breaks off cannot be taken back."""
        size = 0
        try:
            descriptor = await _open_through(self.target)
            try:
                if os.isatty(descriptor):
                    raise StoreFailed(
                        Code.STORE_UNAVAILABLE,
                        f"{self.target} is a terminal, which would obey what stands in the bytes; name a file",
                    )
                async for chunk in chunks:
                    await _write_all(descriptor, chunk)
                    size += len(chunk)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise fail_to_write(self.target, error) from error
        return size


def _names_what_is_open(target: Path) -> bool:
    """Whether the name is one of those that the system gives to open files, as /dev/stdout is."""
    parent = Path(os.path.realpath(target.parent))
    return parent == Path("/dev") or parent.parts[:2] == ("/", "proc")


async def _open_through(target: Path) -> int:
    """A descriptor of a device, or of a pipe once somebody reads it. Raises OSError."""
    while True:
        try:
            return os.open(target, _THROUGH)
        except OSError as error:
            if error.errno != errno.ENXIO or not _is_pipe(target):
                raise
        await asyncio.sleep(_READER_PAUSE_SECONDS)


def _is_pipe(target: Path) -> bool:
    return stat.S_ISFIFO(target.stat().st_mode)


async def _write_all(descriptor: int, data: bytes) -> None:
    """All of the data, at the pace of whoever reads it. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            await _until_writable(descriptor)


async def _until_writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    is_writable = asyncio.Event()
    loop.add_writer(descriptor, is_writable.set)
    try:
        await is_writable.wait()
    finally:
        loop.remove_writer(descriptor)
