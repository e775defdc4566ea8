"""One exchange and all who share it, from the first caller to the last byte.

                      ┌───────────── joins: any caller ─────────────┐   joins: whole callers
    submit ──▶ REACHING ──headers──▶ PEEKING ──5 KiB, or the end──▶ COLLECTING ──end──▶ ENDED
                  │                     │              │ a caller streams                 ▲
                  │                     │              └──────▶ FLOWING ─────────────────┤
                  └── refused, failed, last caller left ────────────────────────────────┘
                                                               joins: TOO_LATE, an exchange of his own

REACHING   its slot is waited for, redirects are followed; nothing has been given to anybody
PEEKING    the beginning of the body is collected and kept, still for everybody
COLLECTING nobody streams: all of it is kept, and given out at the end, so that whole callers may still join
FLOWING    the peek was released: streaming callers read as it comes, whole callers get all of it at the end
ENDED      every caller has his answer or an error of his own; slot and socket are free

A body that is wholly here with its headers, and that nobody streams, passes PEEKING by.

The exchange is a task that belongs to no caller. So whoever is cancelled, the first one too, returns at once and
harms nobody; when the last has left, the task is cancelled, which closes the socket.
Nothing is awaited between the question whether a caller may join and his joining, nor between the last byte and
the callers' answers: the event loop cannot let anybody in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto, unique

from mudroom.errors import Code, FetchFailed, MudroomError
from mudroom.fetch.caller import Caller, describe_end
from mudroom.fetch.chain import Chain
from mudroom.fetch.events import EventSink, FetchEvent, ProgressEvent
from mudroom.fetch.reply import PEEK_BYTES, ReplyTimings
from mudroom.fetch.request import FetchRequest
from mudroom.fetch.result import ReplyHead
from mudroom.fetch.shared_body import SharedBody
from mudroom.fetch.visit import Visit
from mudroom.media import BodyDecoder
from mudroom.net import WireResponse

__all__ = ["ExchangeLimits", "Joining", "SharedExchange", "Walk"]

_PROGRESS_SECONDS = 0.1


@unique
class Joining(StrEnum):
    """What became of a caller who wanted to share an exchange."""

    JOINED = "JOINED"
    TOO_LATE = "TOO_LATE"
    """A byte that he would miss has been given out, or nobody waits for this exchange any more."""


class _Stage(Enum):
    REACHING = auto()
    PEEKING = auto()
    COLLECTING = auto()
    FLOWING = auto()
    ENDED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The part of a fetcher that exchanges are made of: what leads from a request to its answer."""

    start: Callable[[FetchRequest, EventSink | None], Awaitable[Chain]]
    """The request at its first URL, judged. Raises: EgressRefused, FetchFailed INVALID_HEADER."""
    reach: Callable[[FetchRequest, Chain], Awaitable[Visit]]
    """The final answer at its headers. Raises: as `Fetcher.fetch`."""
    describe: Callable[[Chain, WireResponse], ReplyHead]
    decoder: Callable[[FetchRequest, WireResponse, str], BodyDecoder]
    """What undoes the content codings of an answer of a host. Raises: ContentRefused."""
    decode: Callable[[FetchRequest, WireResponse, bytes, str], bytes]
    """A whole body without them. Raises: ContentRefused."""
    sign: Callable[[Chain, MudroomError], None]
    """Has a failure tell of the hops before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLimits:
    """How long the callers of an exchange may be kept waiting."""

    peek_timeout_seconds: float
    """From the request to its headers and the peek."""
    total_timeout_seconds: float
    """From the headers to the end of the body, the pauses of a slow consumer included."""


class _Hearers:
    """All who hear of an exchange; who joins later is first told what he missed."""

    __slots__ = ("_callers", "_told")

    def __init__(self, callers: dict[Caller, None]) -> None:
        self._callers = callers
        self._told: list[FetchEvent] = []

    def tell(self, event: FetchEvent) -> None:
        """Tell everybody, and keep it for those who come."""
        self._told.append(event)
        self.pass_on(event)

    def pass_on(self, event: FetchEvent) -> None:
        """Tell everybody."""
        for caller in list(self._callers):
            if caller.watch is not None:
                caller.watch.tell(event)

    def catch_up(self, watch: EventSink) -> None:
        """Tell one what was told before he came."""
        for event in self._told:
            watch.tell(event)


class SharedExchange:
    """An exchange while it runs. Its end is announced once, to `on_end`."""

    __slots__ = (
        "_body",
        "_callers",
        "_chain",
        "_ended_at",
        "_ends_at",
        "_fault",
        "_head",
        "_headers_at",
        "_hearers",
        "_host",
        "_kept",
        "_kept_bytes",
        "_limits",
        "_now",
        "_on_end",
        "_progress_due_at",
        "_stage",
        "_started_at",
        "_task",
        "_timer",
        "_upgrades",
        "_walk",
        "_whole_callers",
        "request",
    )

    def __init__(
        self,
        request: FetchRequest,
        chain: Chain,
        walk: Walk,
        limits: ExchangeLimits,
        *,
        now: Callable[[], float],
        on_end: Callable[[SharedExchange], None],
    ) -> None:
        self.request = request
        self._chain = chain
        chain.is_whole = True
        self._walk = walk
        self._limits = limits
        self._now = now
        self._on_end = on_end
        self._upgrades = len(chain.hops)
        self._host = chain.current.url.host
        self._callers: dict[Caller, None] = {}
        self._whole_callers = 0
        self._stage = _Stage.REACHING
        self._head: ReplyHead | None = None
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._ends_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._fault: FetchFailed | None = None
        self._body: SharedBody | None = None
        self._hearers: _Hearers | None = None
        self._progress_due_at = 0.0
        self._started_at = now()
        self._headers_at: float | None = None
        self._ended_at: float | None = None
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._on_done)

    # ---- callers ----

    def join(self, caller: Caller) -> Joining:
        """Let a caller share it, if every byte is still to be had."""
        is_open = self._stage in {_Stage.REACHING, _Stage.PEEKING}
        if not is_open and (self._stage is not _Stage.COLLECTING or caller.is_streaming):
            return Joining.TOO_LATE
        self._callers[caller] = None
        if caller.is_streaming:
            self._chain.is_whole = False
        else:
            self._whole_callers += 1
        self._chain.raise_priority(caller.priority)
        if caller.watch is not None:
            self._hear(caller.watch)
        return Joining.JOINED

    def _hear(self, watch: EventSink) -> None:
        if self._hearers is None:
            self._chain.listener = self._hearers = _Hearers(self._callers)
        self._hearers.catch_up(watch)

    def remove(self, caller: Caller) -> None:
        """Go on without a caller; without any there is nothing to go on for."""
        if caller not in self._callers:
            return
        del self._callers[caller]
        self._whole_callers -= not caller.is_streaming
        if not self._callers:
            self.abandon()
        elif not self._whole_callers and self._body is not None:
            self._kept.clear()
            self._body.set_urgent(is_urgent=False)

    def abandon(self) -> None:
        """End it now; callers that are left get CANCELLED."""
        if self._stage is not _Stage.ENDED:
            self._stage = _Stage.ENDED
            self._task.cancel()

    async def wait(self) -> None:
        """Return when its slot and its socket are free."""
        await asyncio.wait([self._task])

    # ---- what its callers ask ----

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far."""
        return self._chain.received_bytes

    def timings(self, asked_at: float) -> ReplyTimings:
        """Where the time went, for a caller who asked then."""
        headers_seconds = (self._headers_at or self._now()) - self._started_at
        return ReplyTimings(
            waited_seconds=max(0.0, headers_seconds - self._chain.spent_seconds),
            headers_seconds=headers_seconds,
            total_seconds=None if self._ended_at is None else self._ended_at - asked_at,
        )

    # ---- the exchange itself ----

    async def _run(self) -> None:
        try:
            visit = await self._walk.reach(self.request, self._chain)
            async with visit as response:
                await self._read(response)
        except MudroomError as error:
            self._walk.sign(self._chain, error)
            raise
        self._end(None)
        # All that it would do is done: a turn of the loop less.
        self._task.remove_done_callback(self._on_done)
        self._on_end(self)

    async def _read(self, response: WireResponse) -> None:
        """The body to its end; under the time of the peek and then under that of the whole, where it is not here."""
        if self._stage is _Stage.ENDED:
            return
        self._head = self._walk.describe(self._chain, response)
        self._headers_at = self._now()
        if response.is_complete and self._whole_callers == len(self._callers):
            self._stage = _Stage.COLLECTING
            body = await response.read()
            if self.request.decode:
                body = self._walk.decode(self.request, response, body, self._chain.current.url.host)
            self._kept.append(body)
        else:
            await self._collect(response)
        self._tell_progress(response, is_due=True)

    async def _collect(self, response: WireResponse) -> None:
        """A body that is still coming, or that is streamed, from its beginning for everybody to its end."""
        self._stage = _Stage.PEEKING
        loop_time = asyncio.get_running_loop().time()
        self._ends_at = loop_time + self._limits.total_timeout_seconds
        self._allow_until(loop_time + self._limits.peek_timeout_seconds - self._chain.hop_seconds)
        chunks = response.chunks()
        try:
            await self._take_all(response, chunks)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    async def _take_all(self, response: WireResponse, chunks: AsyncIterator[bytes]) -> None:
        decoder: BodyDecoder | None = None
        async for chunk in chunks:
            if decoder is None and self.request.decode:
                decoder = self._walk.decoder(self.request, response, self._chain.current.url.host)
            for piece in (chunk,) if decoder is None else decoder.pieces(chunk):
                if self._stage is _Stage.PEEKING:
                    self._peek(piece)
                else:
                    await self._hand_on(piece)
            self._tell_progress(response)
        if decoder is not None:
            decoder.finish()
        if self._stage is _Stage.PEEKING:
            self._release()

    def _peek(self, piece: bytes) -> None:
        """Keep the beginning of the body for whoever joins, until it is enough to decide by."""
        self._kept.append(piece)
        self._kept_bytes += len(piece)
        if self._kept_bytes >= PEEK_BYTES:
            self._release()

    def _release(self) -> None:
        """Give streaming callers what is there; from now on nobody else can have all of it as it comes."""
        head = self._head
        if head is None or self._stage is _Stage.ENDED:
            return
        if self._whole_callers == len(self._callers):
            # From here the peer alone is waited for: the transport keeps the time.
            self._stage = _Stage.COLLECTING
            return
        self._stage = _Stage.FLOWING
        self._allow_until(self._ends_at)
        self._body = body = SharedBody(f"the answer of {self._host}")
        begun = b"".join(self._kept)
        peek, rest = begun[:PEEK_BYTES], begun[PEEK_BYTES:]
        for caller in [caller for caller in self._callers if caller.is_streaming]:
            caller.reader = body.subscribe(first=(rest,) if rest else (), on_lag=caller.fail)
            caller.deliver(self._head_for(caller, head), caller.reader, peek)
        if not self._whole_callers:
            self._kept.clear()
        body.set_urgent(is_urgent=self._whole_callers > 0)

    def _allow_until(self, moment: float) -> None:
        """Have it end in a timeout at this moment of the event loop, and at none that was set before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(moment, self._time_out)

    def _time_out(self) -> None:
        if self._stage is _Stage.COLLECTING:
            return
        if self._stage is _Stage.PEEKING:
            what = f"{self._host} did not send the beginning of its answer in time"
            self._fault = FetchFailed(Code.RESPONSE_TIMEOUT, what)
        else:
            what = f"the answer of {self._host} was not read to its end in time"
            self._fault = FetchFailed(Code.TOTAL_TIMEOUT, what)
        self._walk.sign(self._chain, self._fault)
        self.abandon()

    def _head_for(self, caller: Caller, head: ReplyHead) -> ReplyHead:
        """The head as it is his: under the URL that he wrote, which HSTS may have turned into the one asked."""
        if caller.requested_url == head.requested_url:
            return head
        hops = caller.upgrades + head.hops[self._upgrades :]
        return replace(head, requested_url=caller.requested_url, hops=hops)

    async def _hand_on(self, piece: bytes) -> None:
        if self._whole_callers:
            self._kept.append(piece)
        if self._body is not None:
            await self._body.push(piece)

    def _tell_progress(self, response: WireResponse, *, is_due: bool = False) -> None:
        if self._hearers is None or self._head is None:
            return
        now = self._now()
        if is_due or now >= self._progress_due_at:
            self._progress_due_at = now + _PROGRESS_SECONDS
            self._hearers.pass_on(ProgressEvent(response.received_bytes, self._head.declared_bytes))

    # ---- its end ----

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self._end(
                self._fault or FetchFailed(Code.CANCELLED, f"the request to {self._host} was cancelled")
            )
        elif (error := task.exception()) is not None:
            self._end(error)
        self._on_end(self)

    def _end(self, error: BaseException | None) -> None:
        """Give every caller who is left his answer or an error."""
        self._stage = _Stage.ENDED
        self._ended_at = self._now()
        callers, kept = list(self._callers), self._kept
        self._callers.clear()
        self._kept = []
        if error is None:
            self._give_out(callers, kept)
        else:
            self._give_up(callers, error)

    def _give_out(self, callers: list[Caller], kept: list[bytes]) -> None:
        if self._body is not None:
            self._body.finish()
        body = b"".join(kept)
        for caller in callers:
            if not caller.is_streaming and self._head is not None:
                caller.deliver(self._head_for(caller, self._head), body, body[:PEEK_BYTES])
            caller.complete(self.wire_bytes)

    def _give_up(self, callers: list[Caller], error: BaseException) -> None:
        if self._body is not None:
            self._body.fail(error)
        for caller in callers:
            caller.refuse(error)
            caller.end(describe_end(error))
