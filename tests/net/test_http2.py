"""HTTP/2 against a peer that speaks it by itself (the h2 package), in good and in bad faith."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, RequestReceived, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from mudroom.errors import Code, MudroomError
from mudroom.net import CurlTransport, WireRequest
from mudroom.testing.authority import Authority
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer

Wire = Callable[..., WireRequest]
Act = Callable[["Peer", RequestReceived], None]


class Peer:
    """One HTTP/2 connection; `act` answers each request."""

    def __init__(self, site: "H2Site", writer: asyncio.StreamWriter) -> None:
        config = H2Configuration(client_side=False, validate_outbound_headers=False)
        self.h2 = H2Connection(config=config)
        self.site = site
        self.writer = writer
        self.left: dict[int, memoryview] = {}

    def answer(self, stream: int, body: bytes = b"ok", headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.h2.send_headers(stream, [(":status", "200"), *headers])
        self.left[stream] = memoryview(body)
        self.pump()

    def pump(self) -> None:
        """Send what the windows allow."""
        for stream in list(self.left):
            while room := min(
                self.h2.local_flow_control_window(stream),
                self.h2.max_outbound_frame_size,
                len(self.left[stream]),
            ):
                self.h2.send_data(stream, bytes(self.left[stream][:room]))
                self.site.sent_bytes += room
                self.left[stream] = self.left[stream][room:]
            if not self.left[stream]:
                self.h2.end_stream(stream)
                del self.left[stream]

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())


class H2Site:
    """Serves HTTP/2 over TLS on loopback and notes what it saw."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.port = 0
        self.connections = 0
        self.paths: list[str] = []
        self.authorities: list[str] = []
        self.resets: list[ErrorCodes | int] = []
        self.settings: list[dict[int, int]] = []
        self.sent_bytes = 0
        self.changed = asyncio.Condition()
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        peer = Peer(self, writer)
        peer.h2.initiate_connection()
        peer.flush()
        with contextlib.suppress(OSError, ProtocolError):  # either ends a bad peer's connection
            while data := await reader.read(65_536):
                for event in peer.h2.receive_data(data):
                    self.note(peer, event)
                peer.flush()
                async with self.changed:
                    self.changed.notify_all()
        writer.close()

    def note(self, peer: Peer, event: Event) -> None:
        if isinstance(event, RequestReceived):
            headers = dict(event.headers)
            self.paths.append(headers[b":path"].decode())
            self.authorities.append(headers[b":authority"].decode())
            self.settings.append({int(key): value for key, value in peer.h2.remote_settings.items()})
            self.act(peer, event)
        elif isinstance(event, StreamReset):
            peer.left.pop(event.stream_id, None)
            self.resets.append(event.error_code)
        elif isinstance(event, WindowUpdated):
            peer.pump()

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with self.changed:
            await self.changed.wait_for(condition)

    def abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@pytest.fixture
async def h2_site(authority: Authority) -> AsyncIterator[Callable[[Act], Awaitable[H2Site]]]:
    opened: list[tuple[H2Site, asyncio.Server]] = []

    async def start(act: Act) -> H2Site:
        site = H2Site(act)
        context = authority.server_context("site.test", "two.test", protocols=("h2",))
        server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
        site.port = server.sockets[0].getsockname()[1]
        opened.append((site, server))
        return site

    yield start
    for site, server in opened:
        site.abort()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)


async def read(transport: CurlTransport, request: WireRequest) -> bytes:
    async with transport.open(request) as response:
        return await response.read()


Start = Callable[[Act], Awaitable[H2Site]]


def fine(peer: Peer, event: RequestReceived) -> None:
    peer.answer(event.stream_id)


