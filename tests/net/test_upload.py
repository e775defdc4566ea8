"""Request bodies that are sent as they come."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.net import CurlTransport, WireRequest
from mudroom.testing.answers import echo
from mudroom.testing.authority import Authority
from mudroom.testing.routes import Drop, Route, Stall
from mudroom.testing.server import SiteServer

FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Wire = Callable[..., WireRequest]


class Body:
    """An upload in parts, which notes how it was asked for."""

    def __init__(self, *parts: bytes, length: int | None = None, failure: Exception | None = None) -> None:
        self.parts = parts
        self.length = length
        self.failure = failure
        self.opened = 0
        self.given = 0
        self.closed = 0

    async def open(self) -> AsyncIterator[bytes]:
        self.opened += 1
        try:
            for part in self.parts:
                self.given += len(part)
                yield part
            if self.failure is not None:
                raise self.failure
        finally:
            self.closed += 1


async def read(transport: CurlTransport, request: WireRequest) -> bytes:
    async with transport.open(request) as response:
        return await response.read()


async def send(transport: CurlTransport, wire: Wire, url: str, body: Any, **settings: Any) -> dict[str, Any]:
    answer = await read(transport, wire(url, method="POST", body=body, **settings))
    return dict(json.loads(answer))


BODIES: list[tuple[str, tuple[bytes, ...]]] = [
    ("nothing", ()),
    ("one part", (b"hello",)),
    ("many parts, some empty", (b"a", b"", b"bc", b"", b"d")),
    ("a part larger than any buffer", (b"x" * 300_000,)),
    ("many large parts", tuple(bytes([number]) * 50_000 for number in range(20))),
]


@pytest.mark.parametrize("is_length_known", [True, False])
@pytest.mark.parametrize("parts", [row[1] for row in BODIES], ids=[row[0] for row in BODIES])
async def test_a_body_arrives_as_it_was_given(
    transport: CurlTransport, wire: Wire, parts: tuple[bytes, ...], is_length_known: bool
) -> None:
    whole = b"".join(parts)
    async with SiteServer(echo("/")) as site:
        body = Body(*parts, length=len(whole) if is_length_known else None)
        seen = await send(transport, wire, site.url("/"), body)
    assert seen["body"].encode("latin-1") == whole
    names = {name.lower(): value for name, value in seen["headers"]}
    assert names.get("content-length") == (str(len(whole)) if is_length_known else None)
    assert names.get("transfer-encoding") == (None if is_length_known else "chunked")
    assert "expect" not in names
    assert (body.opened, body.closed) == (1, 1)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_the_method_stays_and_the_next_request_inherits_nothing(
    transport: CurlTransport, wire: Wire, method: str
) -> None:
    async with SiteServer(echo("/")) as site:
        await read(transport, wire(site.url("/"), method=method, body=Body(b"x")))
        assert json.loads(await read(transport, wire(site.url("/"))))["body"] == ""
        assert [request.method for request in site.requests] == [method, "GET"]


async def test_over_http2_a_body_arrives_too(
    transport: CurlTransport, wire: Wire, authority: Authority, ca_file: Path
) -> None:
    tls = authority.server_context("site.test", protocols=("h2",))
    async with SiteServer(echo("/"), tls=tls) as site:
        url = f"https://site.test:{site.tls_port}/"
        for length in (None, 200_000):
            seen = await send(
                transport, wire, url, Body(b"a" * 120_000, b"b" * 80_000, length=length), ca_file=ca_file
            )
            assert seen["body"] == "a" * 120_000 + "b" * 80_000
        assert site.requests[0].protocol == "HTTP/2"


async def test_a_source_that_takes_its_time_is_waited_for(transport: CurlTransport, wire: Wire) -> None:
    opened, go_on = asyncio.Event(), asyncio.Event()

    class Slow:
        length = None

        async def open(self) -> AsyncIterator[bytes]:
            yield b"first "
            opened.set()
            await go_on.wait()
            yield b"then "
            await asyncio.sleep(0.12)  # longer than the idle deadline, which is the peer's alone
            yield b"last"

    async with SiteServer(echo("/")) as site:
        task = asyncio.create_task(send(transport, wire, site.url("/"), Slow(), idle_timeout_seconds=0.05))
        await opened.wait()
        go_on.set()
        assert (await task)["body"] == "first then last"


async def test_what_waits_of_a_body_is_bounded(transport: CurlTransport, wire: Wire) -> None:
    body = Body(*[b"x" * 65_536] * 1000)
    with socket.socket() as listener:  # takes connections, reads nothing
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, url, body, idle_timeout_seconds=0.1)
    assert caught.value.code is Code.IDLE_TIMEOUT
    assert body.given < 16 << 20  # the buffers of two sockets, and a chunk or two
    await asyncio.sleep(0)
    assert body.closed == 1


LENGTHS = [
    ("shorter", (b"abc",), 4),
    ("nothing at all", (), 1),
    ("longer in one part", (b"abcde",), 4),
    ("longer by a part that comes late", (b"abcd", b"e"), 4),
    ("longer than nothing", (b"a",), 0),
]


@pytest.mark.parametrize(("parts", "length"), [row[1:] for row in LENGTHS], ids=[row[0] for row in LENGTHS])
async def test_a_body_that_is_not_as_long_as_it_says_never_goes_out_whole(
    transport: CurlTransport, wire: Wire, parts: tuple[bytes, ...], length: int
) -> None:
    async with SiteServer(echo("/")) as site:
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, site.url("/"), Body(*parts, length=length))
        assert caught.value.code is Code.INVALID_HEADER
        await site.wait_for_close()
        assert site.requests == [] or length == 0


async def test_the_part_that_completes_a_length_waits_for_the_end_of_its_source(
    transport: CurlTransport, wire: Wire
) -> None:
    class Longer:
        length = 4

        async def open(self) -> AsyncIterator[bytes]:
            yield b"abcd"
            for _ in range(300):  # long enough for the peer to have got it, and to have answered
                await asyncio.sleep(0)
            yield b"e"

    async with SiteServer(echo("/")) as site:
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, site.url("/"), Longer())
        assert caught.value.code is Code.INVALID_HEADER
        await site.wait_for_close()
        assert site.requests == []


async def test_what_a_source_raises_comes_back_to_its_caller(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(echo("/")) as site:
        for parts in ((), (b"some",)):
            body = Body(*parts, failure=OSError("the disk is gone"))
            with pytest.raises(OSError, match="the disk is gone"):
                await send(transport, wire, site.url("/"), body)
            assert body.closed == 1
        await site.wait_for_close()
        assert site.requests == []


async def test_an_answer_before_the_end_of_the_body_is_an_answer(
    transport: CurlTransport, wire: Wire, raw_site: Callable[..., Any]
) -> None:
    port = await raw_site(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")

    class Endless:
        length = None

        async def open(self) -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 1000
                await asyncio.sleep(0)

    async with transport.open(wire(f"http://127.0.0.1:{port}/", method="POST", body=Endless())) as response:
        assert response.status == 413
        assert await response.read() == b"no"


async def test_the_time_to_answer_begins_when_the_body_is_sent(transport: CurlTransport, wire: Wire) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b"x"
            await asyncio.sleep(0.02)

    class Slow:
        length = 6

        def open(self) -> AsyncIterator[bytes]:
            return parts()

    async with SiteServer(echo("/"), Route(path="/mute", raw=(Stall(),))) as site:
        assert (await send(transport, wire, site.url("/"), Slow(), response_timeout_seconds=0.08))[
            "body"
        ] == "x" * 6
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, site.url("/mute"), Slow(), response_timeout_seconds=0.05)
        assert caught.value.code is Code.RESPONSE_TIMEOUT


async def test_a_source_that_never_ends_meets_the_total_deadline(
    transport: CurlTransport, wire: Wire
) -> None:
    class Mute:
        length = None

        async def open(self) -> AsyncIterator[bytes]:
            yield b"x"
            await asyncio.Event().wait()

    async with SiteServer(echo("/")) as site:
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, site.url("/"), Mute(), total_timeout_seconds=0.05)
        assert caught.value.code is Code.TOTAL_TIMEOUT
        await site.wait_for_close()


async def test_a_source_that_is_cancelled_is_not_waited_for(transport: CurlTransport, wire: Wire) -> None:
    class Cancelled:
        length = None

        async def open(self) -> AsyncIterator[bytes]:
            yield b"x"
            raise asyncio.CancelledError

    async with SiteServer(echo("/")) as site:
        with pytest.raises(FetchFailed) as caught:
            await send(transport, wire, site.url("/"), Cancelled())
        assert caught.value.code is Code.CANCELLED
        await site.wait_for_close()


async def test_giving_up_closes_the_source_and_the_socket(transport: CurlTransport, wire: Wire) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    class Waiting:
        length = None

        async def open(self) -> AsyncIterator[bytes]:
            try:
                yield b"x"
                opened.set()
                await asyncio.Event().wait()
            finally:
                closed.set()

    async with SiteServer(echo("/")) as site:
        task = asyncio.create_task(send(transport, wire, site.url("/"), Waiting()))
        await opened.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await closed.wait()
        await site.wait_for_close()


async def test_on_a_kept_connection_that_died_the_body_goes_out_on_a_new_one(
    transport: CurlTransport, wire: Wire
) -> None:
    async with SiteServer(echo("/"), Route(path="/bye", raw=(FINE, Drop()))) as site:
        await read(transport, wire(site.url("/bye")))
        await site.wait_for_close()
        body = Body(b"abc", b"def")
        assert (await send(transport, wire, site.url("/"), body))["body"] == "abcdef"
        assert (site.hit_count("/"), body.closed) == (1, body.opened)
