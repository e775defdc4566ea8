import asyncio
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from typing import Any

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope, ParsedUrl, parse_url
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest, Slots, Telling
from mudroom.fetch.hsts import Hsts
from mudroom.net import CurlTransport, NetLimits, Transport
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Drop, Route, Step, Wait
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport


@pytest.fixture
async def transport() -> AsyncIterator[CurlTransport]:
    transport = CurlTransport(environ={})
    yield transport
    await transport.aclose()


@pytest.fixture
def fetcher_for(transport: CurlTransport) -> Callable[..., Fetcher]:
    """A fetcher that may reach the sites given by their origins, and by name on their ports."""

    def build(*sites: SiteServer, resolver: ScriptedResolver | None = None, **options: Any) -> Fetcher:
        ports = {80, 443} | {port for site in sites for port in (site.port, site.tls_port) if port}
        policy = EgressPolicy(
            ports=frozenset(ports),
            allow_origins=tuple(AllowedOrigin.parse(site.origin) for site in sites),
            allow_networks=(ip_network("127.0.0.0/8"),),
        )
        return Fetcher(
            transport,
            resolver if resolver is not None else ScriptedResolver(),
            policy,
            FetchOptions(**options),
            FixedClock(),
        )

    return build


@pytest.fixture
def example() -> ParsedUrl:
    url = parse_url("https://example.org/")
    assert url is not None
    return url


class World:
    """One site to be fetched from, on paper or over real sockets, told in the same words.

    Shapes: the steps of a body are bytes, events to wait for, and DROP, which ends it too early.
    """

    DROP = "drop"

    def __init__(self, transport: Transport, policy: EgressPolicy) -> None:
        self.clock = FixedClock()
        self._transport = transport
        self._policy = policy
        self._fetchers: list[Fetcher] = []

    def open(
        self,
        *,
        slots: Slots | None = None,
        telling: Telling | None = None,
        hsts: Hsts | None = None,
        limits: NetLimits | None = None,
        **options: Any,
    ) -> Fetcher:
        """A fetcher of its own options."""
        fetcher = Fetcher(
            self._transport,
            ScriptedResolver({"site.test": "93.184.215.14", "other.test": "93.184.215.15"}),
            self._policy,
            FetchOptions(limits=limits or NetLimits(), **options),
            self.clock,
            slots=slots,
            telling=telling,
            hsts=hsts,
        )
        self._fetchers.append(fetcher)
        return fetcher

    def ask(self, path: str, method: str = "GET", **settings: Any) -> FetchRequest:
        """A request that the operator named."""
        return FetchRequest(
            method, self.url(path), **{"initiator_scope": ExceptionScope.operator(), **settings}
        )

    def url(self, path: str) -> str:
        raise NotImplementedError

    def serve(self, path: str, *steps: Any, gate: asyncio.Event | None = None, **answer: Any) -> None:
        raise NotImplementedError

    def hit_count(self, path: str) -> int:
        raise NotImplementedError

    async def wait_for_hits(self, path: str, count: int) -> None:
        raise NotImplementedError

    async def settle(self) -> None:
        """Return when nothing is left: no exchange, no task of one, no connection that is in use."""
        for _ in range(100_000):
            if not any(fetcher.in_flight for fetcher in self._fetchers):
                return
            await asyncio.sleep(0)
        raise AssertionError("exchanges are left")


class PaperWorld(World):
    def __init__(self) -> None:
        self.transport = ScriptedTransport()
        super().__init__(self.transport, EgressPolicy())

    def url(self, path: str) -> str:
        return f"http://site.test{path}"

    def serve(self, path: str, *steps: Any, gate: asyncio.Event | None = None, **answer: Any) -> None:
        body, ending = steps, None
        if steps and steps[-1] == self.DROP:
            body, ending = steps[:-1], FetchFailed(Code.CONNECTION_LOST, "site.test closed the connection")
        script = PaperAnswer(body=body, gate=gate, break_off=ending, **answer)
        self.transport.set_answers(self.url(path), script)

    def hit_count(self, path: str) -> int:
        return self.transport.dialled.count(self.url(path))

    async def wait_for_hits(self, path: str, count: int) -> None:
        for _ in range(1000):
            if self.hit_count(path) >= count:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"{path} was asked {self.hit_count(path)} times")

    async def settle(self) -> None:
        await super().settle()
        assert self.transport.open_exchanges == 0


class SocketWorld(World):
    def __init__(self, transport: CurlTransport, site: SiteServer) -> None:
        self.site = site
        super().__init__(
            transport,
            EgressPolicy(
                ports=frozenset({80, 443, site.port}), allow_origins=(AllowedOrigin.parse(site.origin),)
            ),
        )

    def url(self, path: str) -> str:
        return self.site.url(path)

    def serve(self, path: str, *steps: Any, gate: asyncio.Event | None = None, **answer: Any) -> None:
        size = sum(len(step) for step in steps if isinstance(step, bytes))
        body: tuple[Step, ...] = tuple(
            Wait(step) if isinstance(step, asyncio.Event) else Drop() if step == self.DROP else step
            for step in steps
        )
        if body and (Drop() in body or isinstance(body[-1], Wait)):
            answer.setdefault("content_length", size + 1)
        self.site.add(Route(path=path, body=body, gate=gate, **answer))

    def hit_count(self, path: str) -> int:
        return self.site.hit_count(path)

    async def wait_for_hits(self, path: str, count: int) -> None:
        await self.site.wait_for_requests(count, path)


@pytest.fixture
async def paper() -> PaperWorld:
    return PaperWorld()


@pytest.fixture
async def sockets(transport: CurlTransport) -> AsyncIterator[SocketWorld]:
    async with SiteServer() as site:
        yield SocketWorld(transport, site)


@pytest.fixture(params=["paper", "sockets"])
def world(request: pytest.FixtureRequest, paper: PaperWorld, sockets: SocketWorld) -> World:
    """Both worlds, one after the other."""
    return paper if request.param == "paper" else sockets
