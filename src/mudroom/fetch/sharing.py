"""The table of exchanges in flight: who asks what is already being asked gets the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mudroom.errors import Code, FetchFailed
from mudroom.fetch.caller import Caller, describe_end
from mudroom.fetch.chain import Chain
from mudroom.fetch.events import EventSink
from mudroom.fetch.reply import Reply
from mudroom.fetch.request import FetchRequest
from mudroom.fetch.share_key import ShareKey, make_share_key
from mudroom.fetch.shared_exchange import ExchangeLimits, Joining, SharedExchange, Walk

__all__ = ["Sharing"]


class Sharing:
    """All exchanges that were begun by `submit` and have not ended; for one event loop."""

    def __init__(self, walk: Walk, limits: ExchangeLimits, now: Callable[[], float]) -> None:
        self._walk = walk
        self._limits = limits
        self._now = now
        self._open: dict[ShareKey, SharedExchange] = {}
        self._running: dict[SharedExchange, ShareKey | None] = {}
        self._is_closed = False

    @property
    def in_flight(self) -> int:
        """How many exchanges run; each may hold a slot and a socket. None are left when this is 0."""
        return len(self._running)

    async def submit(self, request: FetchRequest, watch: EventSink | None) -> Reply:
        """The answer to a request, from an exchange of its own or from one that is the same.

        Shapes: `watch` is told of this request, its end included.

        Raises: as `Fetcher.submit`.
        """
        asked_at = self._now()
        loop = asyncio.get_running_loop()
        expires_at = None if request.deadline_seconds is None else loop.time() + request.deadline_seconds
        try:
            caller = self._join(request, await self._walk.start(request, watch), watch, asked_at)
        except BaseException as error:
            if watch is not None:
                watch.tell(describe_end(error))
            raise
        if expires_at is not None:
            caller.expire_at(expires_at)
        return await caller.answer()

    async def aclose(self) -> None:
        """End all that runs; its callers get CANCELLED."""
        self._is_closed = True
        running = list(self._running)
        for exchange in running:
            exchange.abandon()
        for exchange in running:
            await exchange.wait()

    def _join(self, request: FetchRequest, chain: Chain, watch: EventSink | None, asked_at: float) -> Caller:
        """The request's caller, in the exchange that is the same as his, or in one of his own.

        Nothing is awaited here: two who ask the same at the same time find each other.
        """
        if self._is_closed:
            raise FetchFailed(Code.CANCELLED, "the fetcher is closed")
        key = make_share_key(request, chain)
        exchange = None if key is None else self._open.get(key)
        if exchange is not None:
            caller = Caller(exchange, request, chain, watch=watch, asked_at=asked_at)
            if exchange.join(caller) is Joining.JOINED:
                return caller
        exchange = self._begin(request, chain, key)
        caller = Caller(exchange, request, chain, watch=watch, asked_at=asked_at)
        exchange.join(caller)
        return caller

    def _begin(self, request: FetchRequest, chain: Chain, key: ShareKey | None) -> SharedExchange:
        exchange = SharedExchange(
            request, chain, self._walk, self._limits, now=self._now, on_end=self._forget
        )
        self._running[exchange] = key
        if key is not None:
            self._open[key] = exchange
        return exchange

    def _forget(self, exchange: SharedExchange) -> None:
        key = self._running.pop(exchange)
        if key is not None and self._open.get(key) is exchange:
            del self._open[key]
