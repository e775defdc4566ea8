"""Peers in bad faith: each ends in a typed failure within its deadline, and costs no memory to speak of."""

import asyncio
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from mudroom.address import EgressPolicy, ExceptionScope
from mudroom.errors import Code, MudroomError
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import CurlTransport, NetLimits
from mudroom.testing.authority import Authority
from mudroom.testing.clocks import FixedClock
from mudroom.testing.hostile import HTTP1_HOSTILITIES, HTTP2_HOSTILITIES, http2_frame
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

LIMITS = NetLimits(
    connect_timeout_seconds=5.0,
    response_timeout_seconds=0.4,
    idle_timeout_seconds=0.3,
    total_timeout_seconds=0.6,
    max_body_bytes=1 << 20,
)
ENDS = {
    Code.PROTOCOL_ERROR,
    Code.CONNECTION_LOST,
    Code.HEADERS_TOO_LARGE,
    Code.BODY_TOO_LARGE,
    Code.RESPONSE_TIMEOUT,
    Code.IDLE_TIMEOUT,
    Code.TOTAL_TIMEOUT,
}
EXACT = {
    "interim answers without end": Code.PROTOCOL_ERROR,
    "header lines without end": Code.HEADERS_TOO_LARGE,
    "a chunk size that is none": Code.PROTOCOL_ERROR,
    "a negative chunk size": Code.PROTOCOL_ERROR,
    "a chunk longer than it says": Code.PROTOCOL_ERROR,
    "a switch of protocols": Code.PROTOCOL_ERROR,
    "a status of four digits": Code.PROTOCOL_ERROR,
    "a version that is none": Code.PROTOCOL_ERROR,
    "trailers without end": Code.HEADERS_TOO_LARGE,
    "one byte, then silence": Code.RESPONSE_TIMEOUT,
}
MAX_TRIES = 6
"""A farewell that names no stream says that none was looked at: libcurl then asks anew, five times at most."""
MAX_GROWTH_BYTES = 48 << 20
"""Of client and server together, which share a process here."""


@pytest.fixture
async def transport() -> AsyncIterator[CurlTransport]:
    transport = CurlTransport(environ={})
    yield transport
    await transport.aclose()


def build(transport: CurlTransport, site: SiteServer, ca_file: Path | None = None) -> Fetcher:
    policy = EgressPolicy(
        ports=frozenset({80, 443, site.port, site.tls_port or site.port}),
        allow_networks=(ip_network("127.0.0.0/8"),),
    )
    anchors = {} if ca_file is None else {"site.test": str(ca_file)}
    options = FetchOptions(limits=LIMITS, trust_anchors=anchors)
    return Fetcher(transport, ScriptedResolver({"site.test": "127.0.0.1"}), policy, options, FixedClock())


async def fail(fetcher: Fetcher, url: str) -> MudroomError:
    request = FetchRequest("GET", url, initiator_scope=ExceptionScope.operator())
    async with asyncio.timeout(10):
        with pytest.raises(MudroomError) as caught:
            await fetcher.fetch(request)
    return caught.value


@pytest.mark.parametrize("name", HTTP1_HOSTILITIES)
async def test_a_hostile_peer_over_http1_ends_typed(
    transport: CurlTransport, name: str, peak_growth: Callable[[], int]
) -> None:
    async with SiteServer(HTTP1_HOSTILITIES[name]) as site:
        error = await fail(build(transport, site), f"http://site.test:{site.port}/")
        assert error.code in ({EXACT[name]} if name in EXACT else ENDS)
        await site.wait_for_close()
    assert peak_growth() < MAX_GROWTH_BYTES


@pytest.mark.parametrize("name", HTTP2_HOSTILITIES)
async def test_a_hostile_peer_over_http2_ends_typed(
    transport: CurlTransport,
    authority: Authority,
    ca_file: Path,
    name: str,
    peak_growth: Callable[[], int],
) -> None:
    tls = authority.server_context("site.test", protocols=("h2",))
    async with SiteServer(HTTP2_HOSTILITIES[name], Route(path="/fine", body="ok"), tls=tls) as site:
        fetcher = build(transport, site, ca_file)
        url = f"https://site.test:{site.tls_port}/"
        error = await fail(fetcher, url)
        assert error.code in ({EXACT[name]} if name in EXACT else ENDS)
        assert {request.protocol for request in site.requests} == {"HTTP/2"}
        assert len(site.requests) <= MAX_TRIES
        await transport.aclose()  # a timed out stream leaves its connection to the others
        await site.wait_for_close()
    assert peak_growth() < MAX_GROWTH_BYTES


