"""Standard input as lines read on the event loop, so that whoever waits for one can be cancelled.

The SDK reads standard input on a thread, which nothing can interrupt: a server told to stop would wait for the
client's next line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

__all__ = ["InputLines", "claim_input"]

_CHUNK_BYTES = 64 * 1024
_MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer message is no call of any tool; the session ends there."""


class InputLines:
    """Lines of UTF-8 from a descriptor that can be waited for; ends with it, or with a line too long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._searched = 0

    def __aiter__(self) -> Self:
        """These lines."""
        return self

    async def __anext__(self) -> str:
        """The next line, its end included."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            chunk = await self._read_some()
            if not chunk or self._searched > _MAX_LINE_BYTES:
                raise StopAsyncIteration
            self._buffer += chunk
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        self._searched = 0
        return line.decode("utf-8", "replace")

    async def _read_some(self) -> bytes:
        loop = asyncio.get_running_loop()
        is_ready = asyncio.Event()
        loop.add_reader(self._descriptor, is_ready.set)
        try:
            await is_ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, _CHUNK_BYTES)


@contextmanager
def claim_input() -> Iterator[InputLines | None]:
    """Standard input for the protocol alone: descriptor 0 is empty for everything else meanwhile.

    None where it cannot be waited for (a regular file), which needs no interrupting.
    """
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        if not _can_be_waited_for(own):
            yield None
            return
        os.dup2(nothing, 0)
        try:
            yield InputLines(own)
        finally:
            os.dup2(own, 0)
    finally:
        os.close(nothing)
        os.close(own)


def _can_be_waited_for(descriptor: int) -> bool:
    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(descriptor, lambda: None)
    except PermissionError:  # epoll takes no regular files
        return False
    loop.remove_reader(descriptor)
    return True
