import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed, InvalidConfig, MudroomError
from mudroom.net import CurlTransport, WireRequest
from mudroom.testing.authority import Authority
from mudroom.testing.routes import Drop, Endless, Framing, Reset, Route, Stall, Wait
from mudroom.testing.server import SiteServer

Wire = Callable[..., WireRequest]
RawSite = Callable[..., Awaitable[int]]


async def read(transport: CurlTransport, request: WireRequest) -> bytes:
    async with transport.open(request) as response:
        return await response.read()


async def failure(transport: CurlTransport, request: WireRequest) -> MudroomError:
    with pytest.raises(MudroomError) as caught:
        await read(transport, request)
    return caught.value


# ---- the answer ----


async def test_an_answer_is_handed_on_as_it_came(transport: CurlTransport, wire: Wire) -> None:
    headers = (("X-B", "1"), ("x-a", "2"), ("X-B", "3"))
    async with SiteServer(Route(path="/p", headers=headers, body="hello", reason="Fine")) as site:
        async with transport.open(wire(site.url("/p?q=%7e#f"))) as response:
            assert (response.status, response.reason, response.protocol) == (200, "Fine", "HTTP/1.1")
            assert response.address == "127.0.0.1"
            assert [pair for pair in response.headers if pair[0].lower().startswith("x-")] == list(headers)
            assert response.raw_header.startswith(b"HTTP/1.1 200 Fine\r\n")
            assert response.raw_header.endswith(b"\r\n\r\n")
            assert await response.read() == b"hello"
            assert response.received_bytes == 5
        assert site.requests[0].target == "/p?q=%7e"


@pytest.mark.parametrize("surplus", [b"here is more than was promised\r\n\r\n", b"HTTP/9.9 what\r\n\r\n"])
async def test_what_an_answer_sends_beyond_its_length_does_not_cost_the_next_page(
    transport: CurlTransport, wire: Wire, surplus: bytes
) -> None:
    late = asyncio.Event()
    greedy = Route(path="/greedy", content_length=3, body=(b"abc", Wait(late), surplus))
    async with SiteServer(greedy, Route(path="/next", body="unharmed")) as site:
        assert await read(transport, wire(site.url("/greedy"))) == b"abc"
        following = asyncio.create_task(read(transport, wire(site.url("/next"))))
        for _ in range(20):  # the request goes out on the kept connection before the surplus comes
            await asyncio.sleep(0)
        late.set()
        assert await following == b"unharmed"
        assert site.total_connections == 2


async def test_a_request_that_changes_something_is_never_sent_twice(
    transport: CurlTransport, wire: Wire
) -> None:
    late = asyncio.Event()
    greedy = Route(path="/greedy", content_length=3, body=(b"abc", Wait(late), b"rubbish\r\n\r\n"))
    async with SiteServer(greedy, Route(path="/next", body="done")) as site:
        await read(transport, wire(site.url("/greedy")))
        following = asyncio.create_task(failure(transport, wire(site.url("/next"), method="POST", body=b"x")))
        for _ in range(20):
            await asyncio.sleep(0)
        late.set()
        assert (await following).code is Code.PROTOCOL_ERROR
        assert site.total_connections == 1


TARGETS = ["/a/../b", "/%2e%2e/x", '/|{}^`"<>', "/?a=%zz&b='", "/a//b/", "/;p=1"]


@pytest.mark.parametrize("target", TARGETS)
async def test_the_target_goes_out_exactly_as_our_own_parse_has_it(
    transport: CurlTransport, wire: Wire, target: str
) -> None:
    async with SiteServer(Route(path="/*")) as site:
        request = wire(site.url(target))
        await read(transport, request)
        assert site.requests[0].target == request.url.request_target


