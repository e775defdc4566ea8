"""What does a guarded fetch cost beside bare pycurl, and beside aiohttp?

CPU seconds of the client process per 1,000 GET requests of 10 KB over warm loopback connections, six at a
time; the server is another process. Runs are interleaved and the median of the rounds counts. The limit:
`Fetcher.fetch` within 1.3 of bare pycurl, driven the same way (CurlMulti on asyncio, headers collected).
`submit` is the same with all that sharing needs: a task and a table for what nobody else asks.

    python benchmarks/fetch_cost.py [--rounds 7] [--requests 2000] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from ipaddress import IPv4Address, ip_network

import aiohttp
import pycurl

from mudroom.address import EgressPolicy, ExceptionScope, IPAddress, parse_url
from mudroom.clock import SystemClock
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import CurlTransport, WireRequest

LIMIT = 1.3
CONCURRENCY = 6
LOOPBACK = IPv4Address("127.0.0.1")
BODY_BYTES = 10_240

SERVER = f"""
import asyncio
BODY = b"x" * {BODY_BYTES}
ANSWER = (b"HTTP/1.1 200 OK\\r\\nServer: bench\\r\\nDate: Mon, 02 Nov 2026 10:00:00 GMT\\r\\n"
    b"Content-Type: text/html; charset=utf-8\\r\\nCache-Control: max-age=600\\r\\nETag: \\"abc\\"\\r\\n"
    b"Content-Length: %d\\r\\n\\r\\n" % len(BODY)) + BODY
class Site(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.seen = transport, b""
    def data_received(self, data):
        self.seen += data
        while b"\\r\\n\\r\\n" in self.seen:
            self.seen = self.seen.partition(b"\\r\\n\\r\\n")[2]
            self.transport.write(ANSWER)
async def main():
    server = await asyncio.get_running_loop().create_server(Site, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

Get = Callable[[], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


class BareCurl:
    """pycurl as its own documentation would have it: one multi, handles re-used, headers collected."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._waiting: dict[pycurl.Curl, asyncio.Future[None]] = {}
        self._spare: list[pycurl.Curl] = []
        self._timer: asyncio.TimerHandle | None = None
        self._url = url

    async def get(self) -> int:
        """Body bytes of one answer."""
        curl = self._spare.pop() if self._spare else pycurl.Curl()
        body, header = BytesIO(), BytesIO()
        curl.setopt(pycurl.URL, self._url)
        curl.setopt(pycurl.WRITEDATA, body)
        curl.setopt(pycurl.WRITEHEADER, header)
        done = self._waiting[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        await done
        if curl.getinfo(pycurl.RESPONSE_CODE) != 200 or not header.tell():
            raise RuntimeError("the server did not answer")
        self._spare.append(curl)
        return len(body.getvalue())

    async def close(self) -> None:
        """Close the pool."""
        self._multi.close()

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what & pycurl.POLL_REMOVE:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            return
        if what & pycurl.POLL_IN:
            self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        if what & pycurl.POLL_OUT:
            self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        else:
            self._loop.remove_writer(fd)

    def _on_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds >= 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        _, running = self._multi.socket_action(fd, events)
        if running < len(self._waiting):
            _, complete, failed = self._multi.info_read()
            for curl in (*complete, *(one[0] for one in failed)):
                self._multi.remove_handle(curl)
                self._waiting.pop(curl).set_result(None)


async def open_pycurl(url: str) -> tuple[Get, Close]:
    bare = BareCurl(url)
    return bare.get, bare.close


async def open_aiohttp(url: str) -> tuple[Get, Close]:
    session = aiohttp.ClientSession(auto_decompress=False, trust_env=False)

    async def get() -> int:
        async with session.get(url) as response:
            return len(await response.read())

    return get, session.close


async def open_transport(url: str) -> tuple[Get, Close]:
    transport = CurlTransport(environ={})
    parsed = parse_url(url)
    if parsed is None or parsed.address is None:
        raise ValueError(url)
    request = WireRequest(url=parsed, addresses=(parsed.address,))

    async def get() -> int:
        async with transport.open(request) as response:
            return len(await response.read())

    return get, transport.aclose


class Loopback:
    """A resolver that knows one address; what a look-up costs is the system's, and not measured here."""

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        """The address of this machine."""
        del host
        return (LOOPBACK,)


async def open_fetcher(url: str) -> tuple[Get, Close]:
    return _open_engine(url, is_submitted=False)


async def open_submit(url: str) -> tuple[Get, Close]:
    return _open_engine(url, is_submitted=True)


def _open_engine(url: str, *, is_submitted: bool) -> tuple[Get, Close]:
    transport = CurlTransport(environ={})
    port = int(url.rstrip("/").rpartition(":")[2])
    policy = EgressPolicy(ports=frozenset({80, 443, port}), allow_networks=(ip_network("127.0.0.0/8"),))
    fetcher = Fetcher(transport, Loopback(), policy, FetchOptions(), SystemClock())
    named = f"http://bench.test:{port}/"
    scope = ExceptionScope.operator()
    numbers = itertools.count()

    async def get() -> int:
        """Each URL is another one: a crawl asks none twice."""
        request = FetchRequest("GET", f"{named}{next(numbers)}", initiator_scope=scope)
        if is_submitted:
            return len((await fetcher.submit(request)).body)
        return len((await fetcher.fetch(request)).decoded)

    return get, transport.aclose


CLIENTS = {
    "pycurl": open_pycurl,
    "aiohttp": open_aiohttp,
    "transport": open_transport,
    "fetcher": open_fetcher,
    "submit": open_submit,
}


async def measure(name: str, url: str, requests: int) -> float:
    """CPU seconds per 1,000 requests."""
    get, close = await CLIENTS[name](url)

    async def work(count: int) -> None:
        for _ in range(count):
            if await get() != BODY_BYTES:
                raise RuntimeError(f"{name} lost bytes")

    await asyncio.gather(*(work(5) for _ in range(CONCURRENCY)))
    started = time.process_time()
    await asyncio.gather(*(work(requests // CONCURRENCY) for _ in range(CONCURRENCY)))
    spent = time.process_time() - started
    await close()
    return spent * 1000 / (requests // CONCURRENCY * CONCURRENCY)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        port = int((server.stdout or sys.stdin).readline())
        url = f"http://127.0.0.1:{port}/"
        seconds: dict[str, list[float]] = {name: [] for name in CLIENTS}
        for _ in range(arguments.rounds):
            for name, rounds in seconds.items():
                rounds.append(asyncio.run(measure(name, url, arguments.requests)))
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    medians = {name: statistics.median(rounds) for name, rounds in seconds.items()}
    ratio = medians["fetcher"] / medians["pycurl"]
    if arguments.json:
        print(json.dumps({"cpu_seconds_per_1000": medians, "ratio_to_pycurl": ratio, "limit": LIMIT}))
    else:
        for name, median in medians.items():
            print(
                f"{name:10} {median:7.3f} s per 1,000 requests   {median / medians['pycurl']:5.2f} of pycurl"
            )
        print(f"fetcher / pycurl = {ratio:.2f}, limit {LIMIT}: {'within' if ratio <= LIMIT else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
