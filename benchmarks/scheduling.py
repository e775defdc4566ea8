"""Does a slow host cost only itself, and does HIGH pass a flood of LOW?

Skewed hosts: 1,000 URLs on a host that takes 50 ms an answer, and 20 hosts with 20 URLs each that answer at
once, all submitted together, the slow ones first or all mixed. The bound is 1,000 x 50 ms / 6 slots; a busy
machine lets 50 ms last longer, so the same is told of an answer as measured alone. Limits: the whole within
1.1 of the bound; the other 400 done, in the median, 5 times earlier than by a scheduler that is first in,
first out (a global slot, then the origin's), which is run beside ours.

A flood: 200 HIGH requests, one after the other, on routes of 20 to 80 ms of a host that 500 LOW requests are
waiting for all the time. Limit: their median latency within 1.5 of that without the flood.

    python benchmarks/scheduling.py [--slow 1000] [--high 200] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_network
from types import TracebackType

from mudroom.address import EgressPolicy, ExceptionScope, IPAddress
from mudroom.clock import SystemClock
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest, Priority, Scheduler, SchedulerOptions, Slots
from mudroom.net import CurlTransport, Headers

SLOW_MS, ORIGIN_SLOTS, GLOBAL_SLOTS = 50, 6, 32
HOSTS, URLS_PER_HOST = 20, 20
FLOOD = 500
BOUND_LIMIT, EARLIER_LIMIT, FLOOD_LIMIT = 1.1, 5.0, 1.5

SERVER = f"""
import asyncio
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 2\\r\\n\\r\\nok"
class Site(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.seen = transport, b""
    def data_received(self, data):
        self.seen += data
        while b"\\r\\n\\r\\n" in self.seen:
            head, _, self.seen = self.seen.partition(b"\\r\\n\\r\\n")
            seconds = int(head.split(b" ")[1].split(b"/")[1]) / 1000
            asyncio.get_running_loop().call_later(seconds, self.transport.write, ANSWER)
async def main():
    loop, port, servers = asyncio.get_running_loop(), 0, []
    for number in range(1, {HOSTS + 2}):
        servers.append(await loop.create_server(Site, f"127.0.0.{{number}}", port))
        port = servers[0].sockets[0].getsockname()[1]
    print(port, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


class FirstInFirstOut:
    """The scheduler that ours is compared with: a global slot in order of arrival, then the origin's."""

    def __init__(self) -> None:
        self.all = asyncio.Semaphore(GLOBAL_SLOTS)
        self.origins: dict[str, asyncio.Semaphore] = {}

    def hold(self, origin: str, host: str, priority: Priority) -> FifoSlot:
        del host, priority
        return FifoSlot(self.all, self.origins.setdefault(origin, asyncio.Semaphore(ORIGIN_SLOTS)))


class FifoSlot:
    """A hop in it."""

    def __init__(self, *gates: asyncio.Semaphore) -> None:
        self._gates = gates
        self._held = AsyncExitStack()

    def raise_priority(self, priority: Priority) -> None:
        del priority

    def note_answer(self, protocol: str, status: int, headers: Headers) -> None:
        del protocol, status, headers

    async def __aenter__(self) -> None:
        for gate in self._gates:
            await self._held.enter_async_context(gate)

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._held.aclose()


class NoNames:
    """A resolver that is never asked: all hosts are addresses."""

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        raise LookupError(host)


def build_scheduler() -> Scheduler:
    options = SchedulerOptions(global_slots=GLOBAL_SLOTS, origin_slots=ORIGIN_SLOTS)
    return Scheduler(options, SystemClock())


@asynccontextmanager
async def open_fetcher(port: int, slots: Slots) -> AsyncIterator[Fetcher]:
    transport = CurlTransport(environ={})
    policy = EgressPolicy(ports=frozenset({80, 443, port}), allow_networks=(ip_network("127.0.0.0/8"),))
    try:
        yield Fetcher(transport, NoNames(), policy, FetchOptions(), SystemClock(), slots=slots)
    finally:
        await transport.aclose()


def ask(url: str, priority: Priority = Priority.NORMAL) -> FetchRequest:
    return FetchRequest("GET", url, priority=priority, initiator_scope=ExceptionScope.operator())


def list_urls(port: int, slow: int, *, mixed: bool) -> list[str]:
    urls = [f"http://127.0.0.1:{port}/{SLOW_MS}/{number}" for number in range(slow)]
    urls += [
        f"http://127.0.0.{host}:{port}/0/{number}"
        for number in range(URLS_PER_HOST)
        for host in range(2, HOSTS + 2)
    ]
    if mixed:
        random.Random(7).shuffle(urls)
    return urls


async def run_skewed(port: int, urls: list[str], *, ours: bool) -> tuple[float, float]:
    """Seconds until all are done, and the median of those until each of the quick 400 is."""
    quick: list[float] = []
    slots: Slots = build_scheduler() if ours else FirstInFirstOut()
    async with open_fetcher(port, slots) as fetcher:
        started = time.perf_counter()

        async def get(url: str) -> None:
            await fetcher.fetch(ask(url))
            if "/0/" in url:
                quick.append(time.perf_counter() - started)

        await asyncio.gather(*map(get, urls))
        return time.perf_counter() - started, statistics.median(quick)


async def run_alone(port: int) -> float:
    """The median time of a slow answer that nothing else is asked beside, in seconds: what 50 ms are here."""
    times = []
    async with open_fetcher(port, build_scheduler()) as fetcher:
        for _ in range(20):
            started = time.perf_counter()
            await fetcher.fetch(ask(f"http://127.0.0.1:{port}/{SLOW_MS}/alone"))
            times.append(time.perf_counter() - started)
    return statistics.median(times)


async def run_flood(port: int, high: int, *, flood: int) -> float:
    """The median latency of HIGH requests, in seconds, while so many LOW ones wait."""
    chance, origin = random.Random(11), f"http://127.0.0.1:{port}"
    async with open_fetcher(port, build_scheduler()) as fetcher:

        async def keep_asking(number: int) -> None:
            route = random.Random(number)
            while True:
                await fetcher.fetch(ask(f"{origin}/{route.randint(20, 80)}/low", Priority.LOW))

        low = [asyncio.create_task(keep_asking(number)) for number in range(flood)]
        latencies = []
        for _ in range(high + 10):
            started = time.perf_counter()
            await fetcher.fetch(ask(f"{origin}/{chance.randint(20, 80)}/high", Priority.HIGH))
            latencies.append(time.perf_counter() - started)
        for task in low:
            task.cancel()
        await asyncio.gather(*low, return_exceptions=True)
        return statistics.median(latencies[10:])  # the first ones open connections


def measure(port: int, slow: int, high: int) -> dict[str, float]:
    bound, answer = slow * SLOW_MS / 1000 / ORIGIN_SLOTS, asyncio.run(run_alone(port))
    figures = {"a slow answer alone, seconds": answer}
    for order in ("slow first", "mixed"):
        urls = list_urls(port, slow, mixed=order == "mixed")
        total, quick = asyncio.run(run_skewed(port, urls, ours=True))
        _, quick_fifo = asyncio.run(run_skewed(port, urls, ours=False))
        figures[f"{order}: all / bound"] = total / bound
        figures[f"{order}: all / bound of answers as measured"] = total / (slow * answer / ORIGIN_SLOTS)
        figures[f"{order}: fifo's others / ours"] = quick_fifo / quick
    alone = asyncio.run(run_flood(port, high, flood=0))
    flooded = asyncio.run(run_flood(port, high, flood=FLOOD))
    figures["HIGH under a flood / alone"] = flooded / alone
    figures["HIGH alone, seconds"] = alone
    return figures


def is_within(name: str, figure: float) -> bool:
    if "bound" in name:
        return figure <= BOUND_LIMIT
    return figure >= EARLIER_LIMIT if "fifo" in name else figure <= FLOOD_LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--slow", type=int, default=1000)
    parser.add_argument("--high", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        port = int((server.stdout or sys.stdin).readline())
        figures = measure(port, arguments.slow, arguments.high)
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    if arguments.json:
        limits = {"all": BOUND_LIMIT, "earlier": EARLIER_LIMIT, "flood": FLOOD_LIMIT}
        print(json.dumps({"figures": figures, "limits": limits}))
        return 0
    for name, figure in figures.items():
        verdict = "" if name.endswith("seconds") else "within" if is_within(name, figure) else "MISSED"
        print(f"{name:46} {figure:7.3f}   {verdict}")
    print(f"limits: {BOUND_LIMIT} of the bound, {EARLIER_LIMIT} times earlier, {FLOOD_LIMIT} under a flood")
    return 0


if __name__ == "__main__":
    sys.exit(main())