async def test_only_the_headers_that_were_given_go_out(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(Route(path="/")) as site:
        await read(transport, wire(site.url("/"), headers=(("X-One", "1"), ("X-Empty", ""))))
        host = f"127.0.0.1:{site.port}"
        assert site.requests[0].headers == (("Host", host), ("X-One", "1"), ("X-Empty", ""))


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@pytest.mark.parametrize("method", METHODS)
async def test_each_method_goes_out_and_leaves_nothing_for_the_next_request(
    transport: CurlTransport, wire: Wire, method: str
) -> None:
    body = b"" if method in {"GET", "HEAD"} else b"\0payload" * 300_000
    async with SiteServer(Route(path="/", body="abc")) as site:
        answer = await read(transport, wire(site.url("/"), method=method, body=body))
        assert answer == (b"" if method == "HEAD" else b"abc")
        assert await read(transport, wire(site.url("/"))) == b"abc"
        first, second = site.requests
        assert (first.method, first.body) == (method, body)
        assert first.header("content-type") is None
        assert (second.method, second.body, second.header("content-length")) == ("GET", b"", None)


BODIES = [
    ("a length", Route(path="/", body=b"a" * 100_000)),
    ("chunks", Route(path="/", body=(b"a" * 99_999, b"a"), framing=Framing.CHUNKED)),
    ("until close", Route(path="/", body=b"a" * 100_000, framing=Framing.UNTIL_CLOSE)),
]


@pytest.mark.parametrize("route", [row[1] for row in BODIES], ids=[row[0] for row in BODIES])
async def test_whole_and_streamed_reading_give_the_same_bytes(
    transport: CurlTransport, wire: Wire, route: Route
) -> None:
    async with SiteServer(route) as site:
        assert await read(transport, wire(site.url("/"))) == b"a" * 100_000
        async with transport.open(wire(site.url("/"))) as response:
            assert b"".join([chunk async for chunk in response.chunks()]) == b"a" * 100_000


async def test_a_content_coding_is_left_alone(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(Route(path="/", headers=(("Content-Encoding", "gzip"),), body=b"not gzip")) as site:
        assert await read(transport, wire(site.url("/"))) == b"not gzip"


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_ends_at_its_headers(
    transport: CurlTransport, wire: Wire, status: int
) -> None:
    async with SiteServer(Route(path="/", status=status)) as site:
        assert await read(transport, wire(site.url("/"))) == b""


# ---- where it goes ----


async def test_the_name_stays_in_host_and_certificate_while_the_address_is_pinned(
    transport: CurlTransport, wire: Wire, authority: Authority, ca_file: Path
) -> None:
    async with SiteServer(Route(path="/", body="ok"), tls=authority.server_context("site.test")) as site:
        request = wire(f"https://site.test:{site.tls_port}/", ca_file=ca_file)
        assert await read(transport, request) == b"ok"
        assert site.requests[0].host == "site.test"
        assert site.requests[0].server_name == "site.test"


async def test_ipv6_is_dialled(transport: CurlTransport, wire: Wire) -> None:
    async with (
        SiteServer(Route(path="/", body="six"), ipv6=True) as site,
        transport.open(wire(f"http://site.test:{site.port}/", "::1")) as response,
    ):
        assert await response.read() == b"six"
        assert response.address == "::1"


@pytest.mark.parametrize("first", ["::1", "127.0.0.3"])
async def test_the_next_address_is_tried_when_the_first_refuses(
    transport: CurlTransport, wire: Wire, first: str
) -> None:
    async with (
        SiteServer(Route(path="/", body="ok")) as site,
        transport.open(wire(f"http://site.test:{site.port}/", first, "127.0.0.1")) as response,
    ):
        assert await response.read() == b"ok"
        assert response.address == "127.0.0.1"


async def test_the_next_address_is_tried_beside_one_that_says_nothing(
    transport: CurlTransport, wire: Wire, mute_address: Callable[[int], str]
) -> None:
    async with SiteServer(Route(path="/", body="ok")) as site:
        mute = mute_address(site.port)
        request = wire(f"http://site.test:{site.port}/", mute, "127.0.0.1", connect_timeout_seconds=30)
        async with transport.open(request) as response:
            assert await response.read() == b"ok"
            assert response.address == "127.0.0.1"
        assert site.hit_count("/") == 1


async def test_no_address_that_answers_is_a_failed_connection(
    transport: CurlTransport, wire: Wire, closed_port: int
) -> None:
    error = await failure(transport, wire(f"http://site.test:{closed_port}/secret", "127.0.0.1", "127.0.0.3"))
    assert error.code is Code.CONNECT_FAILED
    assert f"site.test:{closed_port}" in error.message
    assert "secret" not in error.message


async def test_a_connection_is_used_again_for_the_same_host(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(Route(path="/", body="ok")) as site:
        for _ in range(3):
            await read(transport, wire(f"http://site.test:{site.port}/"))
        assert site.total_connections == 1


async def test_a_warm_connection_is_found_although_the_answers_rotate(
    transport: CurlTransport, wire: Wire
) -> None:
    async with SiteServer(Route(path="/", body="ok"), ipv6=True) as site:
        await read(transport, wire(f"http://site.test:{site.port}/", "::1", "127.0.0.1"))
        await read(transport, wire(f"http://site.test:{site.port}/", "127.0.0.1", "::1"))
        assert site.total_connections == 1


APART = [
    ("another name", "http://other.test:{port}/", {}),
    ("another partition", "http://site.test:{port}/", {"partition": "other"}),
    ("another address", "http://site.test:{port}/", {"addresses": ("::1",)}),
]


@pytest.mark.parametrize(("url", "change"), [row[1:] for row in APART], ids=[row[0] for row in APART])
async def test_a_connection_is_never_shared_with_another_party(
    transport: CurlTransport, wire: Wire, url: str, change: dict[str, Any]
) -> None:
    async with SiteServer(Route(path="/", body="ok"), ipv6=True) as site:
        await read(transport, wire(f"http://site.test:{site.port}/", "127.0.0.1"))
        addresses = change.pop("addresses", ("127.0.0.1",))
        await read(transport, wire(url.format(port=site.port), *addresses, **change))
        assert site.total_connections == 2


async def test_an_address_that_was_dropped_from_the_answer_gets_no_further_request(
    transport: CurlTransport, wire: Wire
) -> None:
    """The pool still holds a connection to it; the request must not find it."""
    async with SiteServer(Route(path="/", body="ok")) as site:
        url = f"http://site.test:{site.port}/"
        await read(transport, wire(url, "127.0.0.1"))
        error = await failure(transport, wire(url, "127.0.0.3"))
        assert error.code is Code.CONNECT_FAILED
        assert site.hit_count("/") == 1


async def test_the_environment_decides_nothing(
    wire: Wire, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = f"http://127.0.0.1:{closed_port}"
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    transport = CurlTransport()
    async with SiteServer(Route(path="/", body="ok")) as site:
        assert await read(transport, wire(site.url("/"))) == b"ok"
        error = await failure(transport, wire(f"http://site.test:{closed_port}/"))
    assert "http_proxy" in error.message
    assert "ignored" in error.message
    assert "127.0.0.1" not in error.message
    await transport.aclose()


async def test_a_request_without_an_address_fails_before_a_connection(
    transport: CurlTransport, wire: Wire
) -> None:
    request = wire("http://site.test/")
    bare = WireRequest(url=request.url, addresses=())
    assert (await failure(transport, bare)).code is Code.CONNECT_FAILED


async def test_a_peer_other_than_the_judged_one_is_vetoed_before_a_socket_exists(
    transport: CurlTransport, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pin is broken on purpose: the veto alone must hold."""
    from mudroom.net.handle import CurlHandle

    prepare = CurlHandle.prepare

    def prepare_elsewhere(self: CurlHandle, url: Any, _address: str, **rest: Any) -> None:
        prepare(self, url, "127.0.0.1", **rest)

    monkeypatch.setattr(CurlHandle, "prepare", prepare_elsewhere)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        error = await failure(transport, wire(f"http://site.test:{port}/", "127.0.0.9"))
        assert isinstance(error, EgressRefused)
        assert error.code is Code.DENIED_ADDRESS
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):  # the kernel has no connection to hand out
            listener.accept()


async def test_a_pooled_connection_to_another_peer_is_vetoed_before_the_request(
    transport: CurlTransport, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mudroom.net.handle import CurlHandle

    async with SiteServer(Route(path="/", body="ok")) as site:
        url = f"http://site.test:{site.port}/"
        await read(transport, wire(url, "127.0.0.1"))
        prepare = CurlHandle.prepare

        def prepare_elsewhere(self: CurlHandle, url: Any, _address: str, **rest: Any) -> None:
            prepare(self, url, "127.0.0.1", **rest)

        monkeypatch.setattr(CurlHandle, "prepare", prepare_elsewhere)
        error = await failure(transport, wire(url, "127.0.0.9"))
        assert error.code is Code.DENIED_ADDRESS
        assert site.hit_count("/") == 1


# ---- TLS ----


async def test_a_certificate_of_an_unknown_authority_is_refused(
    transport: CurlTransport, wire: Wire, authority: Authority
) -> None:
    async with SiteServer(Route(path="/"), tls=authority.server_context("site.test")) as site:
        error = await failure(transport, wire(f"https://site.test:{site.tls_port}/"))
        assert error.code is Code.TLS_FAILED
        assert site.requests == []


async def test_trust_for_one_host_is_not_trust_for_the_next(
    transport: CurlTransport, wire: Wire, authority: Authority, ca_file: Path
) -> None:
    async with SiteServer(Route(path="/"), tls=authority.server_context("site.test", "two.test")) as site:
        await read(transport, wire(f"https://site.test:{site.tls_port}/", ca_file=ca_file))
        for host in ("two.test", "site.test"):
            error = await failure(transport, wire(f"https://{host}:{site.tls_port}/"))
            assert error.code is Code.TLS_FAILED


async def test_a_certificate_for_another_name_is_refused(
    transport: CurlTransport, wire: Wire, authority: Authority, ca_file: Path
) -> None:
    async with SiteServer(Route(path="/"), tls=authority.server_context("other.test")) as site:
        error = await failure(transport, wire(f"https://site.test:{site.tls_port}/", ca_file=ca_file))
        assert error.code is Code.TLS_FAILED


async def test_tls_before_1_2_is_refused(
    transport: CurlTransport, wire: Wire, authority: Authority, ca_file: Path
) -> None:
    import ssl

    context = authority.server_context("site.test")
    with pytest.warns(DeprecationWarning, match="TLSVersion"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSVersion"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    async with SiteServer(Route(path="/"), tls=context) as site:
        error = await failure(transport, wire(f"https://site.test:{site.tls_port}/", ca_file=ca_file))
        assert error.code is Code.TLS_FAILED


async def test_plain_http_on_a_tls_port_is_a_failed_handshake(
    transport: CurlTransport, wire: Wire, raw_site: RawSite
) -> None:
    port = await raw_site(b"HTTP/1.1 400 Bad Request\r\n\r\n", asked=False)
    assert (await failure(transport, wire(f"https://site.test:{port}/"))).code is Code.TLS_FAILED


async def test_a_missing_file_of_anchors_is_named(transport: CurlTransport, wire: Wire) -> None:
    error = await failure(transport, wire("https://site.test/", ca_file="/nowhere/ca.pem"))
    assert isinstance(error, InvalidConfig)
    assert "/nowhere/ca.pem" in error.message


# ---- deadlines ----


async def test_a_peer_that_takes_no_connection_meets_the_connect_deadline(
    transport: CurlTransport, wire: Wire, mute_address: Callable[[int], str], closed_port: int
) -> None:
    request = wire(
        f"http://site.test:{closed_port}/", mute_address(closed_port), connect_timeout_seconds=0.05
    )
    assert (await failure(transport, request)).code is Code.CONNECT_TIMEOUT


async def test_a_handshake_that_stalls_meets_the_connect_deadline(
    transport: CurlTransport, wire: Wire, raw_site: RawSite
) -> None:
    port = await raw_site(b"", asked=False, closes=False)
    error = await failure(transport, wire(f"https://site.test:{port}/", connect_timeout_seconds=0.05))
    assert error.code is Code.CONNECT_TIMEOUT


DEADLINES = [
    (
        "no answer",
        Route(path="/", gate=asyncio.Event()),
        {"response_timeout_seconds": 0.05},
        Code.RESPONSE_TIMEOUT,
    ),
    (
        "headers that do not end",
        Route(path="/", raw=(b"HTTP/1.1 200 OK\r\nX-A: 1\r\n", Stall())),
        {"response_timeout_seconds": 0.05},
        Code.RESPONSE_TIMEOUT,
    ),
    (
        "headers above the limit that do not end",
        Route(path="/", raw=(b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 200, Stall())),
        {"max_header_bytes": 1000},
        Code.HEADERS_TOO_LARGE,
    ),
    (
        "a body that stops",
        Route(path="/", body=(b"part", Stall()), content_length=9),
        {"idle_timeout_seconds": 0.05},
        Code.IDLE_TIMEOUT,
    ),
    (
        "a body that never starts",
        Route(path="/", body=(Stall(),), content_length=9),
        {"idle_timeout_seconds": 0.05},
        Code.IDLE_TIMEOUT,
    ),
    (
        "a body without end",
        Route(path="/", body=(Endless(b"x"),), framing=Framing.CHUNKED),
        {"total_timeout_seconds": 0.05, "max_body_bytes": 1 << 40},
        Code.TOTAL_TIMEOUT,
    ),
]


@pytest.mark.parametrize(
    ("route", "limits", "code"), [row[1:] for row in DEADLINES], ids=[row[0] for row in DEADLINES]
)
async def test_each_deadline_has_a_code_of_its_own_and_closes_the_socket(
    transport: CurlTransport, wire: Wire, route: Route, limits: dict[str, float], code: Code
) -> None:
    async with SiteServer(route) as site:
        assert (await failure(transport, wire(site.url("/"), **limits))).code is code
        await site.wait_for_close()


async def test_time_in_which_nobody_reads_is_not_the_peers_idle_time(
    transport: CurlTransport, wire: Wire
) -> None:
    body = b"x" * 400_000
    async with SiteServer(Route(path="/", body=body)) as site:
        request = wire(site.url("/"), max_buffered_bytes=16_384, idle_timeout_seconds=0.05)
        async with transport.open(request) as response:
            chunks = response.chunks()
            got = [await anext(chunks)]
            await asyncio.sleep(0.12)  # longer than the idle deadline
            got += [chunk async for chunk in chunks]
        assert b"".join(got) == body


# ---- bounds ----


SIZES = [
    ("one below the limit", 1001, None),
    ("exactly the limit", 1000, None),
    ("one above", 999, Code.BODY_TOO_LARGE),
]


@pytest.mark.parametrize("framing", list(Framing))
@pytest.mark.parametrize(("limit", "code"), [row[1:] for row in SIZES], ids=[row[0] for row in SIZES])
async def test_the_limit_is_exact(
    transport: CurlTransport, wire: Wire, framing: Framing, limit: int, code: Code | None
) -> None:
    async with SiteServer(Route(path="/", body=b"x" * 1000, framing=framing)) as site:
        request = wire(site.url("/"), max_body_bytes=limit)
        if code is None:
            assert len(await read(transport, request)) == 1000
        else:
            error = await failure(transport, request)
            assert isinstance(error, ContentRefused)
            assert error.code is code


async def test_a_declared_length_above_the_limit_fails_before_the_body(
    transport: CurlTransport, wire: Wire
) -> None:
    async with SiteServer(Route(path="/", body=(Stall(),), content_length=1 << 62)) as site:
        assert (await failure(transport, wire(site.url("/")))).code is Code.BODY_TOO_LARGE
        await site.wait_for_close()


async def test_a_head_answer_may_declare_any_length(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(Route(path="/", content_length=1 << 50)) as site:
        assert await read(transport, wire(site.url("/"), method="HEAD")) == b""


async def test_a_peer_waits_while_nobody_reads(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(Route(path="/", body=(Endless(b"x" * 65_536),), framing=Framing.CHUNKED)) as site:
        request = wire(site.url("/"), max_buffered_bytes=65_536, max_body_bytes=1 << 40)
        async with transport.open(request) as response:
            chunks = response.chunks()
            await anext(chunks)
            for _ in range(300):
                await asyncio.sleep(0)
            assert response.received_bytes <= 4 * 65_536
        await site.wait_for_close()


FLOODS = [
    ("one endless header line", b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000, Code.HEADERS_TOO_LARGE),
    (
        "many header lines",
        b"HTTP/1.1 200 OK\r\n" + b"X-Pad: aaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 9_000 + b"\r\n",
        Code.HEADERS_TOO_LARGE,
    ),
    ("interim answers without end", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 500, Code.PROTOCOL_ERROR),
    (
        "trailers without end",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
        + b"X: aaaaaaaaaaaaaaa\r\n" * 20_000,
        Code.HEADERS_TOO_LARGE,
    ),
]


@pytest.mark.parametrize(("answer", "code"), [row[1:] for row in FLOODS], ids=[row[0] for row in FLOODS])
async def test_header_floods_end_typed(
    transport: CurlTransport, wire: Wire, raw_site: RawSite, answer: bytes, code: Code
) -> None:
    assert (await failure(transport, wire(f"http://127.0.0.1:{await raw_site(answer)}/"))).code is code


@pytest.mark.parametrize(("spare", "code"), [(0, None), (-1, Code.HEADERS_TOO_LARGE)])
async def test_the_limit_of_header_bytes_is_ours_and_exact(
    transport: CurlTransport, wire: Wire, raw_site: RawSite, spare: int, code: Code | None
) -> None:
    interim, final = b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    limit = len(interim + final) + spare
    request = wire(f"http://127.0.0.1:{await raw_site(interim + final)}/", max_header_bytes=limit)
    if code is None:
        assert await read(transport, request) == b""
    else:
        assert (await failure(transport, request)).code is code


async def test_a_few_interim_answers_are_fine(
    transport: CurlTransport, wire: Wire, raw_site: RawSite
) -> None:
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 2
        + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    )
    async with transport.open(wire(f"http://127.0.0.1:{await raw_site(answer)}/")) as response:
        assert response.raw_header == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        assert await response.read() == b"ok"


# ---- peers that break the protocol ----


BROKEN = [
    (
        "a switch of protocols",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
        Code.PROTOCOL_ERROR,
    ),
    ("HTTP/0.9", b"<h1>just bytes</h1>", Code.PROTOCOL_ERROR),
    ("nothing at all", b"", Code.CONNECTION_LOST),
    ("half a status line", b"HTTP/1.1 20", Code.CONNECTION_LOST),
    ("headers without end", b"HTTP/1.1 200 OK\r\nX: 1\r\n", Code.CONNECTION_LOST),
    ("a body cut short", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", Code.CONNECTION_LOST),
    (
        "chunks without end",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        Code.CONNECTION_LOST,
    ),
    (
        "a chunk cut short",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
        Code.CONNECTION_LOST,
    ),
    (
        "two lengths",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        Code.PROTOCOL_ERROR,
    ),
    ("a length that is none", b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nabc", Code.PROTOCOL_ERROR),
    ("a NUL in a header", b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n", Code.PROTOCOL_ERROR),
    (
        "a transfer coding nobody asked for",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        Code.PROTOCOL_ERROR,
    ),
]


@pytest.mark.parametrize(("answer", "code"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
async def test_a_broken_answer_ends_typed(
    transport: CurlTransport, wire: Wire, raw_site: RawSite, answer: bytes, code: Code
) -> None:
    assert (await failure(transport, wire(f"http://127.0.0.1:{await raw_site(answer)}/"))).code is code


@pytest.mark.parametrize("step", [Drop(), Reset()], ids=["closed", "reset"])
async def test_a_stream_that_breaks_gives_its_bytes_and_then_the_failure(
    transport: CurlTransport, wire: Wire, step: Drop | Reset
) -> None:
    go_on = asyncio.Event()
    route = Route(path="/", body=(b"part", Wait(go_on), step), content_length=9)
    async with SiteServer(route) as site, transport.open(wire(site.url("/"))) as response:
        chunks = response.chunks()
        assert await anext(chunks) == b"part"
        go_on.set()
        with pytest.raises(FetchFailed) as caught:
            await anext(chunks)
        assert caught.value.code is Code.CONNECTION_LOST


async def test_a_warm_connection_that_the_peer_closed_is_replaced(
    transport: CurlTransport, wire: Wire
) -> None:
    async with SiteServer(Route(path="/", body="ok", closes=True)) as site:
        for _ in range(2):
            assert await read(transport, wire(site.url("/"))) == b"ok"
        assert site.total_connections == 2


# ---- ends ----


async def test_leaving_the_context_closes_the_socket_of_an_unread_body(
    transport: CurlTransport, wire: Wire
) -> None:
    async with SiteServer(Route(path="/", body=(b"a", Stall()), content_length=9)) as site:
        async with transport.open(wire(site.url("/"))) as response:
            assert response.status == 200
        await site.wait_for_close()


@pytest.mark.parametrize("raw", [(b"HTTP/1.1 200 OK\r\n", Stall()), (b"HTTP/1.1 200 OK\r\n\r\nab", Stall())])
async def test_cancelling_closes_the_socket(transport: CurlTransport, wire: Wire, raw: Any) -> None:
    async with SiteServer(Route(path="/", raw=raw)) as site:
        task = asyncio.create_task(read(transport, wire(site.url("/"))))
        await site.wait_for_requests(1)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await site.wait_for_close()


async def test_closing_the_transport_ends_what_still_runs(wire: Wire) -> None:
    transport = CurlTransport(environ={})
    async with SiteServer(Route(path="/", body=(b"a", Stall()), content_length=9)) as site:
        task = asyncio.create_task(read(transport, wire(site.url("/"))))
        await site.wait_for_requests(1)
        await transport.aclose()
        with pytest.raises(FetchFailed) as caught:
            await task
        assert caught.value.code is Code.CANCELLED
        await site.wait_for_close()
        assert (await failure(transport, wire(site.url("/")))).code is Code.CANCELLED


async def test_many_requests_at_once_leave_nothing_behind(transport: CurlTransport, wire: Wire) -> None:
    async with SiteServer(
        Route(path="/", body="ok"), Route(path="/drop", body=(b"a", Drop()), content_length=9)
    ) as site:
        paths = ["/", "/drop"] * 50
        results = await asyncio.gather(
            *(read(transport, wire(site.url(path))) for path in paths), return_exceptions=True
        )
        assert results.count(b"ok") == 50
        assert sum(isinstance(result, FetchFailed) for result in results) == 50
    await transport.aclose()
    gc.collect()
    assert not [
        one
        for one in gc.get_objects()
        if isinstance(one, socket.socket)
        and one.fileno() > 0
        and one.family == socket.AF_INET
        and _is_connected(one)
    ]


def _is_connected(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True
