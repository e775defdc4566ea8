"""How long a chain of redirects may take: time of peers and resolvers counts, waits of ours do not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address

import pytest

from mudroom.address import EgressPolicy, ExceptionScope, ParsedUrl
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import WireRequest, WireResponse
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

CHAIN = {
    f"http://h{n}.test/": PaperAnswer(status=302, headers=(("Location", f"http://h{n + 1}.test/"),))
    for n in range(9)
}
NAMES = {f"h{n}.test": "93.184.215.14" for n in range(10)}


class SlowTransport:
    """Peers that take their time to answer."""

    def __init__(self, clock: FixedClock, seconds: float) -> None:
        self.inner = ScriptedTransport(CHAIN)
        self._clock = clock
        self._seconds = seconds

    @asynccontextmanager
    async def open(self, request: WireRequest) -> AsyncIterator[WireResponse]:
        async with self.inner.open(request) as response:
            self._clock.advance(min(self._seconds, request.limits.response_timeout_seconds))
            yield response

    async def aclose(self) -> None:
        await self.inner.aclose()

    @property
    def timeouts(self) -> list[float]:
        return [request.limits.response_timeout_seconds for request in self.inner.dials]


class SlowResolver(ScriptedResolver):
    """A resolver that takes its time."""

    def __init__(self, clock: FixedClock, seconds: float) -> None:
        super().__init__(NAMES)
        self._clock = clock
        self._seconds = seconds

    async def resolve(self, host: str) -> tuple[IPv4Address | IPv6Address, ...]:
        self._clock.advance(self._seconds)
        return await super().resolve(host)


async def follow(
    answer_seconds: float, lookup_seconds: float, wait_seconds: float = 0.0, **options: float
) -> tuple[FetchFailed, SlowTransport]:
    clock = FixedClock()

    async def wait(_url: ParsedUrl, _scope: ExceptionScope) -> None:
        clock.advance(wait_seconds)

    transport = SlowTransport(clock, answer_seconds)
    fetcher = Fetcher(
        transport, SlowResolver(clock, lookup_seconds), EgressPolicy(), FetchOptions(**options), clock
    )
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(FetchRequest("GET", "http://h0.test/", hop_check=wait))
    return caught.value, transport


SLOW = [
    ("slow answers", 50.0, 0.0, [60, 60, 20]),
    ("slow look-ups", 0.0, 45.0, [60, 30]),
    ("both", 40.0, 5.0, [60, 60, 25]),
]


@pytest.mark.parametrize(
    ("answer", "lookup", "timeouts"), [row[1:] for row in SLOW], ids=[row[0] for row in SLOW]
)
async def test_one_time_holds_for_all_redirects(answer: float, lookup: float, timeouts: list[float]) -> None:
    error, transport = await follow(answer, lookup)
    assert error.code is Code.RESPONSE_TIMEOUT
    assert len(error.hops) == len(timeouts)
    assert transport.timeouts == timeouts


async def test_waits_of_ours_do_not_count() -> None:
    error, transport = await follow(50.0, 0.0, wait_seconds=1000.0)
    assert transport.timeouts == [60, 60, 20]
    assert "took too long" in error.message


async def test_the_first_hop_has_no_more_time_than_all_together() -> None:
    _, transport = await follow(8.0, 0.0, chain_timeout_seconds=10.0)
    assert transport.timeouts == [10, 2]
