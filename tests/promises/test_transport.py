"""What every transport promises: libcurl on real sockets, and the one on paper that tests lean on."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address

import pytest

from mudroom.address import parse_url
from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed, MudroomError
from mudroom.net import CurlTransport, NetLimits, Transport, WireRequest, WireResponse
from mudroom.testing.routes import Drop, Framing, Route, Stall, Wait
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, to be given by a socket or by paper."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[bytes, ...] = ()
    breaks_off: bool = False
    body_gate: asyncio.Event | None = None


World = Callable[[Answer], Awaitable[tuple[Transport, WireRequest]]]


def to_request(url: str, **limits: int) -> WireRequest:
    parsed = parse_url(url)
    assert parsed is not None
    return WireRequest(url=parsed, addresses=(ip_address("127.0.0.1"),), limits=NetLimits(**limits))


@pytest.fixture
async def real() -> AsyncIterator[World]:
    transport = CurlTransport(environ={})
    async with SiteServer() as site:

        async def make(answer: Answer) -> tuple[Transport, WireRequest]:
            gate = () if answer.body_gate is None else (Wait(answer.body_gate),)
            steps = (*gate, *answer.chunks, *((Drop(),) if answer.breaks_off else ()))
            site.add(
                Route(
                    path="/",
                    status=answer.status,
                    content_type=None,
                    headers=answer.headers,
                    body=steps,
                    framing=Framing.CHUNKED,
                )
            )
            return transport, to_request(site.url("/"))

        yield make
        await transport.aclose()


@pytest.fixture
async def paper() -> World:
    async def make(answer: Answer) -> tuple[Transport, WireRequest]:
        lost = FetchFailed(Code.CONNECTION_LOST, "site.test broke off") if answer.breaks_off else None
        script = PaperAnswer(
            status=answer.status,
            content_type=None,
            headers=answer.headers,
            body=answer.chunks,
            break_off=lost,
            body_gate=answer.body_gate,
        )
        return ScriptedTransport({"http://site.test/": script}), to_request("http://site.test/")

    return make


@pytest.fixture(params=["real", "paper"])
def world(request: pytest.FixtureRequest, real: World, paper: World) -> World:
    return real if request.param == "real" else paper


async def failure(transport: Transport, request: WireRequest) -> MudroomError:
    with pytest.raises(MudroomError) as caught:
        await read(transport, request)
    return caught.value


async def read(transport: Transport, request: WireRequest) -> bytes:
    async with transport.open(request) as response:
        return await response.read()


@pytest.mark.parametrize("status", [200, 301, 404, 500])
async def test_any_status_is_an_answer_with_its_headers_in_order(world: World, status: int) -> None:
    headers = (("X-B", "1"), ("X-A", "2"), ("X-B", "3"))
    transport, request = await world(Answer(status=status, headers=headers, chunks=(b"ab", b"c")))
    async with transport.open(request) as response:
        assert response.status == status
        assert response.address == "127.0.0.1"
        assert [pair for pair in response.headers if pair in headers] == list(headers)
        assert response.raw_header.startswith(b"HTTP/1.1 ")
        assert response.raw_header.endswith(b"\r\n\r\n")
        assert await response.read() == b"abc"
        assert response.received_bytes == 3


async def test_chunks_and_the_whole_are_the_same_bytes_still_encoded(world: World) -> None:
    body = gzip.compress(b"x" * 50_000)
    answer = Answer(headers=(("Content-Encoding", "gzip"),), chunks=(body[:50], body[50:]))
    transport, request = await world(answer)
    assert await read(transport, request) == body
    async with transport.open(request) as response:
        assert b"".join([chunk async for chunk in response.chunks()]) == body


async def test_headers_are_there_before_the_body(world: World) -> None:
    gate = asyncio.Event()
    transport, request = await world(Answer(chunks=(b"late",), body_gate=gate))
    async with transport.open(request) as response:
        assert response.status == 200
        gate.set()
        assert await response.read() == b"late"


@pytest.mark.parametrize(("limit", "is_read"), [(6, True), (5, False)])
async def test_the_cap_is_exact_and_typed(world: World, limit: int, is_read: bool) -> None:
    transport, request = await world(Answer(chunks=(b"abc", b"def")))
    capped = WireRequest(url=request.url, addresses=request.addresses, limits=NetLimits(max_body_bytes=limit))
    if is_read:
        assert await read(transport, capped) == b"abcdef"
    else:
        error = await failure(transport, capped)
        assert isinstance(error, ContentRefused)
        assert error.code is Code.BODY_TOO_LARGE


async def test_a_body_that_breaks_off_is_a_failure_never_an_end(world: World) -> None:
    transport, request = await world(Answer(chunks=(b"part",), breaks_off=True))
    assert (await failure(transport, request)).code is Code.CONNECTION_LOST
    async with transport.open(request) as response:
        chunks: list[bytes] = []
        with pytest.raises(FetchFailed) as caught:
            await collect(response, chunks)
        assert b"".join(chunks) == b"part"
        assert caught.value.code is Code.CONNECTION_LOST


async def collect(response: WireResponse, into: list[bytes]) -> None:
    async for chunk in response.chunks():
        into.append(chunk)  # noqa: PERF401 - what came before the failure is wanted


async def test_a_body_need_not_be_read(world: World) -> None:
    transport, request = await world(Answer(chunks=(b"x" * 10,)))
    for _ in range(3):
        async with transport.open(request) as response:
            assert response.status == 200


async def test_cancelling_ends_at_once(world: World) -> None:
    transport, request = await world(Answer(chunks=(b"never",), body_gate=asyncio.Event()))
    task = asyncio.create_task(read(transport, request))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_request_that_was_judged_for_nowhere_goes_nowhere() -> None:
    url = to_request("http://site.test/").url
    transport = CurlTransport(environ={})
    with pytest.raises((FetchFailed, EgressRefused)):
        await read(transport, WireRequest(url=url, addresses=()))
    await transport.aclose()


async def test_closing_the_transport_lets_no_one_wait_for_ever() -> None:
    transport = CurlTransport(environ={})
    async with SiteServer(Route(path="/", body=(Stall(),), content_length=9)) as site:
        task = asyncio.create_task(read(transport, to_request(site.url("/"))))
        await site.wait_for_requests(1)
        await transport.aclose()
        with pytest.raises(FetchFailed):
            await task
