"""What does a guarded fetch cost beside bare pycurl, and beside aiohttp?

CPU seconds of the client process per 1,000 GET requests of 10 KB over warm loopback connections, six at a
time, over HTTP/1.1, HTTPS and HTTP/2; the server is another process. Runs are interleaved, and of each client
the median of the rounds counts. The limits: `Fetcher.fetch` and `Fetcher.submit` within 1.25 of bare pycurl,
driven the same way (CurlMulti on asyncio, headers collected), and below aiohttp, which speaks no HTTP/2.
All trust the same authority, made for the run.

    python benchmarks/fetch_cost.py [--rounds 7] [--requests 2000] [--protocol HTTPS] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv4Address, ip_network
from pathlib import Path

import aiohttp
import pycurl

from mudroom.address import EgressPolicy, ExceptionScope, IPAddress, parse_url
from mudroom.clock import SystemClock
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import CurlTransport, WireRequest

LIMIT = 1.25
CONCURRENCY = 6
LOOPBACK = IPv4Address("127.0.0.1")
BODY_BYTES = 10_240
SERVER = Path(__file__).parent / "peers" / "answer_server.py"
PROTOCOLS = ("HTTP/1.1", "HTTPS", "HTTP/2")

Get = Callable[[], Awaitable[int]]
Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the answers come from."""

    protocol: str
    port: int
    ca_file: str

    @property
    def scheme(self) -> str:
        """Encrypted or not."""
        return "http" if self.protocol == "HTTP/1.1" else "https"

    @property
    def url(self) -> str:
        """By address."""
        return f"{self.scheme}://127.0.0.1:{self.port}/"

    @property
    def named(self) -> str:
        """By a name, which somebody has to resolve and to judge."""
        return f"{self.scheme}://bench.test:{self.port}/"


def count_up(url: str) -> Iterator[str]:
    """URLs of which none comes twice, as in a crawl."""
    return (f"{url}{number}" for number in itertools.count())


