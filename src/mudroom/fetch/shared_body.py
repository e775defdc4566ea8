"""One body for many consumers: each gets every byte or a named error, and none holds up the others.

                 ┌─▶ queue of 32 chunks ─▶ reader
    push ─▶ body ┼─▶ queue of 32 chunks ─▶ reader
                 └─▶ queue of 32 chunks ─▶ reader

The rule of lag: where a queue is full, the producer waits, and so does the peer. As soon as another reader has
read all that it was given and asks for more, those whose queues stay full have lagged: they end with
CONSUMER_LAGGED, and the others go on. So a consumer that is alone is never dropped, several that are all slow
wait for each other, and whatever a consumer does, no more than its queue is kept for it.

Chunks are handed on, not copied: three readers of one body hold it once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from mudroom.errors import Code, FetchFailed
from mudroom.fetch.failures import renew

__all__ = ["QUEUE_CHUNKS", "BodyReader", "SharedBody"]

QUEUE_CHUNKS = 32
_TURNS = 8
"""How often the event loop goes round before a full queue counts as lag: enough for a reader of several tasks."""


class BodyReader:
    """The body as one consumer reads it: an asynchronous iterator, for one task at a time."""

    __slots__ = ("_body", "_end", "_queue", "_waiter", "holds_up", "is_ended", "on_lag")

    def __init__(
        self,
        body: SharedBody,
        first: Iterable[bytes],
        *,
        holds_up: bool,
        on_lag: Callable[[FetchFailed], None] | None,
    ) -> None:
        self._body = body
        self._queue = deque(first)
        self._waiter: asyncio.Future[None] | None = None
        self._end: BaseException | None = None
        self.is_ended = False
        """Whether nothing will be added any more; what waits may still be read."""
        self.holds_up = holds_up
        """Whether everybody waits for this reader, so that it never lags."""
        self.on_lag = on_lag

    @property
    def is_waiting(self) -> bool:
        """Whether it has read all that it was given, and somebody asks for more."""
        return self._waiter is not None and not self._queue

    @property
    def has_failed(self) -> bool:
        """Whether it ends, or has ended, with an error: the body's, its own lag, or that it was closed."""
        return self._end is not None

    @property
    def waiting_chunks(self) -> int:
        """How many chunks wait to be read."""
        return len(self._queue)

    def __aiter__(self) -> BodyReader:
        return self

    async def __anext__(self) -> bytes:
        """The next chunk. Raises: what ended the body early, as an error of this reader's own."""
        while not self._queue and not self.is_ended:
            await self._wait()
        if self._queue:
            chunk = self._queue.popleft()
            self._body.tell_change()
            return chunk
        if self._end is None:
            raise StopAsyncIteration
        raise renew(self._end)

    def put_back(self, chunk: bytes) -> None:
        """Have this read next."""
        self._queue.appendleft(chunk)

    def close(self) -> None:
        """Read no more, at once; whoever still asks gets CANCELLED, not a clean end."""
        self._body.remove(self)
        if not self.is_ended or self._queue:
            self.cut_off(FetchFailed(Code.CANCELLED, "the body was closed before its end"))

    def put(self, chunk: bytes) -> None:
        """Give it a chunk."""
        self._queue.append(chunk)
        self._wake()

    def end(self, error: BaseException | None) -> None:
        """Nothing comes behind what waits: the body is complete, or ends with this error."""
        if not self.is_ended:
            self.is_ended = True
            self._end = error
            self._wake()

    def cut_off(self, error: BaseException) -> None:
        """Forget what waits and end with this error, full queue or not."""
        self._queue.clear()
        self.is_ended = True
        self._end = error
        self._wake()

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("a body is read by one task at a time; subscribe once for each")
        self._waiter = asyncio.get_running_loop().create_future()
        self._body.tell_change()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class SharedBody:
    """Where one producer pushes and any number of readers read; for one event loop."""

    __slots__ = (
        "_change",
        "_end",
        "_is_begun",
        "_is_ended",
        "_name",
        "_queue_chunks",
        "_readers",
        "is_urgent",
    )

    def __init__(self, name: str, *, queue_chunks: int = QUEUE_CHUNKS) -> None:
        self._name = name
        """Whose body it is, for messages."""
        self._queue_chunks = queue_chunks
        self._readers: list[BodyReader] = []
        self._change: asyncio.Future[None] | None = None
        self._end: BaseException | None = None
        self._is_begun = False
        self._is_ended = False
        self.is_urgent = False
        """Whether somebody beside the readers always wants more: the producer waits for no reader."""

    @property
    def reader_count(self) -> int:
        """How many still read."""
        return len(self._readers)

    @property
    def is_too_late(self) -> bool:
        """Whether a byte has been given out that a new reader would miss."""
        return self._is_begun

    def subscribe(
        self,
        *,
        first: Iterable[bytes] = (),
        holds_up: bool = False,
        on_lag: Callable[[FetchFailed], None] | None = None,
    ) -> BodyReader:
        """A reader of the whole body; `first` comes before what is pushed.

        After a body that failed it gets that failure.
        Raises: RuntimeError after the first byte of a body that did not fail, since that byte would be missing.
        """
        reader = BodyReader(self, first, holds_up=holds_up, on_lag=on_lag)
        if self._end is not None:
            reader.cut_off(self._end)
        elif self._is_begun:
            raise RuntimeError("too late: a byte was given out that this reader would miss")
        elif self._is_ended:
            reader.end(None)
        else:
            self._readers.append(reader)
        return reader

    def remove(self, reader: BodyReader) -> None:
        """Give a reader nothing more."""
        if reader in self._readers:
            self._readers.remove(reader)
            self.tell_change()

    async def push(self, chunk: bytes) -> None:
        """Give every reader a chunk, as soon as none of those who may not be dropped is in the way."""
        self._is_begun = True
        limit = self._queue_chunks
        for reader in self._readers:
            if reader.waiting_chunks >= limit:
                await self._make_room()
                break
        if not self._is_ended:
            for reader in self._readers:
                reader.put(chunk)

    def finish(self) -> None:
        """That was all of it. Nothing after an end."""
        self._close(None)

    def fail(self, error: BaseException) -> None:
        """It ends here, and not well; who is behind reads on to the end of what came. Nothing after an end."""
        if not self._is_ended:
            self._end = error
            self._close(error)

    def tell_change(self) -> None:
        """A reader took a chunk, asks for more or has left."""
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def set_urgent(self, *, is_urgent: bool) -> None:
        """Say whether somebody beside the readers always wants more."""
        self.is_urgent = is_urgent
        self.tell_change()

    async def _make_room(self) -> None:
        while not self._is_ended:
            full = [reader for reader in self._readers if reader.waiting_chunks >= self._queue_chunks]
            if not full:
                return
            if any(reader.holds_up for reader in full) or not self._is_more_wanted():
                await self._wait_for_change()
            elif not await self._has_moved(full) and self._is_more_wanted():
                for reader in full:
                    self._drop(reader)

    async def _has_moved(self, readers: list[BodyReader]) -> bool:
        """Whether one of them takes a chunk as soon as the event loop lets it.

        Why: a producer whose bytes are all here already runs on and on; those who read had no turn yet.
        """
        for _ in range(_TURNS):
            await asyncio.sleep(0)
            if any(reader.waiting_chunks < self._queue_chunks for reader in readers):
                return True
        return False

    def _is_more_wanted(self) -> bool:
        return self.is_urgent or any(reader.is_waiting for reader in self._readers)

    def _drop(self, reader: BodyReader) -> None:
        if reader not in self._readers:
            return  # closed while it was given its last turns
        self._readers.remove(reader)
        error = FetchFailed(
            Code.CONSUMER_LAGGED,
            f"a consumer of {self._name} fell {reader.waiting_chunks} chunks behind others who share it",
        )
        reader.cut_off(error)
        if reader.on_lag is not None:
            reader.on_lag(error)

    async def _wait_for_change(self) -> None:
        self._change = asyncio.get_running_loop().create_future()
        try:
            await self._change
        finally:
            self._change = None

    def _close(self, error: BaseException | None) -> None:
        self._is_ended = True
        readers, self._readers = self._readers, []
        for reader in readers:
            reader.end(error)
        self.tell_change()
