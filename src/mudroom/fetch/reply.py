"""What `submit` answers with: the head of an answer, and its body, whole or as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from mudroom.fetch.events import FetchEvent
from mudroom.fetch.result import ReplyHead
from mudroom.fetch.shared_body import BodyReader

__all__ = ["PEEK_BYTES", "Reply", "ReplySource", "ReplyTimings"]

PEEK_BYTES = 5 * 1024
"""What is read of a body before it is decided what to do with it: enough for every table of type sniffing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTimings:
    """Where the time of a request went, in seconds by the fetcher's clock.

    The first two are those of the exchange, which others may have begun before this request joined it.
    """

    waited_seconds: float
    """Waits of ours: for a slot, for the politeness that a host is due, for the caller's own checks."""
    headers_seconds: float
    """From its beginning to the headers of the final answer, waits and redirects included."""
    total_seconds: float | None
    """From `submit` to the last byte; None while the body is still coming."""


class ReplySource(Protocol):
    """What a reply asks about the exchange that it came from."""

    @property
    def request_id(self) -> str:
        """What this request is called."""
        ...

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far."""
        ...

    @property
    def timings(self) -> ReplyTimings:
        """Where the time went so far."""
        ...

    def tell(self, event: FetchEvent) -> None:
        """Have the request's observer hear of something."""
        ...

    def leave(self) -> None:
        """Want no more of it; the last one to leave ends the exchange. Twice does nothing."""
        ...


class Reply:
    """An answer of any status. Its head and its body are untrusted.

    Of a request with `is_streaming` the body is read once, by `chunks`, `tail` or `read`; whoever does not read it
    to its end closes the reply, best by `async with`. Of any other request `body` is all of it.
    """

    __slots__ = ("_body", "_reader", "_source", "head", "peek")

    def __init__(self, head: ReplyHead, source: ReplySource, body: bytes | BodyReader, peek: bytes) -> None:
        self.head = head
        self.peek = peek
        """The beginning of the body, at most 5 KiB; shorter only where the body is."""
        self._source = source
        self._body = body if isinstance(body, bytes) else None
        self._reader = None if isinstance(body, bytes) else body

    @property
    def status(self) -> int:
        """The status code of the final answer."""
        return self.head.status

    @property
    def is_streaming(self) -> bool:
        """Whether the body is read as it comes."""
        return self._body is None

    @property
    def request_id(self) -> str:
        """What this request is called: the caller's word, or one made for it."""
        return self._source.request_id

    @property
    def timings(self) -> ReplyTimings:
        """Where the time went so far."""
        return self._source.timings

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far, those of redirects included."""
        return self._source.wire_bytes

    @property
    def body(self) -> bytes:
        """The whole body. Raises: RuntimeError for a reply that is streamed, which is read by `read`."""
        if self._body is None:
            raise RuntimeError("this reply is streamed: `await reply.read()` gives its body")
        return self._body

    def chunks(self) -> AsyncIterator[bytes]:
        """The body from its beginning, the peek included, as it comes.

        Raises, from the iterator: FetchFailed, CONSUMER_LAGGED included; ContentRefused. A clean end is the end of the
        body and nothing else.
        """
        return self._read(self.peek)

    def tail(self) -> AsyncIterator[bytes]:
        """The body behind the peek, without a gap. Raises as `chunks` does."""
        return self._read(b"")

    async def read(self) -> bytes:
        """The whole body. Raises as `chunks` does."""
        if self._body is not None:
            return self._body
        return b"".join([chunk async for chunk in self.chunks()])

    def close(self) -> None:
        """Read no more of it, at once; whoever reads it in another task gets CANCELLED."""
        self._source.leave()

    def tell(self, event: FetchEvent) -> None:
        """Have the request's observer hear of something; after the end of its request it hears nothing more."""
        self._source.tell(event)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, first: bytes) -> AsyncIterator[bytes]:
        if self._body is not None:
            return _give(self._body if first else self._body[len(self.peek) :])
        reader, self._reader = self._reader, None
        if reader is None:
            raise RuntimeError("the body of a streamed reply is read once")
        if first:
            reader.put_back(first)
        return reader


async def _give(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body
