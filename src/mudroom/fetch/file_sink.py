"""A file that appears when it is whole: written under a temporary name beside its own, then moved.

    take ──▶ .name.XXXX.part ──clean end──▶ name
                    └── anything else ──▶ removed

The disk works in a thread, one call at a time, so that a slow one holds up nobody's transfer but this one's; and no
call is left running when `take` returns, cancelled or not: otherwise a temporary file could outlive it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from mudroom.errors import Code, StoreFailed

__all__ = ["FileSink", "fail_to_write", "put_in_place", "read_mask"]

_BATCH_BYTES = 512 * 1024
"""What is gathered before a thread is asked to write it, which costs about 50 microseconds."""
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MAX_NAME_BYTES = 100
_MASKING = threading.Lock()
"""The mask of a process can be read only by setting it: two threads at that would leave it as neither found it."""

Done = TypeVar("Done")


class FileSink:
    """Where a body goes: a regular file of this name; one that is there already is replaced at the end."""

    def __init__(self, target: Path) -> None:
        self._target = target

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """How many bytes the file has. Raises: StoreFailed; and what `chunks` raises; then there is no file."""
        writing = _Writing(self._target)
        try:
            await _in_thread(writing.open)
            size = await _copy(chunks, writing)
            await _in_thread(writing.move)
        except OSError as error:
            raise fail_to_write(self._target, error) from error
        finally:
            await _in_thread(writing.discard)
        return size


class _Writing:
    """A temporary file, from its beginning to its move or removal; each method blocks."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._file: IO[bytes] | None = None

    def open(self) -> None:
        """Begin it in the folder of its target, since a name can only be moved within a file system."""
        beginning = os.fsdecode(os.fsencode(self._target.name)[:_MAX_NAME_BYTES])
        self._file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by `move` or `discard`
            prefix=f".{beginning}.",
            suffix=".part",
            dir=self._target.parent,
            delete=False,
        )

    def write(self, batch: list[bytes]) -> None:
        """Append some chunks."""
        if self._file is not None:
            self._file.writelines(batch)

    def move(self) -> None:
        """Give it its name."""
        if self._file is not None:
            self._file.flush()
            put_in_place(self._file.fileno(), Path(self._file.name), self._target)
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Leave nothing, unless it was moved."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()  # what it could not write any more is wanted no more
            with suppress(FileNotFoundError):
                Path(self._file.name).unlink()
            self._file = None


async def _copy(chunks: AsyncIterator[bytes], writing: _Writing) -> int:
    size, gathered = 0, 0
    batch: list[bytes] = []
    async for chunk in chunks:
        batch.append(chunk)
        size += len(chunk)
        gathered += len(chunk)
        if gathered >= _BATCH_BYTES:
            full, batch, gathered = batch, [], 0
            await _in_thread(partial(writing.write, full))
    if batch:
        await _in_thread(partial(writing.write, batch))
    return size


async def _in_thread(call: Callable[[], Done]) -> Done:
    """What a call gives; a caller who is cancelled goes on to be cancelled, but not before it has returned."""
    running = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # the cancellation is what is told
        raise


def put_in_place(descriptor: int, temporary: Path, target: Path) -> None:
    """The whole file at its name, with the mode that a file of this user has; temporary ones are closed to others.

    Shapes: `descriptor` is the temporary file's. In a folder that others write to, something else may stand under
        its name by now: a link, whose target would be opened to everybody.
    Raises: OSError.
    """
    if not os.path.samestat(os.fstat(descriptor), temporary.lstat()):
        raise OSError(errno.ESTALE, "another file has taken the place of its temporary one")
    os.fchmod(descriptor, 0o666 & ~read_mask())
    temporary.replace(target)


def read_mask() -> int:
    """What this process takes away from the mode of new files; may be asked by several threads at once."""
    with _MASKING:
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def fail_to_write(target: Path, error: OSError) -> StoreFailed:
    """The failure of ours that a system's error becomes."""
    code = Code.NO_SPACE if error.errno in _NO_SPACE else Code.STORE_UNAVAILABLE
    return StoreFailed(code, f"{target} could not be written: {(error.strerror or 'unknown').lower()}")
