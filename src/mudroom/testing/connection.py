"""One connection of a `SiteServer`: requests read as they come, answers written as scripted."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from http import HTTPStatus

from mudroom.testing.routes import Delay, Drop, Endless, Framing, Reset, Route, Stall, Step, Wait
from mudroom.testing.seen import MalformedRequest, SeenRequest, read_request
from mudroom.testing.teardown import abort_transport

__all__ = ["Connection"]

_BODILESS = frozenset({204, 304})


class _Ended(Exception):  # noqa: N818 - a way out, not an error
    """The script of an answer ended the connection."""


class Connection:
    """Serves one peer until either side ends it.

    A task of its own reads, so that the peer's closing is noticed while an answer waits or stalls.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        number: int,
        server_name: str | None,
        choose: Callable[[SeenRequest], Route],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._number = number
        self._server_name = server_name
        self._choose = choose
        self._requests: asyncio.Queue[SeenRequest | None] = asyncio.Queue()
        self._gone = asyncio.Event()

    async def serve(self) -> None:
        """Answer requests until the peer is gone or a script ends the connection."""
        reading = asyncio.create_task(self._read())
        try:
            while (request := await self._requests.get()) is not None:
                if not await self._answer(request, self._choose(request)):
                    break
        except (_Ended, OSError):
            pass  # either is a regular end of a connection here: scripted, or by the peer
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self._close()

    def abort(self) -> None:
        """Tear the connection down without ceremony."""
        abort_transport(self._writer.transport)

    async def _close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):  # the peer may have been faster
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while request := await read_request(
                self._reader, self._writer, connection=self._number, server_name=self._server_name
            ):
                self._requests.put_nowait(request)
        except (MalformedRequest, OSError):
            abort_transport(self._writer.transport)
        finally:
            self._gone.set()
            self._requests.put_nowait(None)

    async def _answer(self, request: SeenRequest, route: Route) -> bool:
        """Send one answer; whether the connection stays open."""
        if route.gate is not None:
            await self._until(route.gate)
        if route.raw is not None:
            for step in route.raw:
                await self._do(step, chunked=False)
            return False
        is_bodiless = request.method == "HEAD" or route.status in _BODILESS
        closes = (
            route.closes
            or (route.declared_length() is None and route.framing is not Framing.CHUNKED)
            or (request.header("connection") or "").lower() == "close"
        )
        self._writer.write(route.interim + _head(route, closes=closes))
        await self._writer.drain()
        if not is_bodiless:
            await self._send_body(route)
        return not closes

    async def _send_body(self, route: Route) -> None:
        chunked = route.framing is Framing.CHUNKED
        for step in route.steps():
            await self._do(step, chunked=chunked)
        if chunked:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()

    async def _do(self, step: Step, *, chunked: bool) -> None:
        match step:
            case bytes():
                await self._send(step, chunked=chunked)
            case Wait(event=event):
                await self._until(event)
            case Delay(seconds=seconds):
                await asyncio.sleep(seconds)
            case Stall():
                await self._gone.wait()
                raise _Ended
            case Drop():
                raise _Ended
            case Reset():
                self._reset()
                raise _Ended
            case Endless():
                await self._send_endlessly(step, chunked=chunked)

    async def _send(self, data: bytes, *, chunked: bool) -> None:
        if chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._writer.transport.is_closing():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    async def _send_endlessly(self, step: Endless, *, chunked: bool) -> None:
        sent = 0
        while not self._gone.is_set() and (step.max_bytes is None or sent < step.max_bytes):
            await self._send(step.chunk, chunked=chunked)
            sent += len(step.chunk)
            await asyncio.sleep(0)  # let the reading task notice that the peer is gone

    async def _until(self, event: asyncio.Event) -> None:
        """Wait for an event; ends the connection when the peer goes first."""
        waits = [asyncio.create_task(event.wait()), asyncio.create_task(self._gone.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not event.is_set():
            raise _Ended

    def _reset(self) -> None:
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        abort_transport(self._writer.transport)


def _head(route: Route, *, closes: bool) -> bytes:
    reason = route.reason or _reason_of(route.status)
    lines = [f"HTTP/1.1 {route.status} {reason}"]
    if route.content_type is not None:
        lines.append(f"Content-Type: {route.content_type}")
    if route.etag is not None:
        lines.append(f"ETag: {route.etag}")
    lines += (f"{name}: {value}" for name, value in route.headers)
    length = route.declared_length()
    if length is not None and (route.status not in _BODILESS or route.content_length is not None):
        lines.append(f"Content-Length: {length}")
    if route.framing is Framing.CHUNKED:
        lines.append("Transfer-Encoding: chunked")
    if closes:
        lines.append("Connection: close")
    return "\r\n".join((*lines, "", "")).encode("utf-8", "surrogateescape")


def _reason_of(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unnamed"
