"""A request's body on its way out: what its source has given and libcurl has not taken yet.

    source ──task──▶ waiting chunks ──READFUNCTION──▶ libcurl
           at most one chunk beyond 64 KiB waits; an empty queue pauses the transfer, the next chunk resumes it

Where a length was declared, the chunk that completes it is held back until the source has ended, so that a body
that is not as long as it says never goes out whole.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from mudroom.errors import Code, FetchFailed
from mudroom.net.transport import UploadBody

__all__ = ["Upload"]

_MAX_WAITING_BYTES = 64 * 1024


class Upload:
    """One sending of a body. `wake` is called, on the loop, when there is something to take again."""

    __slots__ = (
        "_body",
        "_has_ended",
        "_room",
        "_task",
        "_waiting",
        "_waiting_bytes",
        "_wake",
        "failure",
        "is_starved",
    )

    def __init__(self, body: UploadBody, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._body = body
        self._wake = wake
        self.failure: BaseException | None = None
        """What the source raised, or that it was not as long as it said."""
        self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._has_ended = False
        self._room = asyncio.Event()
        self.is_starved = False
        """Whether libcurl waits for the source, which is nobody's idle time."""
        self._task = loop.create_task(self._pump())
        self._task.add_done_callback(self._on_ended)

    @property
    def is_sent(self) -> bool:
        """Whether all was taken."""
        return self._has_ended and not self._waiting

    def take(self, size: int) -> bytes | None:
        """Up to `size` bytes; empty at the end, None when there are none yet or something failed."""
        if self.failure is not None:
            return None
        if not self._waiting:
            self.is_starved = not self._has_ended
            return None if self.is_starved else b""
        self.is_starved = False
        chunk = self._waiting.popleft()
        if len(chunk) > size:
            self._waiting.appendleft(chunk[size:])
            chunk = chunk[:size]
        self._waiting_bytes -= len(chunk)
        if self._waiting_bytes < _MAX_WAITING_BYTES:
            self._room.set()
        return bytes(chunk)

    def restart(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin anew, for another connection."""
        self.close()
        self._begin(loop)

    def close(self) -> None:
        """Ask the source for nothing more. Twice does nothing."""
        self._task.remove_done_callback(self._on_ended)
        self._task.cancel()

    async def _pump(self) -> None:
        source = self._body.open()
        try:
            held = await self._put_all(source, self._body.length)
        finally:
            if isinstance(source, AsyncGenerator):
                await source.aclose()
        if held:
            await self._put(held)

    async def _put_all(self, source: AsyncIterator[bytes], length: int | None) -> bytes:
        """Hand on what comes; gives the chunk that completed the length."""
        given, held = 0, b""
        async for chunk in source:
            given += len(chunk)
            if length is not None and given > length:
                raise _wrong_length("longer")
            if given == length:
                held = held or bytes(chunk)
            elif chunk:
                await self._put(bytes(chunk))
        if length is not None and given < length:
            raise _wrong_length("shorter")
        return held

    async def _put(self, chunk: bytes) -> None:
        while self._waiting_bytes >= _MAX_WAITING_BYTES:
            self._room.clear()
            await self._room.wait()
        self._waiting.append(memoryview(chunk))
        self._waiting_bytes += len(chunk)
        if self.is_starved:
            self._wake()

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # by its source: who closes it takes this call away
            self.failure = FetchFailed(Code.CANCELLED, "the source of the request's body was cancelled")
        else:
            self.failure = task.exception()
        self._has_ended = True
        self._wake()


def _wrong_length(how: str) -> FetchFailed:
    return FetchFailed(Code.INVALID_HEADER, f"the request's body is {how} than the length declared for it")
