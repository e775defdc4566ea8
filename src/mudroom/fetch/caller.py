"""One `submit`: what its caller waits for, what he is told, and his own end."""

from __future__ import annotations

import asyncio
from typing import Protocol
from uuid import uuid4

from mudroom.errors import Code, FetchFailed, MudroomError
from mudroom.fetch.chain import Chain
from mudroom.fetch.events import CancelledEvent, EventSink, FailedEvent, FetchEvent, FinishedEvent
from mudroom.fetch.failures import renew
from mudroom.fetch.reply import Reply, ReplyTimings
from mudroom.fetch.request import FetchRequest
from mudroom.fetch.result import ReplyHead
from mudroom.fetch.shared_body import BodyReader

__all__ = ["Caller", "CallersExchange", "describe_end"]


class CallersExchange(Protocol):
    """The exchange as one of its callers sees it."""

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far."""
        ...

    def timings(self, asked_at: float) -> ReplyTimings:
        """Where the time went, for a caller who asked then."""
        ...

    def remove(self, caller: Caller) -> None:
        """Go on without him, or end where he was the last."""
        ...


class Caller:
    """Who asked, from `submit` until his answer is complete, has failed, or is wanted no more.

    Each has a deadline, an observer and an end of his own, whoever shares the exchange with him.
    """

    __slots__ = (
        "_asked_at",
        "_exchange",
        "_host",
        "_request_id",
        "_timer",
        "is_ended",
        "is_streaming",
        "outcome",
        "priority",
        "reader",
        "requested_url",
        "upgrades",
        "watch",
    )

    def __init__(
        self,
        exchange: CallersExchange,
        request: FetchRequest,
        chain: Chain,
        *,
        watch: EventSink | None,
        asked_at: float,
    ) -> None:
        self.is_streaming = request.is_streaming
        self.priority = request.priority
        self.outcome: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.reader: BodyReader | None = None
        self.watch = watch
        self.is_ended = False
        self._exchange = exchange
        self._host = chain.current.url.host
        self.requested_url = chain.requested_url
        self.upgrades = tuple(chain.hops)
        self._asked_at = asked_at
        self._request_id = request.request_id
        self._timer: asyncio.TimerHandle | None = None

    @property
    def request_id(self) -> str:
        """What his request is called."""
        if not self._request_id:
            self._request_id = uuid4().hex
        return self._request_id

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far."""
        return self._exchange.wire_bytes

    @property
    def timings(self) -> ReplyTimings:
        """Where the time went so far."""
        return self._exchange.timings(self._asked_at)

    def expire_at(self, moment: float) -> None:
        """Have him fail when the event loop's time comes to this."""
        error = FetchFailed(
            Code.DEADLINE_EXCEEDED, f"the request to {self._host} was not done by its deadline"
        )
        self._timer = asyncio.get_running_loop().call_at(moment, self.fail, error)

    async def answer(self) -> Reply:
        """What he asked for. Raises: what ended it; a caller who is cancelled returns at once."""
        try:
            return await self.outcome
        except BaseException:
            self.leave()
            raise

    def deliver(self, head: ReplyHead, body: bytes | BodyReader, peek: bytes) -> None:
        """Give him his answer, if he still waits for it."""
        if not self.outcome.done():
            self.outcome.set_result(Reply(head, self, body, peek))

    def tell(self, event: FetchEvent) -> None:
        """Have his observer hear of something that is not his end."""
        if self.watch is not None and not self.is_ended:
            self.watch.tell(event)

    def leave(self) -> None:
        """Want no more of it. Twice, or after its end, does nothing."""
        if self.reader is not None:
            self.reader.close()
        self.end(CancelledEvent())

    def fail(self, error: BaseException) -> None:
        """End him alone, at once, whatever of his body is still unread."""
        if self.is_ended:
            return
        if self.reader is not None:
            self.reader.close()
            self.reader.cut_off(error)
        self.refuse(error)
        self.end(describe_end(error))

    def refuse(self, error: BaseException) -> None:
        """Raise an error of his own where he waits, if he still does."""
        if not self.outcome.done():
            self.outcome.set_exception(renew(error))

    def end(self, event: FetchEvent | None) -> None:
        """Have him told of his end, once, and let the exchange go on without him."""
        if self.is_ended:
            return
        self.is_ended = True
        if self._timer is not None:
            self._timer.cancel()
        if self.watch is not None and event is not None:
            self.watch.tell(event)
        self._exchange.remove(self)

    def complete(self, received_bytes: int) -> None:
        """Have him told that all of it came."""
        if self.watch is None:
            self.end(None)
            return
        seconds = self.timings.total_seconds or 0.0
        self.end(FinishedEvent(received_bytes=received_bytes, duration_seconds=seconds))


def describe_end(error: BaseException) -> FailedEvent | CancelledEvent:
    """An end as observers hear of it; of an error that is not ours only the type, since its text may be anything."""
    if isinstance(error, asyncio.CancelledError):
        return CancelledEvent()
    if isinstance(error, MudroomError):
        return FailedEvent(code=error.code, message=error.message)
    return FailedEvent(code=Code.INTERNAL_ERROR, message=type(error).__name__)