class BareCurl:
    """pycurl as its own documentation would have it: one multi, handles re-used, headers collected."""

    def __init__(self, url: str, ca_file: str | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._waiting: dict[pycurl.Curl, asyncio.Future[None]] = {}
        self._spare: list[pycurl.Curl] = []
        self._timer: asyncio.TimerHandle | None = None
        self._url = url
        self._urls = count_up(url)
        self._ca_file = ca_file

    async def get(self) -> int:
        """Body bytes of one answer."""
        curl = self._spare.pop() if self._spare else self._make()
        body, header = BytesIO(), BytesIO()
        curl.setopt(pycurl.URL, next(self._urls))
        curl.setopt(pycurl.WRITEDATA, body)
        curl.setopt(pycurl.WRITEHEADER, header)
        done = self._waiting[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        await done
        if curl.getinfo(pycurl.RESPONSE_CODE) != 200 or not header.tell():
            raise RuntimeError("the server did not answer")
        self._spare.append(curl)
        return len(body.getvalue())

    def _make(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        if self._ca_file is not None:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        return curl

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


async def open_pycurl(target: Target) -> tuple[Get, Close]:
    bare = BareCurl(target.url, target.ca_file)
    return bare.get, bare.close


async def open_aiohttp(target: Target) -> tuple[Get, Close]:
    trust = ssl.create_default_context(cafile=target.ca_file)
    session = aiohttp.ClientSession(auto_decompress=False, trust_env=False)

    urls = count_up(target.url)

    async def get() -> int:
        async with session.get(next(urls), ssl=trust) as response:
            return len(await response.read())

    return get, session.close


async def open_transport(target: Target) -> tuple[Get, Close]:
    transport = CurlTransport(environ={})
    parsed = parse_url(target.named)
    if parsed is None:
        raise ValueError(target.named)
    paths = count_up("/")
    ca_file = _anchors(target).get("bench.test")

    async def get() -> int:
        request = WireRequest(
            url=parsed._replace(request_target=next(paths)),
            addresses=(LOOPBACK,),
            ca_file=ca_file,
            is_whole=True,
        )
        async with transport.open(request) as response:
            return len(await response.read())

    return get, transport.aclose


def _anchors(target: Target) -> dict[str, str]:
    return {"bench.test": target.ca_file} if target.scheme == "https" else {}


class Loopback:
    """A resolver that knows one address; what a look-up costs is the system's, and not measured here."""

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        """The address of this machine."""
        del host
        return (LOOPBACK,)


async def open_fetcher(target: Target) -> tuple[Get, Close]:
    return _open_engine(target, is_submitted=False)


async def open_submit(target: Target) -> tuple[Get, Close]:
    return _open_engine(target, is_submitted=True)


def _open_engine(target: Target, *, is_submitted: bool) -> tuple[Get, Close]:
    transport = CurlTransport(environ={})
    policy = EgressPolicy(
        ports=frozenset({80, 443, target.port}), allow_networks=(ip_network("127.0.0.0/8"),)
    )
    options = FetchOptions(trust_anchors=_anchors(target))
    fetcher = Fetcher(transport, Loopback(), policy, options, SystemClock())
    urls = count_up(target.named)
    scope = ExceptionScope.operator()

    async def get() -> int:
        request = FetchRequest("GET", next(urls), initiator_scope=scope)
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


async def measure(name: str, target: Target, requests: int) -> float:
    """CPU seconds per 1,000 requests."""
    get, close = await CLIENTS[name](target)

    async def work(count: int) -> None:
        for _ in range(count):
            if await get() != BODY_BYTES:
                raise RuntimeError(f"{name} lost bytes")

    await work(1)  # so that all that follows on HTTP/2 finds its connection
    await asyncio.gather(*(work(10) for _ in range(CONCURRENCY)))
    started = time.process_time()
    await asyncio.gather(*(work(requests // CONCURRENCY) for _ in range(CONCURRENCY)))
    spent = time.process_time() - started
    await close()
    return spent * 1000 / (requests // CONCURRENCY * CONCURRENCY)


def compare(target: Target, rounds: int, requests: int) -> dict[str, float]:
    """The median of each client that speaks the protocol."""
    names = [name for name in CLIENTS if name != "aiohttp" or target.protocol != "HTTP/2"]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            seconds[name].append(asyncio.run(measure(name, target, requests)))
    return {name: statistics.median(measured) for name, measured in seconds.items()}


@contextmanager
def serving() -> Iterator[list[Target]]:
    """The server while it runs."""
    with tempfile.TemporaryDirectory() as folder:
        ca_file = str(Path(folder) / "authority.pem")
        with subprocess.Popen(
            [sys.executable, str(SERVER), ca_file], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                ports = (server.stdout or sys.stdin).readline().split()
                yield [
                    Target(protocol=protocol, port=int(port), ca_file=ca_file)
                    for protocol, port in zip(PROTOCOLS, ports, strict=True)
                ]
            finally:
                server.kill()


def tell(protocol: str, medians: dict[str, float]) -> None:
    """Print one protocol's figures and whether the limits hold."""
    bare = medians["pycurl"]
    print(f"== {protocol}")
    for name, median in medians.items():
        print(f"{name:10} {median:7.3f} s per 1,000 requests   {median / bare:5.2f} of pycurl")
    for name in ("fetcher", "submit"):
        ratio = medians[name] / bare
        verdict = f"{name} / pycurl = {ratio:.2f}, limit {LIMIT}: {'within' if ratio <= LIMIT else 'MISSED'}"
        if "aiohttp" in medians:
            ratio = medians[name] / medians["aiohttp"]
            verdict += f"; / aiohttp = {ratio:.2f}, limit 1: {'within' if ratio < 1 else 'MISSED'}"
        print(verdict)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {}
    with serving() as targets:
        for target in targets:
            if arguments.protocol is None or target.protocol in arguments.protocol:
                found[target.protocol] = compare(target, arguments.rounds, arguments.requests)
                if not arguments.json:
                    tell(target.protocol, found[target.protocol])
    if arguments.json:
        ratios = {
            protocol: {name: median / medians["pycurl"] for name, median in medians.items()}
            for protocol, medians in found.items()
        }
        print(json.dumps({"cpu_seconds_per_1000": found, "ratio_to_pycurl": ratios, "limit": LIMIT}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
