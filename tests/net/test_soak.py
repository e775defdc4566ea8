"""Many exchanges in disorder: afterwards no handle, socket or task is left."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mudroom.errors import MudroomError
from mudroom.net import CurlTransport, WireRequest
from mudroom.testing.routes import Drop, Framing, Reset, Route, Stall
from mudroom.testing.server import SiteServer

Wire = Callable[..., WireRequest]

ROUTES = (
    Route(path="/ok", body="ok" * 100),
    Route(path="/close", body="ok", closes=True),
    Route(path="/chunked", body=(b"a" * 5000, b"b"), framing=Framing.CHUNKED),
    Route(path="/drop", body=(b"a", Drop()), content_length=9),
    Route(path="/reset", body=(b"a", Reset()), content_length=9),
    Route(path="/stall", body=(b"a", Stall()), content_length=9),
    Route(path="/mute", raw=(Stall(),)),
)


async def run(transport: CurlTransport, request: WireRequest, patience: float | None) -> str:
    try:
        async with asyncio.timeout(patience), transport.open(request) as response:
            return str(len(await response.read()))
    except MudroomError as error:
        return error.code
    except TimeoutError:
        return "gave up"


def count_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(20))])
async def test_disorder_leaves_nothing_behind(wire: Wire, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - the same disorder every time
    before = count_descriptors()
    transport = CurlTransport(environ={})
    async with SiteServer(*ROUTES, ipv6=True) as site:
        tasks = []
        for number in range(400):
            path = dice.choice(ROUTES).path
            host = f"h{number % 5}.test"
            address = dice.choice(["127.0.0.1", "::1"])
            request = wire(
                f"http://{host}:{site.port}{path}",
                address,
                partition=dice.choice(["", "other"]),
                idle_timeout_seconds=0.1,
                response_timeout_seconds=0.3,
            )
            patience = 0.02 if dice.random() < 0.2 else None
            tasks.append(asyncio.create_task(run(transport, request, patience)))
            if number % 20 == 0:
                await asyncio.sleep(0)
        results = await asyncio.gather(*tasks)
        assert {"200", "2", "5001", "CONNECTION_LOST", "gave up"} <= set(results)
        await transport.aclose()
        await site.wait_for_close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert count_descriptors() <= before
