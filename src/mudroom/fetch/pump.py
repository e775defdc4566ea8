"""A streamed reply carried to a file and to any number of consumers at once.

reply ─▶ pump ┬─▶ file: a temporary name, moved at a clean end; everybody waits for it
              └─▶ consumers: a queue each; who falls behind gets CONSUMER_LAGGED, the others go on

the transfer fails    every consumer gets that error, no file remains, `run` raises it
the file fails        with a consumer that still reads: the transfer goes on, an Io event tells of it, and so does
                      the result; without: nobody wants the bytes any more, and `run` raises it
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from mudroom.errors import Code, FetchFailed, MudroomError, StoreFailed
from mudroom.fetch.events import IoEvent
from mudroom.fetch.failures import renew
from mudroom.fetch.reply import Reply
from mudroom.fetch.shared_body import BodyReader, SharedBody

__all__ = ["Pump", "Pumped", "Sink"]


class Sink(Protocol):
    """Where a body is kept, whole or not at all."""

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        """How many bytes it took. Raises: StoreFailed; and what `chunks` raises, with nothing kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pumped:
    """What became of a body that came to its end."""

    size_bytes: int
    is_kept: bool
    """Whether the file is there."""
    failure: StoreFailed | None
    """Why it is not, where there should have been one."""


class Pump:
    """Runs once. Consumers subscribe before it does."""

    def __init__(self, reply: Reply, sink: Sink | None = None) -> None:
        self._reply = reply
        self._sink = sink
        self._body = SharedBody(f"the answer of {reply.head.final.host}")
        self._to_file = None if sink is None else self._body.subscribe(holds_up=True)
        self._consumers: list[BodyReader] = []
        self._failure: StoreFailed | None = None

    def subscribe(self) -> BodyReader:
        """The whole body, for one more consumer. Raises: RuntimeError when the first byte has gone by."""
        reader = self._body.subscribe()
        self._consumers.append(reader)
        return reader

    async def run(self) -> Pumped:
        """Carry the body to its end. The reply is closed then, however it ends.

        Raises: FetchFailed, ContentRefused as reading the reply does; FetchFailed CANCELLED when everybody has left;
        StoreFailed when the file failed and nobody else reads. Then no file is there, nor a part of one.
        """
        writing = asyncio.create_task(self._write())
        try:
            size_bytes = await self._carry()
        except BaseException as error:
            is_known = isinstance(error, MudroomError)
            self._body.fail(error if is_known else FetchFailed(Code.CANCELLED, "the body was given up"))
            raise
        else:
            self._body.finish()
        finally:
            await _end(writing)
        writing.result()
        if self._failure is not None and not self._has_consumers:
            raise self._failure
        is_kept = self._sink is not None and self._failure is None
        return Pumped(size_bytes=size_bytes, is_kept=is_kept, failure=self._failure)

    async def _carry(self) -> int:
        size_bytes = 0
        async with self._reply:
            try:
                async for chunk in self._reply.chunks():
                    await self._body.push(chunk)
                    size_bytes += len(chunk)
                    if not self._body.reader_count:
                        self._reply.close()
            except FetchFailed:
                if self._failure is not None and not self._has_consumers:
                    raise renew(self._failure) from None
                raise
        return size_bytes

    async def _write(self) -> None:
        if self._sink is None or self._to_file is None:
            return
        try:
            await self._sink.take(self._to_file)
        except StoreFailed as error:
            self._failure = error
            if self._has_consumers:
                self._reply.tell(IoEvent(error.message))
            else:
                self._reply.close()
        except MudroomError:
            return  # of the body: `run` raises it
        finally:
            self._to_file.close()

    @property
    def _has_consumers(self) -> bool:
        """Whether anybody beside the file reads, or has read all of it."""
        return any(not reader.has_failed for reader in self._consumers)


async def _end(writing: asyncio.Task[None]) -> None:
    """Wait for the file; whoever is cancelled goes on to be cancelled, but leaves nobody behind who still writes."""
    is_cancelled = False
    while not writing.done():
        try:
            await asyncio.wait([writing])
        except asyncio.CancelledError:
            is_cancelled = True
            writing.cancel()
    if is_cancelled:
        raise asyncio.CancelledError
