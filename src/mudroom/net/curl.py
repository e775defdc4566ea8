"""The transport that mudroom ships: libcurl, pinned, on the running event loop.

What is shared between requests, and with whom:
- A connection serves only requests of the same partition, scheme, host name, port, judged address and
  trust anchors. A partition has a pool, and so TLS sessions, of its own; within it libcurl re-uses a
  connection only for the same host name and the same `CONNECT_TO`, and never joins HTTP/2 connections
  across names.
- Of several judged addresses the one that served the origin last is tried first, so that answers in
  rotating order find their warm connection.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import OrderedDict, deque
from collections.abc import Mapping
from types import TracebackType

from mudroom.address import IPAddress
from mudroom.errors import Code, FetchFailed
from mudroom.net.anchors import Anchors
from mudroom.net.driver import CurlDriver
from mudroom.net.exchange import Exchange
from mudroom.net.handle import CurlHandle
from mudroom.net.headers import check_method
from mudroom.net.libcurl import drop_key_log
from mudroom.net.proxies import note_proxies
from mudroom.net.transport import WireRequest

__all__ = ["CurlTransport"]

_MAX_SPARE_HANDLES = 64
_MAX_IDLE_PARTITIONS = 32
_MAX_WARM_ORIGINS = 1024


class _Partition:
    """One connection pool and its spare handles."""

    __slots__ = ("_alarm", "_driver", "_loop", "_spare", "exchanges", "proxy_note", "warm")

    def __init__(self, loop: asyncio.AbstractEventLoop, note: str) -> None:
        self._loop = loop
        self._driver = CurlDriver(loop)
        self._alarm: asyncio.TimerHandle | None = None
        self._spare: list[CurlHandle] = []
        self.proxy_note = note
        self.exchanges: set[Exchange] = set()
        self.warm: OrderedDict[str, str] = OrderedDict()

    def take(self) -> CurlHandle:
        return self._spare.pop() if self._spare else CurlHandle()

    def run(self, handle: CurlHandle) -> None:
        self._driver.add(handle)

    def forget_idle(self) -> None:
        self._driver.forget_idle()

    def arm(self, deadline: float) -> None:
        if self._alarm is None or self._alarm.when() > deadline:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = self._loop.call_at(deadline, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        now = self._loop.time()
        deadline = min((exchange.check(now) for exchange in list(self.exchanges)), default=math.inf)
        if deadline < math.inf:
            self.arm(deadline)

    def give_back(self, handle: CurlHandle, *, is_clean: bool) -> None:
        handle.owner = None
        self._driver.remove(handle)
        if is_clean and handle.is_plain and len(self._spare) < _MAX_SPARE_HANDLES:
            self._spare.append(handle)
        else:
            handle.close()

    def remember(self, origin: str, address: str) -> None:
        self.warm[origin] = address
        self.warm.move_to_end(origin)
        if len(self.warm) > _MAX_WARM_ORIGINS:
            self.warm.popitem(last=False)

    def close(self) -> None:
        for exchange in list(self.exchanges):
            exchange.close()
        if self._alarm is not None:
            self._alarm.cancel()
        self._driver.close()
        for handle in self._spare:
            handle.close()
        self._spare.clear()


_REPEATABLE = frozenset({"GET", "HEAD"})
_SPOILED = frozenset({Code.PROTOCOL_ERROR, Code.CONNECTION_LOST})


class _Opening:
    """The context of one exchange: entered at the headers, left when its reader is done with it."""

    __slots__ = ("_exchange", "_partition", "_request", "_transport")

    def __init__(self, transport: CurlTransport, request: WireRequest) -> None:
        self._transport = transport
        self._request = request
        self._exchange: Exchange | None = None

    async def __aenter__(self) -> Exchange:
        try:
            exchange = await self._begin(is_fresh=False)
        except FetchFailed as failure:
            if failure.code not in _SPOILED or self._request.method not in _REPEATABLE:
                raise
            if self._exchange is None or not self._exchange.was_spoiled:
                raise
            exchange = await self._begin(is_fresh=True)
        if len(self._request.addresses) > 1:
            self._partition.remember(self._request.url.origin, exchange.address)
        return exchange

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._close()

    async def _begin(self, *, is_fresh: bool) -> Exchange:
        """The exchange, opened; with `is_fresh` on a connection of its own.

        Why: bytes that an answer sent beyond its declared length are read as the next answer on a kept
        connection. Where they make none, they must not cost the next page; browsers try anew too.
        """
        self._partition, exchange = self._transport._begin(self._request, is_fresh=is_fresh)  # noqa: SLF001 - one mechanism in two classes
        self._exchange = exchange
        try:
            await exchange.open()
        except BaseException:
            self._close()
            raise
        return exchange

    def _close(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._partition.exchanges.discard(self._exchange)


class CurlTransport:
    """A `Transport` over libcurl. Belongs to the event loop that first uses it."""

    def __init__(self, *, environ: Mapping[str, str] = os.environ) -> None:
        drop_key_log()
        self._note = note_proxies(environ)
        self._partitions: OrderedDict[str, _Partition] = OrderedDict()
        self._anchors = Anchors()
        self._last_addresses: tuple[IPAddress, ...] = ()
        self._last_texts: tuple[str, ...] = ()
        self._is_closed = False

    def open(self, request: WireRequest) -> _Opening:
        """An exchange, entered when the headers of the final answer are here.

        Raises: FetchFailed, EgressRefused as `Transport.open`; InvalidConfig when `ca_file` cannot be read.
        """
        return _Opening(self, request)

    async def aclose(self) -> None:
        """Close every connection; exchanges that are still open fail."""
        self._is_closed = True
        while self._partitions:
            self._partitions.popitem()[1].close()
        self._anchors.close()

    def _begin(self, request: WireRequest, *, is_fresh: bool) -> tuple[_Partition, Exchange]:
        check_method(request.method)
        if not request.addresses:
            raise FetchFailed(Code.CONNECT_FAILED, f"no address of {request.url.authority} may be dialled")
        if self._is_closed:
            raise FetchFailed(Code.CANCELLED, "the transport is closed")
        anchors = self._anchors.path(request.ca_file)
        loop = asyncio.get_running_loop()
        partition = self._partition(request.partition, loop)
        addresses = self._texts_of(request.addresses)
        if len(addresses) > 1:
            addresses = _in_turn(request.addresses, partition.warm.get(request.url.origin))
        exchange = Exchange(request, addresses, partition, loop, anchors, is_fresh=is_fresh)
        partition.exchanges.add(exchange)
        return partition, exchange

    def _texts_of(self, addresses: tuple[IPAddress, ...]) -> tuple[str, ...]:
        """The addresses as text; those of the last request are kept, since most requests follow their like."""
        if addresses is not self._last_addresses:
            self._last_addresses, self._last_texts = addresses, tuple(map(str, addresses))
        return self._last_texts

    def _partition(self, name: str, loop: asyncio.AbstractEventLoop) -> _Partition:
        partition = self._partitions.get(name)
        if partition is None:
            self._evict_idle()
            partition = self._partitions[name] = _Partition(loop, self._note)
        elif len(self._partitions) > 1:
            self._partitions.move_to_end(name)
        return partition

    def _evict_idle(self) -> None:
        """Close the partitions that were idle longest, so that their number stays bounded."""
        surplus = len(self._partitions) - _MAX_IDLE_PARTITIONS + 1
        for name in [name for name, one in self._partitions.items() if not one.exchanges][: max(surplus, 0)]:
            self._partitions.pop(name).close()


def _in_turn(addresses: tuple[IPAddress, ...], warm: str | None) -> tuple[str, ...]:
    """The addresses as text: the warm one first, then the families by turns, each in its order.

    Source: RFC 8305 section 4.
    """
    first = addresses[0].version
    same = deque(str(address) for address in addresses if address.version == first)
    other = deque(str(address) for address in addresses if address.version != first)
    texts = [queue.popleft() for _ in addresses for queue in (same, other) if queue]
    if warm in texts:
        texts.remove(warm)
        texts.insert(0, warm)
    return tuple(texts)
