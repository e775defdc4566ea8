"""How much faster is bare pycurl to one sink than a shared stream to three consumers, and what does that hold?

200 bodies of 10 MB from another process over warm loopback connections, six at a time. Bare pycurl counts the bytes
of each in its write callback. The fetcher gives each to three callers who ask for it at the same time: one request,
three streams, each read to its end. MB of network traffic per second of wall time, and of the client's CPU; runs are
interleaved, each in a process of its own, and the medians count. Peak memory is the process's; the limit is 150 MB.

    python benchmarks/streaming.py [--bodies 200] [--rounds 3] [--consumers 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, ip_network

import pycurl
from fetch_cost import BareCurl

from mudroom.address import EgressPolicy, ExceptionScope, IPAddress
from mudroom.clock import SystemClock
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import CurlTransport, NetLimits

BODY_BYTES = 10 * 1024 * 1024
CONCURRENCY = 6
LIMIT_MB = 150

SERVER = f"""
import asyncio
BODY = b"x" * {BODY_BYTES}
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: video/mp4\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(BODY)
class Site(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.seen = transport, b""
    def data_received(self, data):
        self.seen += data
        while b"\\r\\n\\r\\n" in self.seen:
            self.seen = self.seen.partition(b"\\r\\n\\r\\n")[2]
            self.transport.write(HEAD)
            self.transport.write(BODY)
async def main():
    server = await asyncio.get_running_loop().create_server(Site, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

Get = Callable[[int], Awaitable[int]]


class Counting(BareCurl):
    """Bare pycurl that keeps nothing of a body."""

    async def get_body(self, number: int) -> int:
        """The bytes of one body."""
        del number
        curl = self._spare.pop() if self._spare else pycurl.Curl()
        received = 0

        def count(data: bytes) -> None:
            nonlocal received
            received += len(data)

        curl.setopt(pycurl.URL, self._url)
        curl.setopt(pycurl.WRITEFUNCTION, count)
        done = self._waiting[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        await done
        self._spare.append(curl)
        return received


class Loopback:
    """A resolver that knows one address."""

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        """The address of this machine."""
        del host
        return (IPv4Address("127.0.0.1"),)


async def measure(client: str, port: int, bodies: int, consumers: int) -> dict[str, float]:
    """One run in this process: MB a second of wall and of CPU time, and the peak of memory in MB."""
    if client == "pycurl":
        bare = Counting(f"http://127.0.0.1:{port}/")
        get, close = bare.get_body, bare.close
    else:
        get, close = open_fetcher(port, consumers)
    numbers = iter(range(bodies))

    async def work() -> None:
        for number in numbers:
            if await get(number) != BODY_BYTES:
                raise RuntimeError(f"{client} lost bytes")

    started, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    wall, cpu = time.perf_counter() - started, time.process_time() - spent
    await close()
    megabytes = bodies * BODY_BYTES / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mb_per_second": megabytes / wall, "mb_per_cpu_second": megabytes / cpu, "peak_mb": peak}


def open_fetcher(port: int, consumers: int) -> tuple[Get, Callable[[], Awaitable[None]]]:
    transport = CurlTransport(environ={})
    policy = EgressPolicy(ports=frozenset({80, 443, port}), allow_networks=(ip_network("127.0.0.0/8"),))
    options = FetchOptions(limits=NetLimits(max_body_bytes=1 << 30), max_decoded_bytes=1 << 30)
    fetcher = Fetcher(transport, Loopback(), policy, options, SystemClock())

    async def read(request: FetchRequest) -> int:
        size = 0
        async with await fetcher.submit(request) as reply:
            async for chunk in reply.chunks():
                size += len(chunk)
        return size

    async def get(number: int) -> int:
        url = f"http://bench.test:{port}/{number}"
        request = FetchRequest("GET", url, initiator_scope=ExceptionScope.operator(), is_streaming=True)
        sizes = await asyncio.gather(*(read(request) for _ in range(consumers)))
        return min(sizes)

    return get, transport.aclose


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--consumers", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", nargs=2, metavar=("CLIENT", "PORT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        client, port = arguments.run
        print(json.dumps(asyncio.run(measure(client, int(port), arguments.bodies, arguments.consumers))))
        return 0
    runs = run_all(arguments)
    medians = {
        client: {name: statistics.median(run[name] for run in rounds) for name in rounds[0]}
        for client, rounds in runs.items()
    }
    ratio = medians["pycurl"]["mb_per_second"] / medians["fetcher"]["mb_per_second"]
    if arguments.json:
        print(json.dumps({"medians": medians, "pycurl_to_fetcher": ratio, "limit_peak_mb": LIMIT_MB}))
        return 0
    for client, figures in medians.items():
        print(f"{client:8} " + "   ".join(f"{name} {value:8.1f}" for name, value in figures.items()))
    peak = medians["fetcher"]["peak_mb"]
    print(f"pycurl to one / fetcher to {arguments.consumers} = {ratio:.2f} by wall time")
    print(f"peak memory {peak:.0f} MB, limit {LIMIT_MB}: {'within' if peak <= LIMIT_MB else 'MISSED'}")
    return 0


def run_all(arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    runs: dict[str, list[dict[str, float]]] = {"pycurl": [], "fetcher": []}
    try:
        port = (server.stdout or sys.stdin).readline().strip()
        options = ["--bodies", str(arguments.bodies), "--consumers", str(arguments.consumers)]
        for _ in range(arguments.rounds):
            for client, rounds in runs.items():
                command = [sys.executable, __file__, *options, "--run", client, port]
                rounds.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    return runs


if __name__ == "__main__":
    sys.exit(main())