async def test_http2_is_spoken_where_the_peer_offers_it(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    site = await h2_site(
        lambda peer, event: peer.answer(event.stream_id, headers=(("x-a", "1"), ("x-a", "2")))
    )
    request = wire(f"https://site.test:{site.port}/a/%2e./b?q", ca_file=ca_file)
    async with transport.open(request) as response:
        assert (response.protocol, response.status) == ("HTTP/2", 200)
        assert response.headers == (("x-a", "1"), ("x-a", "2"))
        assert await response.read() == b"ok"
    assert site.paths == [request.url.request_target]
    assert site.authorities == [f"site.test:{site.port}"]


async def test_requests_at_once_share_a_warm_connection(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    site = await h2_site(fine)
    request = wire(f"https://site.test:{site.port}/", ca_file=ca_file)
    await read(transport, request)
    assert await asyncio.gather(*(read(transport, request) for _ in range(20))) == [b"ok"] * 20
    assert site.connections == 1


async def test_a_connection_serves_no_second_name_although_its_certificate_would(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    site = await h2_site(fine)
    for host in ("site.test", "two.test"):
        await read(transport, wire(f"https://{host}:{site.port}/", ca_file=ca_file))
    assert site.connections == 2


async def test_push_is_switched_off(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    def push(peer: Peer, event: RequestReceived) -> None:
        with pytest.raises(ProtocolError):
            peer.h2.push_stream(event.stream_id, 2, [(":method", "GET"), (":path", "/pushed")])
        peer.answer(event.stream_id)

    site = await h2_site(push)
    assert await read(transport, wire(f"https://site.test:{site.port}/", ca_file=ca_file)) == b"ok"
    assert site.settings[0][int(SettingCodes.ENABLE_PUSH)] == 0


def frame(kind: int, payload: bytes, stream: int = 0, flags: int = 0) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


async def test_alternative_services_and_origins_are_ignored(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    async with SiteServer(Route(path="/")) as elsewhere:
        service = f'h2="127.0.0.1:{elsewhere.port}"; ma=86400'

        def advertise(peer: Peer, event: RequestReceived) -> None:
            peer.flush()
            origin = f"https://two.test:{peer.site.port}".encode()
            peer.writer.write(frame(0xC, len(origin).to_bytes(2) + origin))
            peer.writer.write(frame(0xA, b"\0\0" + service.encode(), event.stream_id))
            peer.answer(event.stream_id, headers=(("alt-svc", service),))

        site = await h2_site(advertise)
        for host in ("site.test", "site.test", "two.test"):
            await read(transport, wire(f"https://{host}:{site.port}/", ca_file=ca_file))
        assert site.connections == 2
        assert elsewhere.total_connections == 0


async def test_cancelling_resets_the_stream_and_keeps_the_connection(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    def act(peer: Peer, event: RequestReceived) -> None:
        if dict(event.headers)[b":path"] == b"/":
            peer.answer(event.stream_id)

    site = await h2_site(act)
    await read(transport, wire(f"https://site.test:{site.port}/", ca_file=ca_file))
    task = asyncio.create_task(read(transport, wire(f"https://site.test:{site.port}/stall", ca_file=ca_file)))
    await site.wait_for(lambda: "/stall" in site.paths)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await read(transport, wire(f"https://site.test:{site.port}/", ca_file=ca_file)) == b"ok"
    await site.wait_for(lambda: bool(site.resets))
    assert site.connections == 1


async def test_what_a_stream_that_nobody_reads_holds_is_bounded(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    site = await h2_site(lambda peer, event: peer.answer(event.stream_id, bytes(64 << 20)))
    request = wire(
        f"https://site.test:{site.port}/", ca_file=ca_file, max_body_bytes=1 << 30, max_buffered_bytes=65_536
    )
    async with transport.open(request) as response:
        chunks = response.chunks()
        await anext(chunks)
        for _ in range(2000):
            await asyncio.sleep(0)
        assert site.sent_bytes <= 2 << 20  # a window of 1 MiB, and what the reader has taken and holds


async def test_twenty_streams_that_nobody_reads_hold_a_window_each(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    site = await h2_site(lambda peer, event: peer.answer(event.stream_id, bytes(10 << 20)))
    request = wire(f"https://site.test:{site.port}/", ca_file=ca_file, max_body_bytes=1 << 30)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(20):
            response = await stack.enter_async_context(transport.open(request))
            await anext(response.chunks())
        for _ in range(2000):
            await asyncio.sleep(0)
        assert site.connections == 1
        assert site.sent_bytes <= 20 * (2 << 20)  # of 200 MiB


async def test_a_reader_that_goes_on_is_not_held_back(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    size = 12 << 20
    site = await h2_site(lambda peer, event: peer.answer(event.stream_id, bytes(size)))
    request = wire(
        f"https://site.test:{site.port}/", ca_file=ca_file, max_body_bytes=1 << 30, total_timeout_seconds=6
    )
    async with transport.open(request) as response:
        got = 0
        async for chunk in response.chunks():
            got += len(chunk)
            await asyncio.sleep(0)
        assert got == size


async def test_a_body_that_is_read_whole_after_all_is_not_held_back(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start
) -> None:
    size = 12 << 20
    site = await h2_site(lambda peer, event: peer.answer(event.stream_id, bytes(size)))
    for is_whole in (True, False):
        request = wire(
            f"https://site.test:{site.port}/",
            ca_file=ca_file,
            is_whole=is_whole,
            max_body_bytes=1 << 30,
            total_timeout_seconds=6,
        )
        assert len(await read(transport, request)) == size


def raw(*frames: bytes) -> Act:
    def act(peer: Peer, event: RequestReceived) -> None:
        peer.flush()
        peer.writer.write(b"".join(frames))

    return act


def reset_in_body(peer: Peer, event: RequestReceived) -> None:
    peer.h2.send_headers(event.stream_id, [(":status", "200")])
    peer.h2.send_data(event.stream_id, b"part")
    peer.h2.reset_stream(event.stream_id, ErrorCodes.INTERNAL_ERROR)


def end_short(peer: Peer, event: RequestReceived) -> None:
    peer.answer(event.stream_id, b"ab", (("content-length", "9"),))


def go_away(peer: Peer, _event: RequestReceived) -> None:
    peer.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM, last_stream_id=0)


def many_headers(peer: Peer, event: RequestReceived) -> None:
    peer.h2.send_headers(event.stream_id, [(":status", "200"), *((f"x-{n}", "a" * 500) for n in range(700))])


LOST = {Code.CONNECTION_LOST}
BROKEN = {Code.PROTOCOL_ERROR, Code.CONNECTION_LOST}
TIMED = {Code.RESPONSE_TIMEOUT}

MISBEHAVIOUR: list[tuple[str, Act, set[Code]]] = [
    ("a reset inside the body", reset_in_body, LOST),
    ("an end before the declared length", end_short, BROKEN),
    ("a farewell instead of an answer", go_away, BROKEN),
    ("more headers than are read", many_headers, {Code.HEADERS_TOO_LARGE, *BROKEN}),
    ("a frame larger than agreed", raw(frame(0, bytes(1 << 20), 1)), BROKEN),
    ("a flood of settings", raw(frame(4, b"", 0) * 20_000), BROKEN | TIMED),
    ("a flood of pings", raw(frame(6, bytes(8), 0) * 20_000), BROKEN | TIMED),
    ("a flood of empty continuations", raw(frame(1, b"", 1) + frame(9, b"", 1) * 20_000), BROKEN | TIMED),
    ("garbage", raw(b"\xff" * 64), BROKEN | TIMED),
    ("HTTP/1 on an HTTP/2 connection", raw(b"HTTP/1.1 200 OK\r\n\r\n"), BROKEN | TIMED),
    ("silence", lambda _peer, _event: None, TIMED),
]


@pytest.mark.parametrize(
    ("act", "codes"), [row[1:] for row in MISBEHAVIOUR], ids=[row[0] for row in MISBEHAVIOUR]
)
async def test_a_peer_that_misbehaves_ends_typed_within_its_deadline(
    transport: CurlTransport, wire: Wire, ca_file: Path, h2_site: Start, act: Act, codes: set[Code]
) -> None:
    site = await h2_site(act)
    request: Any = wire(f"https://site.test:{site.port}/", ca_file=ca_file, response_timeout_seconds=0.5)
    with pytest.raises(MudroomError) as caught:
        await read(transport, request)
    assert caught.value.code in codes
