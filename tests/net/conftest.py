import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from mudroom.address import parse_url
from mudroom.net import CurlTransport, NetLimits, WireRequest

LIMIT_NAMES = set(NetLimits.__slots__)


@pytest.fixture
async def transport() -> AsyncIterator[CurlTransport]:
    transport = CurlTransport(environ={})
    yield transport
    await transport.aclose()


@pytest.fixture
def wire() -> Callable[..., WireRequest]:
    def build(url: str, *addresses: str, **settings: Any) -> WireRequest:
        parsed = parse_url(url)
        assert parsed is not None
        limits = {name: settings.pop(name) for name in LIMIT_NAMES & settings.keys()}
        dialled = tuple(ip_address(address) for address in addresses or ("127.0.0.1",))
        if "ca_file" in settings:
            settings["ca_file"] = str(settings["ca_file"])
        return WireRequest(url=parsed, addresses=dialled, limits=NetLimits(**limits), **settings)

    return build


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def mute_address() -> Iterator[Callable[[int], str]]:
    """Makes 127.0.0.2 take no connection on a port and say nothing: its queue is full."""
    opened: list[socket.socket] = []

    def mute(port: int) -> str:
        listener = socket.socket()
        opened.append(listener)
        listener.bind(("127.0.0.2", port))
        listener.listen(0)
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(("127.0.0.2", port))
            opened.append(client)
        return "127.0.0.2"

    yield mute
    for sock in opened:
        sock.close()


@pytest.fixture
async def raw_site() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """Serves the same bytes on every connection of a port of its own.

    `asked` waits for a request first; `closes` ends the connection after the bytes.
    """
    servers: list[asyncio.Server] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(answer: bytes, *, asked: bool = True, closes: bool = True) -> int:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # the client may leave first
                if asked:
                    await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()
                if closes:
                    writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    yield serve
    for writer in writers:
        writer.transport.abort()
        with contextlib.suppress(OSError):  # already torn down by the client
            await writer.wait_closed()
    for server in servers:
        server.close()
        await server.wait_closed()
