"""One answer of 10 KB to every GET, over HTTP/1.1, HTTPS and HTTP/2 on loopback, for `fetch_cost.py`.

Usage: python benchmarks/peers/answer_server.py CA_FILE
It writes the certificate of its authority to CA_FILE and prints the ports in this order.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from mudroom.testing.authority import Authority

BODY = b"x" * 10_240
FIELDS = (
    ("server", "bench"),
    ("date", "Mon, 02 Nov 2026 10:00:00 GMT"),
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "max-age=600"),
    ("etag", '"abc"'),
    ("content-length", str(len(BODY))),
)
HEAD = "".join(f"{name.title()}: {value}\r\n" for name, value in FIELDS)
ANSWER = f"HTTP/1.1 200 OK\r\n{HEAD}\r\n".encode() + BODY
HOSTS = ("127.0.0.1", "bench.test")


class Http1(asyncio.Protocol):
    """One connection of HTTP/1.1, encrypted or not."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport, self.seen = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each head that is complete."""
        self.seen += data
        while b"\r\n\r\n" in self.seen:
            self.seen = self.seen.partition(b"\r\n\r\n")[2]
            self.transport.write(ANSWER)


class Http2(asyncio.Protocol):
    """One connection of HTTP/2. Clients open windows wider than an answer, so flow control is not followed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.h2.initiate_connection()
        transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        """Answer each stream as it begins."""
        for event in self.h2.receive_data(data):
            if isinstance(event, RequestReceived):
                self.h2.send_headers(event.stream_id, [(":status", "200"), *FIELDS])
                self.h2.send_data(event.stream_id, BODY, end_stream=True)
        self.transport.write(self.h2.data_to_send())


async def main(ca_file: Path) -> None:
    """Serve until the parent ends this process."""
    authority = Authority()
    authority.write_pem(ca_file)
    loop = asyncio.get_running_loop()
    listeners = [
        await loop.create_server(Http1, "127.0.0.1", 0),
        await loop.create_server(Http1, "127.0.0.1", 0, ssl=authority.server_context(*HOSTS)),
        await loop.create_server(
            Http2, "127.0.0.1", 0, ssl=authority.server_context(*HOSTS, protocols=("h2",))
        ),
    ]
    print(*(one.sockets[0].getsockname()[1] for one in listeners), flush=True)
    await asyncio.gather(*(one.serve_forever() for one in listeners))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
