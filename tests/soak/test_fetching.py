"""Long rounds of the fetcher: thousands of requests of every fate, after which nothing of any is left.

Hosts delay, drop, reset, redirect, loop, refuse and never end; callers share, stream, lag, give up and run
out of time. Checked afterwards, not assumed: slots, waiting hops, exchanges, the table of sharing, tasks,
sockets, and the threads of observers.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from mudroom.address import ExceptionScope
from mudroom.assembly import Network, open_fetcher
from mudroom.errors import Code, MudroomError
from mudroom.fetch import Fetcher, FetchLabel, FetchObserver, FetchRequest, NullContext, Priority
from mudroom.fetch.events import CancelledEvent, FailedEvent, FetchEvent, FinishedEvent, StartedEvent
from mudroom.settings import load_settings
from mudroom.testing.routes import Delay, Drop, Endless, Framing, Reset, Route, Step
from mudroom.testing.seen import SeenRequest
from mudroom.testing.server import SiteServer

HOSTS = tuple(f"127.0.0.{number}" for number in range(2, 52))
ENDINGS = (FinishedEvent, FailedEvent, CancelledEvent)
LARGE = 300_000


@dataclass
class Ledger(NullContext):
    """A context that counts how each request ended."""

    ended: Counter[str] = field(default_factory=Counter)
    started: int = 0
    references: Counter[str] = field(default_factory=Counter)

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        del label
        return self

    def on_event(self, event: FetchEvent) -> None:
        if isinstance(event, ENDINGS):
            self.ended[type(event).__name__] += 1
        self.started += isinstance(event, StartedEvent)

    def on_reference_active(self, reference: str) -> None:
        self.references[reference] += 1

    def on_reference_done(self, reference: str) -> None:
        self.references[reference] -= 1


def answer(seen: SeenRequest) -> Route:  # noqa: PLR0911 - a route for each fate
    """The fate that the path names, in the manner that its number settles."""
    _, fate, number = seen.path.split("/")
    chance = random.Random(f"{fate}{number}")  # noqa: S311 - it has to come again
    delay = Delay(chance.random() * 0.02)
    large: tuple[Step, ...] = tuple(bytes([index]) * (LARGE // 100) for index in range(100))
    match fate:
        case "plain":
            return Route(path="", body=(delay, b"x" * chance.randrange(20_000)), framing=Framing.CHUNKED)
        case "large":
            return Route(path="", body=(*large[:50], delay, *large[50:]), framing=Framing.CHUNKED)
        case "endless":
            return Route(path="", body=(Endless(),), framing=Framing.CHUNKED)
        case "drop":
            return Route(path="", body=(b"half", delay, Drop()), content_length=9)
        case "reset":
            return Route(path="", body=(delay, Reset()), content_length=9)
        case "nonsense":
            return Route(path="", raw=(b"HTTP/1.1 banana\r\n\r\n",))
        case "loop":
            return Route(path="", status=302, headers=(("Location", seen.path),))
        case "away":
            host = chance.choice(HOSTS)
            port = seen.header("host").rpartition(":")[2]  # type: ignore[union-attr] - HTTP/1.1 has one
            return Route(path="", status=307, headers=(("Location", f"http://{host}:{port}/plain/{number}"),))
        case "refused":
            return Route(path="", status=302, headers=(("Location", "http://192.168.7.7/"),))
    return Route(path="", status=404, body="not here")


FATES = ("plain",) * 8 + (
    "large",
    "large",
    "endless",
    "drop",
    "reset",
    "nonsense",
    "loop",
    "away",
    "refused",
    "404",
)


class Rounds:
    """Callers of every kind, so many at a time."""

    def __init__(self, fetcher: Fetcher, port: int, seed: int) -> None:
        self._fetcher = fetcher
        self._port = port
        self._random = random.Random(seed)  # noqa: S311 - as above
        self.came: Counter[str] = Counter()

    async def run(self, count: int, at_once: int) -> None:
        numbers = iter(range(0, count, 4))

        async def work() -> None:
            for number in numbers:
                await asyncio.gather(*(self._call(*one) for one in self._draw(number)))

        await asyncio.gather(*(work() for _ in range(at_once // 4)))

    def _draw(self, number: int) -> list[tuple[FetchRequest, str]]:
        """Four requests: of all kinds, or to the same large body, which one of them is slow to read."""
        if self._random.random() < 0.1:
            request = replace(self._make("large", number), is_streaming=True, deadline_seconds=None)
            return [(request, manner) for manner in ("all", "all", "all", "lag")]
        # Of numbers that come again soon after, requests share what is under way.
        shared = [number if self._random.random() < 0.5 else number + more for more in range(4)]
        return [
            (self._make(self._random.choice(FATES), one), self._random.choice(("all", "all", "peek", "lag")))
            for one in shared
        ]

    def _make(self, fate: str, number: int) -> FetchRequest:
        chance = self._random
        return FetchRequest(
            "GET",
            f"http://{HOSTS[number % len(HOSTS)]}:{self._port}/{fate}/{number}",
            priority=chance.choice(list(Priority)),
            initiator_scope=ExceptionScope.operator(),
            is_streaming=chance.random() < 0.4,
            max_body_bytes=1_000_000,
            max_decoded_bytes=1_000_000,
            deadline_seconds=chance.choice((None, None, 20.0, 0.05)),
            reference=f"tab {number % 7}",
        )

    async def _call(self, request: FetchRequest, manner: str) -> None:
        """One request; what it came to is counted, and nothing but a code or a body may come."""
        task = asyncio.ensure_future(self._read(request, manner))
        if self._random.random() < 0.15:
            asyncio.get_running_loop().call_later(self._random.random() * 0.03, task.cancel)
        try:
            self.came[await task] += 1
        except MudroomError as error:
            self.came[error.code.value] += 1
        except asyncio.CancelledError:
            self.came["cancelled"] += 1

    async def _read(self, request: FetchRequest, manner: str) -> str:
        reply = await self._fetcher.submit(request)
        async with reply:
            if manner == "peek":
                return "peeked"
            size = 0
            async for chunk in reply.chunks():
                size += len(chunk)
                if manner == "lag":
                    await asyncio.sleep(0.005)
            if reply.status == 200 and "/large/" in str(request.url):
                assert size == LARGE, "a body that ended well was not whole"
            return "whole"


@asynccontextmanager
async def fetching(ledger: Ledger) -> AsyncIterator[tuple[Fetcher, SiteServer]]:
    async with SiteServer(Route(path="/*", answer=answer), addresses=HOSTS) as site:
        settings = load_settings(
            {},
            overrides={
                ("egress", "allow_networks"): ("127.0.0.0/8",),
                ("egress", "ports"): frozenset({80, 443, site.port}),
                ("fetch", "hsts"): False,
            },
        )
        async with open_fetcher(settings, Network(), context=ledger) as fetcher:
            yield fetcher, site


async def soak(count: int, at_once: int, seed: int) -> Counter[str]:
    """What the requests came to; nothing is left of them, which is asserted."""
    descriptors, tasks, threads = count_descriptors(), asyncio.all_tasks(), threading.enumerate()
    ledger = Ledger()
    async with fetching(ledger) as (fetcher, site):
        rounds = Rounds(fetcher, site.port, seed)
        await rounds.run(count, at_once)
        # Whoever was cancelled has returned already; what they shared ends a turn of the loop later.
        async with asyncio.timeout(20):
            while fetcher.in_flight:  # noqa: ASYNC110 - the fetcher tells nobody when the last has ended
                await asyncio.sleep(0)
        slots = fetcher._slots
        assert (slots.running, slots.waiting, slots.origins) == (0, 0, 0)  # type: ignore[attr-defined]
        assert (fetcher._sharing._open, fetcher._sharing._running) == ({}, {})
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert count_descriptors() <= descriptors
    assert threading.enumerate() == threads
    assert rounds.came.total() == count
    assert ledger.ended.total() == count
    assert set(ledger.references.values()) == {0}
    return rounds.came


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone


EVERY_END = {
    "whole",
    "peeked",
    "cancelled",
    Code.BODY_TOO_LARGE.value,
    Code.CONNECTION_LOST.value,
    Code.PROTOCOL_ERROR.value,
    Code.REDIRECT_LOOP.value,
    Code.DENIED_ADDRESS.value,
    Code.DEADLINE_EXCEEDED.value,
    Code.CONSUMER_LAGGED.value,
}


async def test_of_three_hundred_requests_nothing_is_left() -> None:
    came = await soak(300, at_once=60, seed=7)
    assert came["whole"] > 50
    assert came.keys() >= {"whole", "cancelled", Code.BODY_TOO_LARGE.value}


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_of_ten_thousand_requests_to_fifty_hosts_nothing_is_left() -> None:
    came = await soak(10_000, at_once=400, seed=11)
    assert came["whole"] > 2_500
    assert came.keys() >= EVERY_END
