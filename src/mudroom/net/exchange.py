"""One request and its answer while it is on the wire.

States, each with its deadline; every end is typed:

    CONNECTING ──PREREQ──▶ WAITING ──headers──▶ READING ──last byte──▶ DONE
      connect        │       response              idle, total
                     └─▶ SENDING ──last byte sent──▶ WAITING, whose time begins then
                           idle, total             (a request's body that is sent as it comes)
      (the next address after a quarter of a second, or when one fails)

Time is the event loop's. The exchanges of a pool share one timer, which is armed anew only when it must fire
earlier; it then asks each of them.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import deque
from collections.abc import AsyncIterator

from mudroom.errors import Code, FetchFailed, MudroomError
from mudroom.net.faults import CONNECT_ERRORS, explain_timeout, explain_too_large, map_curl_error
from mudroom.net.handle import CurlHandle, HandlePool
from mudroom.net.headers import declared_length, parse_fields, parse_status_line
from mudroom.net.libcurl import pycurl
from mudroom.net.metering import Meter
from mudroom.net.peers import is_judged_peer, refuse_peer
from mudroom.net.phase import UNANSWERED, Phase
from mudroom.net.pieces import Pieces
from mudroom.net.transport import Headers, WireRequest
from mudroom.net.upload import Upload

__all__ = ["Exchange"]

_STAGGER_SECONDS = 0.25
"""RFC 8305 section 5: the recommended delay before the next address is tried beside the first."""
_SWITCHING_PROTOCOLS = 101
_FINAL = 200
_ABORT = -1
_PAUSE: int = pycurl.WRITEFUNC_PAUSE
_READ_PAUSE: int = pycurl.READFUNC_PAUSE
_READ_ABORT: int = pycurl.READFUNC_ABORT
_BODILESS = frozenset({"GET", "HEAD"})


class Exchange:
    """A request on its way and, from the headers on, its answer: a `WireResponse`."""

    __slots__ = (
        "_addresses",
        "_allowed",
        "_anchors",
        "_connect_deadline",
        "_fault",
        "_handles",
        "_headers",
        "_high_water",
        "_interim",
        "_is_fresh",
        "_is_paused",
        "_last_bytes_at",
        "_lines",
        "_loop",
        "_meter",
        "_next_address_at",
        "_phase",
        "_pieces",
        "_pool",
        "_request",
        "_response_deadline",
        "_total_deadline",
        "_upload",
        "_waiter",
        "_wants_all",
        "_winner",
        "address",
        "protocol",
        "reason",
        "received_bytes",
        "status",
        "was_spoiled",
    )

    def __init__(
        self,
        request: WireRequest,
        addresses: tuple[str, ...],
        pool: HandlePool,
        loop: asyncio.AbstractEventLoop,
        anchors: str,
        *,
        is_fresh: bool = False,
    ) -> None:
        self._request = request
        self._is_fresh = is_fresh
        self._pool = pool
        self._loop = loop
        self._anchors = anchors
        self._allowed = frozenset(addresses)
        self._addresses = deque(addresses)
        self._handles: list[CurlHandle] = []
        self._winner: CurlHandle | None = None
        self._phase = Phase.CONNECTING
        self._fault: BaseException | None = None
        self._upload: Upload | None = None
        self._meter = Meter.of(request)
        self._waiter: asyncio.Future[None] | None = None
        self._lines: list[bytes] = []
        self._headers: Headers | None = None
        self._interim = 0
        self._pieces = Pieces()
        self._high_water = request.limits.max_buffered_bytes
        self._is_paused = False
        self._wants_all = False
        self._last_bytes_at = now = loop.time()
        self._connect_deadline = now + request.limits.connect_timeout_seconds
        self._response_deadline = now + request.limits.response_timeout_seconds
        self._next_address_at = self._connect_deadline
        self._total_deadline = 0.0
        self.address = ""
        self.status = 0
        self.reason = ""
        self.protocol = ""
        self.received_bytes = 0
        self.was_spoiled = False
        """No answer could be read, and on a kept connection what an earlier answer left may be to blame."""

    # ---- the answer, as its consumer sees it ----

    @property
    def raw_header(self) -> bytes:
        """Status line and header lines as received."""
        return b"".join(self._lines)

    @property
    def headers(self) -> Headers:
        """The header fields in order, duplicates kept."""
        if self._headers is None:
            self._headers = parse_fields(self._lines[1:])
        return self._headers

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will come."""
        return self._phase is Phase.DONE

    async def open(self) -> None:
        """Send the request and wait for the headers of the final answer."""
        self._dial_next()
        if self._phase is not Phase.DONE:
            self._pool.arm(self.deadline())
        while self._phase in UNANSWERED:
            await self._change()
        if self._fault is not None and not self.status:
            raise self._fault

    async def read(self) -> bytes:
        """The whole body, content-encoded."""
        self._check_declared_length()
        self._high_water = sys.maxsize
        self._wants_all = True
        self._resume()
        if self._meter is not None:
            self._meter.stop()
        while self._phase is not Phase.DONE:
            await self._change()
        if self._fault is not None:
            raise self._fault
        return self._pieces.take_all()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; the peer waits while nobody reads."""
        self._check_declared_length()
        while True:
            while chunk := self._pieces.take():
                if self._is_paused and self._pieces.size <= self._high_water // 2:
                    self._resume()
                if self._meter is not None:
                    self._meter.take(len(chunk), is_paused=self._is_paused)
                yield chunk
            if self._phase is Phase.DONE:
                break
            await self._change()
        if self._fault is not None:
            raise self._fault

    def close(self) -> None:
        """End the exchange; where bytes remain the socket is closed now. Twice does nothing."""
        if self._phase is not Phase.DONE:
            self._end(FetchFailed(Code.CANCELLED, f"the request to {self._request.url.host} was cancelled"))

    # ---- what handles ask and tell, from inside libcurl ----

    def may_dial(self, address: str, port: int) -> bool:
        """Whether a socket may be opened to this peer."""
        self._pool.forget_idle()
        return self._phase is not Phase.DONE and self._is_judged(address, port)

    def may_send(self, handle: CurlHandle, address: str, port: int) -> bool:
        """Whether the request may go out on this connection; the first one wins."""
        if not self._is_judged(address, port) or self._winner not in {None, handle}:
            return False
        self._winner = handle
        self.address = address
        if self._meter is not None:
            self._meter.handle = handle
        if self._phase is Phase.CONNECTING:
            self._begin_sending()
            self._pool.arm(self.deadline())
        if len(self._handles) > 1:
            self._loop.call_soon(self._drop_losers)
        return True

    def on_header_block(self, lines: list[bytes]) -> bool:
        """Take the lines of a header block; False ends the transfer."""
        if self._phase is Phase.READING:
            return True  # trailers: counted, not kept
        version, status, reason = parse_status_line(lines[0])
        if status == _SWITCHING_PROTOCOLS or not status:
            return self._refuse(Code.PROTOCOL_ERROR, "answered with a switch of protocols or no status")
        if status < _FINAL:
            self._interim += 1
            if self._interim > self._request.limits.max_interim_responses:
                return self._refuse(Code.PROTOCOL_ERROR, "sent interim answers without end")
            return True
        self._lines = lines
        self.status, self.reason, self.protocol = status, reason, version
        self._phase = Phase.READING
        self._last_bytes_at = now = self._loop.time()
        self._total_deadline = now + self._request.limits.total_timeout_seconds
        self._pool.arm(self.deadline())
        self._wake()
        return True

    def on_header_flood(self) -> None:
        """More header bytes came than may come."""
        self._refuse(Code.HEADERS_TOO_LARGE, "sent more headers than are read")

    def on_body(self, data: bytes) -> int | None:
        """Take body bytes, or make the peer wait."""
        size = len(data)
        if self.received_bytes + size > self._request.limits.max_body_bytes:
            self._fault = explain_too_large(self._request.url.host, self._request.limits.max_body_bytes)
            return _ABORT
        if self._pieces.size >= self._high_water:
            self._is_paused = True
            return _PAUSE
        self.received_bytes += size
        self._last_bytes_at = self._loop.time()
        self._pieces.add(data)
        if not self._wants_all:
            self._wake()
        return None

    def on_read(self, size: int) -> bytes | int:
        """Bytes of the request's body; the transfer waits while its source has none."""
        if self._upload is None:
            return _READ_ABORT
        data = self._upload.take(size)
        if data is None:
            self._fault = self._upload.failure
            return _READ_PAUSE if self._fault is None else _READ_ABORT
        self._last_bytes_at = self._loop.time()
        self._check_sent()
        return data

    def on_rewind(self) -> None:
        """Send the body again: libcurl found its connection dead and has another."""
        if self._upload is not None:
            self._upload.restart(self._loop)

    def on_done(self, handle: CurlHandle, errno: int, untrusted_text: str) -> None:
        """One transfer of this exchange has ended."""
        self._handles.remove(handle)
        if errno and not self.status and self._fault is None:
            self.was_spoiled = handle.was_kept
        self._pool.give_back(handle, is_clean=errno == 0)
        if self._phase is Phase.DONE or self._winner not in {None, handle}:
            return
        if errno and self._winner is None and errno in CONNECT_ERRORS and self._fault is None:
            if self._addresses:
                self._dial_next()
                return
            if self._handles:
                return
        self._end(self._fault or self._fault_of(errno, untrusted_text))

    # ---- how it moves on ----

    def _dial_next(self) -> None:
        address = self._addresses.popleft()
        self._next_address_at = self._connect_deadline
        if self._addresses:
            self._next_address_at = self._loop.time() + _STAGGER_SECONDS
        handle = self._pool.take()
        handle.owner = self
        self._handles.append(handle)
        window = 0 if self._meter is None else self._meter.window_bytes
        handle.prepare(
            self._request, address, anchors=self._anchors, window_bytes=window, is_fresh=self._is_fresh
        )
        self._pool.run(handle)

    def _begin_sending(self) -> None:
        """The connection stands: what has a body of its own sends that first, the others wait already."""
        self._phase = Phase.WAITING
        body = self._request.body
        if not isinstance(body, bytes) and self._request.method not in _BODILESS:
            self._phase = Phase.SENDING
            self._last_bytes_at = now = self._loop.time()
            self._total_deadline = now + self._request.limits.total_timeout_seconds
            self._upload = Upload(body, self._loop, self._on_upload)

    def _on_upload(self) -> None:
        """The source has given more, or has ended, or failed."""
        upload = self._upload
        if upload is not None and upload.failure is not None:
            self._end(upload.failure)
        elif upload is not None and self._phase is not Phase.DONE:
            self._check_sent()
            if upload.is_starved:
                self._unpause()

    def _check_sent(self) -> None:
        if self._phase is Phase.SENDING and self._upload is not None and self._upload.is_sent:
            self._phase = Phase.WAITING
            self._response_deadline = self._loop.time() + self._request.limits.response_timeout_seconds
            self._pool.arm(self.deadline())

    def _drop_losers(self) -> None:
        for handle in [handle for handle in self._handles if handle is not self._winner]:
            self._handles.remove(handle)
            self._pool.give_back(handle, is_clean=False)

    def _is_judged(self, address: str, port: int) -> bool:
        if is_judged_peer(address, port, self._allowed, self._request.url):
            return True
        self._fault = refuse_peer(self._request.url)
        return False

    def _refuse(self, code: Code, what: str) -> bool:
        self._fault = FetchFailed(code, f"{self._request.url.host} {what}")
        return False

    def _fault_of(self, errno: int, untrusted_text: str) -> MudroomError | None:
        url = self._request.url
        if errno:
            name = url.authority if errno in CONNECT_ERRORS else url.host
            return map_curl_error(errno, untrusted_text, name, self._pool.proxy_note)
        host = url.host
        if not self.status:
            return FetchFailed(Code.CONNECTION_LOST, f"{host} closed the connection before it answered")
        return None

    def _check_declared_length(self) -> None:
        if self._request.method == "HEAD":
            return
        length = declared_length(self.headers)
        if length is not None and length > self._request.limits.max_body_bytes:
            self.close()
            raise explain_too_large(self._request.url.host, self._request.limits.max_body_bytes)

    def _resume(self) -> None:
        if self._is_paused and self._phase is not Phase.DONE:
            self._is_paused = False
            self._unpause()

    def _unpause(self) -> None:
        """Go on in both directions; the one that still has to wait says so again."""
        if self._winner is None:
            return
        self._last_bytes_at = self._loop.time()
        try:
            self._winner.curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:
            self._end(self._fault or self._fault_of(int(error.args[0]), str(error.args[-1])))
        else:
            self._pool.arm(self.deadline())

    def _end(self, fault: BaseException | None) -> None:
        if self._phase is Phase.DONE:
            return
        self._phase = Phase.DONE
        self._meter = None  # its handle is another exchange's from now on
        if self._upload is not None:
            self._upload.close()
        self._fault = fault
        for handle in self._handles:
            self._pool.give_back(handle, is_clean=False)
        self._handles.clear()
        self._wake()

    # ---- waiting and deadlines ----

    def _change(self) -> asyncio.Future[None]:
        """What is awaited until something has happened."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def deadline(self) -> float:
        """When something must have happened; infinite once it has ended."""
        limits = self._request.limits
        if self._phase is Phase.CONNECTING:
            return min(self._connect_deadline, self._next_address_at)
        if self._phase is Phase.WAITING:
            return self._response_deadline
        if self._phase is Phase.DONE:
            return math.inf
        is_sending = self._phase is Phase.SENDING
        if self._is_paused or (is_sending and self._upload is not None and self._upload.is_starved):
            return self._total_deadline
        return min(self._last_bytes_at + limits.idle_timeout_seconds, self._total_deadline)

    def check(self, now: float) -> float:
        """Do what is due now: dial the next address or give up. Gives the next deadline."""
        if self._phase is Phase.CONNECTING and self._next_address_at <= now < self._connect_deadline:
            self._next_address_at = self._connect_deadline
            if self._addresses:
                self._dial_next()
        if self._phase is not Phase.DONE and self.deadline() <= now:
            self._end(self._timed_out(now))
        return self.deadline()

    def _timed_out(self, now: float) -> FetchFailed:
        host = self._request.url.host
        if self._phase is Phase.CONNECTING:
            name = self._request.url.authority
            return explain_timeout(Code.CONNECT_TIMEOUT, name, note=self._pool.proxy_note)
        if self._phase is Phase.WAITING:
            return explain_timeout(Code.RESPONSE_TIMEOUT, host)
        code = Code.TOTAL_TIMEOUT if now >= self._total_deadline else Code.IDLE_TIMEOUT
        return explain_timeout(code, host, is_sending=self._phase is Phase.SENDING)