async def test_what_a_peer_offers_beside_its_answer_is_never_dialled(
    transport: CurlTransport, authority: Authority, ca_file: Path
) -> None:
    tls = authority.server_context("site.test", "two.test", protocols=("h2",))
    async with SiteServer(Route(path="/")) as elsewhere:
        service = f'h2="127.0.0.1:{elsewhere.port}"; ma=86400, h3="127.0.0.1:{elsewhere.port}"'
        origin = f"https://two.test:{elsewhere.port}".encode()
        frames = (
            http2_frame(12, len(origin).to_bytes(2) + origin),
            http2_frame(10, b"\0\0" + service.encode(), stream=1),
        )
        route = Route(path="/", headers=(("Alt-Svc", service),), frames=frames, body="ok")
        async with SiteServer(route, tls=tls) as site:
            fetcher = build(transport, site, ca_file)
            for url in (f"https://site.test:{site.tls_port}/",) * 3:
                request = FetchRequest("GET", url, initiator_scope=ExceptionScope.operator())
                assert (await fetcher.fetch(request)).decoded == b"ok"
            assert site.total_connections == 1
        assert elsewhere.total_connections == 0


async def test_an_answer_before_the_question_is_no_answer_to_the_next(transport: CurlTransport) -> None:
    """Bytes that a peer sends ahead of time must not be taken for what another URL answers."""
    early = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    honest = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
    then = (Route(path="/*", body="good"),)
    async with SiteServer(Route(path="/*", body="good", headers=(("X", "1"),), then=then)) as site:
        site.add(Route(path="/first", raw=(honest + early,)))
        fetcher = build(transport, site)
        bodies = []
        for path in ("first", "second"):
            request = FetchRequest(
                "GET", f"http://site.test:{site.port}/{path}", initiator_scope=ExceptionScope.operator()
            )
            bodies.append((await fetcher.fetch(request)).body)
        assert bodies == [b"good", b"good"]


async def test_a_redirect_takes_no_key_to_another_port_and_no_token_to_another_host() -> None:
    secrets = (("X-Api-Key", "k"), ("Authorization", "t"), ("Cookie", "c=1"), ("Accept", "text/plain"))
    for target in ("http://site.test:8080/", "https://site.test/", "http://other.test/"):
        moved = PaperAnswer(status=307, headers=(("Location", target),))
        paper = ScriptedTransport({"http://site.test/": moved, target: PaperAnswer()})
        resolver = ScriptedResolver({"site.test": "93.184.215.14", "other.test": "93.184.215.14"})
        policy = EgressPolicy(ports=frozenset({80, 443, 8080}))
        fetcher = Fetcher(paper, resolver, policy, FetchOptions(), FixedClock())
        await fetcher.fetch(FetchRequest("GET", "http://site.test/", headers=secrets))
        last = dict(paper.dials[-1].headers)
        assert not {"X-Api-Key", "Authorization", "Cookie"} & last.keys()
        assert last["Accept"] == "text/plain"
        assert paper.dials[-1].addresses == (ip_address("93.184.215.14"),)


@pytest.mark.parametrize("is_shared", [False, True], ids=["fetch", "submit"])
async def test_a_body_in_crumbs_costs_no_more_memory_than_its_bytes(
    transport: CurlTransport, peak_growth: Callable[[], int], *, is_shared: bool
) -> None:
    """A chunk of two bytes takes seven on the wire, and would take sixty where each is kept by itself."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    crumbs = b"2\r\nxy\r\n" * 10_000
    async with SiteServer(Route(path="/", raw=(head, *(crumbs,) * 100, b"0\r\n\r\n"))) as site:
        policy = EgressPolicy(ports=frozenset({site.port}), allow_networks=(ip_network("127.0.0.0/8"),))
        resolver = ScriptedResolver({"site.test": "127.0.0.1"})
        fetcher = Fetcher(transport, resolver, policy, FetchOptions(), FixedClock())
        url = f"http://site.test:{site.port}/"
        request = FetchRequest("GET", url, initiator_scope=ExceptionScope.operator())
        body = (await (fetcher.submit if is_shared else fetcher.fetch)(request)).body
    assert body == b"xy" * 1_000_000
    assert peak_growth() < MAX_GROWTH_BYTES
