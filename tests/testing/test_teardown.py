import asyncio
import ssl

from mudroom.testing.authority import Authority
from mudroom.testing.teardown import abort_transport


async def test_a_connection_that_was_closed_twice_has_nothing_left_to_abort(authority: Authority) -> None:
    met = asyncio.Event()
    server_context = authority.server_context("127.0.0.1")
    client_context = ssl.create_default_context()
    client_context.check_hostname = False
    client_context.verify_mode = ssl.CERT_NONE

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.close()
        writer.transport.close()
        abort_transport(writer.transport)
        met.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context)
        await asyncio.wait_for(met.wait(), 10)
        writer.transport.abort()
