"""One HTTP/2 connection of a `SiteServer`; used where the TLS handshake chose h2. Needs the package h2."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from mudroom.testing.extra import explain_missing
from mudroom.testing.routes import Delay, Drop, Endless, Reset, Route, Stall, Step, Wait
from mudroom.testing.seen import SeenRequest
from mudroom.testing.teardown import abort_transport

try:
    from h2.config import H2Configuration
    from h2.connection import H2Connection
    from h2.errors import ErrorCodes
    from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
    from h2.exceptions import ProtocolError
except ModuleNotFoundError as missing:
    raise explain_missing(missing, "HTTP/2 in a test server") from missing

__all__ = ["Http2Connection"]

_READ_BYTES = 65536


class Http2Connection:
    """Serves one peer's streams, each answer in a task of its own."""

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
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._heads: dict[int, tuple[tuple[str, str], ...]] = {}
        self._bodies: dict[int, bytearray] = {}
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._moved = asyncio.Event()

    async def serve(self) -> None:
        """Answer streams until the peer is gone or a script ends the connection."""
        self._h2.initiate_connection()
        try:
            await self._flush()
            while data := await self._reader.read(_READ_BYTES):
                for event in self._h2.receive_data(data):
                    self._take(event)
                await self._flush()
        except (OSError, ProtocolError):
            pass  # either is a regular end of a connection here: by the peer, or by its mistake
        finally:
            await self._close()

    def abort(self) -> None:
        """Tear the connection down without ceremony."""
        abort_transport(self._writer.transport)

    async def _close(self) -> None:
        for task in self._answering.values():
            task.cancel()
        await asyncio.gather(*self._answering.values(), return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(OSError):  # the peer may have been faster
            await self._writer.wait_closed()

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=int(stream), headers=list(headers)):
                self._heads[stream] = tuple((str(name), str(value)) for name, value in headers)
                self._bodies[stream] = bytearray()
            case DataReceived(stream_id=int(stream), data=bytes(data)):
                self._bodies[stream] += data
                self._h2.acknowledge_received_data(event.flow_controlled_length or 0, stream)
            case StreamEnded(stream_id=int(stream)):
                self._answering[stream] = asyncio.create_task(self._answer(stream))
            case StreamReset(stream_id=int(stream)) if stream in self._answering:
                self._answering[stream].cancel()
            case _:
                pass  # settings and windows: h2 keeps count, the senders look again below
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def _answer(self, stream: int) -> None:
        request = self._request(stream)
        route = self._choose(request)
        if route.gate is not None:
            await route.gate.wait()
        try:
            if route.raw is not None:
                await self._write_raw(route.raw)
                return
            self._writer.writelines(route.frames)
            steps = () if request.method == "HEAD" else route.steps()
            self._h2.send_headers(stream, _head(route), end_stream=not steps)
            await self._flush()
            for step in steps:
                await self._do(step, stream)
            if steps:
                self._h2.end_stream(stream)
                await self._flush()
        except (OSError, ProtocolError):
            self.abort()  # the peer or a script closed the stream or the connection below us

    def _request(self, stream: int) -> SeenRequest:
        head = self._heads.pop(stream)
        pseudo = {name: value for name, value in head if name.startswith(":")}
        return SeenRequest(
            method=pseudo[":method"],
            target=pseudo[":path"],
            headers=(("host", pseudo.get(":authority", "")), *(pair for pair in head if pair[0][0] != ":")),
            body=bytes(self._bodies.pop(stream)),
            connection=self._number,
            is_tls=True,
            server_name=self._server_name,
            protocol="HTTP/2",
        )

    async def _do(self, step: Step, stream: int) -> None:
        match step:
            case bytes():
                await self._send(step, stream)
            case Wait(event=event):
                await event.wait()
            case Delay(seconds=seconds):
                await asyncio.sleep(seconds)
            case Stall():
                await asyncio.Event().wait()  # until the stream is reset or the connection ends
            case Drop():
                self.abort()
            case Reset():
                self._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
                await self._flush()
                raise ProtocolError
            case Endless(chunk=chunk, max_bytes=limit):
                sent = 0
                while limit is None or sent < limit:
                    await self._send(chunk, stream)
                    sent += len(chunk)

    async def _write_raw(self, steps: tuple[Step, ...]) -> None:
        """Frames as they stand, whatever the rules say of them."""
        await self._flush()
        for step in steps:
            match step:
                case bytes():
                    await self._write(step)
                case Endless(chunk=chunk, max_bytes=limit):
                    sent = 0
                    while limit is None or sent < limit:
                        await self._write(chunk)
                        await asyncio.sleep(0)  # let the reading task notice that the peer is gone
                        sent += len(chunk)
                case Reset():
                    raise ProtocolError
                case _:
                    await self._do(step, 0)

    async def _write(self, data: bytes) -> None:
        if self._writer.transport.is_closing():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    async def _send(self, data: bytes, stream: int) -> None:
        while data:
            size = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
            if size <= 0:
                await self._moved.wait()
                continue
            self._h2.send_data(stream, data[:size])
            data = data[size:]
            await self._flush()

    async def _flush(self) -> None:
        if self._writer.transport.is_closing():
            raise ConnectionResetError
        self._writer.write(self._h2.data_to_send())
        await self._writer.drain()


def _head(route: Route) -> list[tuple[str, str]]:
    head = [(":status", str(route.status))]
    if route.content_type is not None:
        head.append(("content-type", route.content_type))
    if route.etag is not None:
        head.append(("etag", route.etag))
    head += ((name.lower(), value) for name, value in route.headers)
    if (length := route.declared_length()) is not None:
        head.append(("content-length", str(length)))
    return head
