import asyncio
import gzip
import json
import ssl
import zlib
from collections.abc import AsyncIterator

import aiohttp
import brotli
import pytest

from mudroom.testing import answers
from mudroom.testing.authority import Authority
from mudroom.testing.encodings import encode
from mudroom.testing.routes import Drop, Endless, Framing, Reset, Route, Stall, Wait
from mudroom.testing.server import SiteServer


async def exchange(site: SiteServer, request: bytes) -> bytes:
    """All bytes that one connection answers, until the server closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def get(target: str, host: str = "site.test", *more: str) -> bytes:
    lines = (f"GET {target} HTTP/1.1", f"Host: {host}", "Connection: close", *more, "", "")
    return "\r\n".join(lines).encode()


ANSWERS = [
    (
        "a plain body",
        Route(path="/", body="hi", content_type=None),
        b"Content-Length: 2\r\nConnection: close\r\n\r\nhi",
    ),
    ("no such page", Route(path="/else"), b"HTTP/1.1 404 Not Found\r\n"),
    (
        "chunks, one a step",
        Route(path="/", body=(b"ab", b"c"), framing=Framing.CHUNKED),
        b"\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    ),
    (
        "a length too long",
        Route(path="/", body="ab", content_length=9, closes=True),
        b"Content-Length: 9\r\nConnection: close\r\n\r\nab",
    ),
    (
        "a length too short",
        Route(path="/", body="abcd", content_length=1),
        b"Content-Length: 1\r\nConnection: close\r\n\r\nabcd",
    ),
    (
        "an end by closing",
        Route(path="/", body="ab", framing=Framing.UNTIL_CLOSE, content_type=None),
        b"OK\r\nConnection: close\r\n\r\nab",
    ),
    (
        "a drop in mid-body",
        answers.dropping("/", b"ab"),
        b"Content-Length: 100000\r\nConnection: close\r\n\r\nab",
    ),
    (
        "an endless body with an end",
        Route(path="/", body=(Endless(b"x" * 10, max_bytes=30),), closes=True),
        b"\r\n\r\n" + b"x" * 30,
    ),
    (
        "a redirect",
        answers.redirect("/", "../up?q=1"),
        b"HTTP/1.1 302 Found\r\nContent-Type: text/html; charset=utf-8\r\nLocation: ../up?q=1\r\n",
    ),
    (
        "a redirect to nowhere",
        answers.redirect("/", None, status=308),
        b"HTTP/1.1 308 Permanent Redirect\r\n",
    ),
    ("garbage", answers.garbage("/", b"?\x00?"), b"?\x00?"),
    ("an unknown status", Route(path="/", status=799), b"HTTP/1.1 799 Unnamed\r\n"),
    (
        "cookies, twice",
        Route(path="/", headers=(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))),
        b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n",
    ),
    (
        "an interim answer",
        answers.informational_flood("/", 2),
        b"103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\nHTTP/1.1 200",
    ),
]


@pytest.mark.parametrize(("route", "expected"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
async def test_a_route_is_answered_byte_for_byte(route: Route, expected: bytes) -> None:
    async with SiteServer(route) as site:
        assert expected in await exchange(site, get("/"))


async def test_a_reset_tears_the_connection_down() -> None:
    async with SiteServer(Route(path="/", body=(b"ab", Reset()), content_length=9)) as site:
        with pytest.raises(ConnectionResetError):
            await exchange(site, get("/"))


async def test_hosts_share_a_port_and_not_their_pages() -> None:
    routes = (
        Route(path="/", host="a.test", body="A"),
        Route(path="/", host="b.test", body="B"),
        Route(path="/", body="any"),
    )
    async with SiteServer(*routes) as site:
        for host, body in (("a.test", b"A"), ("B.test:80", b"B"), ("c.test", b"any"), ("[::1]:80", b"any")):
            assert (await exchange(site, get("/", host))).endswith(b"\r\n\r\n" + body)
        assert site.hits == {("a.test", "/"): 1, ("b.test", "/"): 1, ("c.test", "/"): 1, ("::1", "/"): 1}
        assert site.hit_count("/") == 4
        assert site.hit_count("/", "a.test") == 1


ROUTING = [
    ("the query is ignored where the route has none", "/a?x=1", b"plain"),
    ("the query decides where the route has one", "/a?x=2", b"query"),
    ("the longest prefix wins", "/b/c/d", b"long"),
    ("a short prefix serves the rest", "/b/x", b"short"),
]


@pytest.mark.parametrize(
    ("target", "expected"), [row[1:] for row in ROUTING], ids=[row[0] for row in ROUTING]
)
async def test_a_path_finds_its_route(target: str, expected: bytes) -> None:
    routes = (
        Route(path="/a", body="plain"),
        Route(path="/a?x=2", body="query"),
        Route(path="/b/*", body="short"),
        Route(path="/b/c/*", body="long"),
    )
    async with SiteServer(*routes) as site:
        assert (await exchange(site, get(target))).endswith(expected)


async def test_a_route_that_is_added_later_wins_and_hits_are_counted_without_the_query() -> None:
    async with SiteServer(Route(path="/", body="old")) as site:
        site.add(Route(path="/", body="new"))
        assert (await exchange(site, get("/?a=1"))).endswith(b"new")
        assert site.hits == {("site.test", "/"): 1}


async def test_later_hits_get_later_answers_and_the_last_one_stays() -> None:
    route = Route(path="/", body="one", then=(Route(path="/", body="two"), Route(path="/", body="three")))
    async with SiteServer(route) as site:
        bodies = [(await exchange(site, get("/"))).rpartition(b"\r\n")[2] for _ in range(4)]
    assert bodies == [b"one", b"two", b"three", b"three"]


async def test_a_matching_etag_gets_a_304_without_a_body() -> None:
    async with SiteServer(Route(path="/", body="page", etag='"v1"')) as site:
        answer = await exchange(site, get("/", "site.test", 'If-None-Match: "v1"'))
        assert answer.startswith(b"HTTP/1.1 304 Not Modified\r\n")
        assert answer.endswith(b"\r\n\r\n")
        assert b"page" in await exchange(site, get("/", "site.test", 'If-None-Match: "v0"'))


async def test_a_gate_holds_the_answer_until_it_opens() -> None:
    gate = asyncio.Event()
    async with SiteServer(Route(path="/", gate=gate, body="late")) as site:
        asking = asyncio.create_task(exchange(site, get("/")))
        await site.wait_for_requests(1, "/")
        assert not asking.done()
        gate.set()
        assert (await asking).endswith(b"late")


async def test_a_wait_inside_a_body_holds_the_rest() -> None:
    gate = asyncio.Event()
    async with SiteServer(Route(path="/", body=(b"first", Wait(gate), b"second"))) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(get("/"))
        assert (await reader.readuntil(b"first")).endswith(
            b"Content-Length: 11\r\nConnection: close\r\n\r\nfirst"
        )
        gate.set()
        assert await reader.read() == b"second"
        writer.close()


@pytest.mark.parametrize(
    "body", [(Stall(),), (Endless(),), (Wait(asyncio.Event()),)], ids=["stall", "endless", "wait"]
)
async def test_the_server_notices_that_a_peer_has_left(body: tuple[Stall | Endless | Wait]) -> None:
    async with SiteServer(Route(path="/", body=body, framing=Framing.CHUNKED)) as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(get("/"))
        await site.wait_for_requests(1)
        assert site.open_connections == 1
        writer.transport.abort()
        await site.wait_for_close()
        assert (site.open_connections, site.total_connections) == (0, 1)


async def test_closing_the_server_ends_what_still_stalls() -> None:
    async with SiteServer(Route(path="/", body=(b"x", Stall()), content_length=2)) as site:
        asking = asyncio.create_task(exchange(site, get("/")))
        await site.wait_for_requests(1)
    assert (await asking).endswith(b"\r\n\r\nx")


async def test_a_client_library_reuses_connections_and_sends_bodies() -> None:
    async with SiteServer(answers.echo("/echo")) as site, aiohttp.ClientSession() as session:
        for data in (b"one", aiohttp.AsyncIterablePayload(_two())):
            async with session.post(site.url("/echo?x=1"), data=data) as reply:
                seen = json.loads(await reply.read())
        assert (seen["method"], seen["target"], seen["body"], seen["connection"]) == (
            "POST",
            "/echo?x=1",
            "two",
            1,
        )
        assert site.requests[0].header("CONTENT-LENGTH") == "3"
        assert site.requests[1].body == b"two"


async def _two() -> AsyncIterator[bytes]:
    yield b"tw"
    yield b"o"


@pytest.mark.parametrize("encodings", [("gzip",), ("deflate",), ("br",)])
async def test_encoded_bodies_are_what_they_declare(encodings: tuple[str, ...]) -> None:
    async with (
        SiteServer(answers.encoded("/", "packed text", *encodings)) as site,
        aiohttp.ClientSession() as session,
        session.get(site.url("/")) as reply,
    ):
        assert await reply.text() == "packed text"


def test_nested_encodings_are_applied_in_the_order_declared() -> None:
    assert gzip.decompress(brotli.decompress(encode(b"inner", "gzip", "br"))) == b"inner"


async def test_a_raw_deflate_body_has_no_zlib_wrapper() -> None:
    async with SiteServer(answers.encoded("/", "packed", "raw-deflate")) as site:
        head, _, body = (await exchange(site, get("/"))).partition(b"\r\n\r\n")
    assert b"Content-Encoding: deflate" in head
    assert zlib.decompress(body, wbits=-15) == b"packed"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_bomb_is_small_on_the_wire(encoding: str) -> None:
    async with SiteServer(answers.bomb("/", encoding=encoding, decoded_bytes=50_000_000)) as site:
        assert len(await exchange(site, get("/"))) < 100_000


async def test_tls_is_valid_for_the_names_given_and_no_other(authority: Authority) -> None:
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    tls = authority.server_context("good.test", "127.0.0.1")
    async with SiteServer(Route(path="/", body="secret"), tls=tls) as site:
        connect = {"host": "127.0.0.1", "port": site.tls_port, "ssl": trust}
        reader, writer = await asyncio.open_connection(**connect, server_hostname="good.test")
        writer.write(get("/", "good.test"))
        assert (await reader.read()).endswith(b"secret")
        writer.close()
        await writer.wait_closed()
        assert (site.requests[0].is_tls, site.requests[0].server_name) == (True, "good.test")
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(**connect, server_hostname="other.test")


async def test_both_loopback_addresses_share_a_port() -> None:
    async with SiteServer(Route(path="/", body="six"), ipv6=True) as site:
        reader, writer = await asyncio.open_connection("::1", site.port)
        writer.write(get("/"))
        assert (await reader.read()).endswith(b"six")
        writer.close()


async def test_a_redirect_chain_has_the_hops_asked_for() -> None:
    async with (
        SiteServer(*answers.redirect_chain("/chain", 3)) as site,
        aiohttp.ClientSession() as session,
        session.get(site.url("/chain")) as reply,
    ):
        assert (len(reply.history), await reply.text()) == (3, "arrived")


async def test_drops_and_floods_say_what_they_are() -> None:
    routes = (
        Route(path="/drop", body=(b"a", Drop(), b"never")),
        answers.header_flood("/flood", 300_000),
        answers.switching_protocols("/101"),
    )
    async with SiteServer(*routes) as site:
        assert (await exchange(site, get("/drop"))).endswith(b"\r\n\r\na")
        assert len(await exchange(site, get("/flood"))) > 290_000
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(get("/101"))
        assert (await reader.readline()) == b"HTTP/1.1 101 Switching Protocols\r\n"
        writer.close()
