import asyncio
from ipaddress import ip_address

import pytest

from mudroom.address import EgressPolicy, ExceptionScope, ParsedUrl, judge_url
from mudroom.errors import Code, ContentRefused, FetchFailed
from mudroom.net import NetLimits, WireRequest
from mudroom.testing.transports import PaperAnswer, ScriptedTransport, UnscriptedRequest

URL = "http://good.test/page"


def request_for(url: str, **changes: object) -> WireRequest:
    judged = judge_url(url, EgressPolicy(), ExceptionScope.none())
    parsed = getattr(judged, "url", None)
    assert isinstance(parsed, ParsedUrl)
    values: dict[str, object] = {"url": parsed, "addresses": (ip_address("192.0.2.1"),)} | changes
    return WireRequest(**values)  # type: ignore[arg-type]  # the changes are any of its fields


async def test_a_scripted_answer_has_all_that_a_real_one_has() -> None:
    answer = PaperAnswer(
        status=404, reason="Gone", headers=(("X-A", "1"), ("X-A", "2")), body=(b"ab", b"", b"c")
    )
    transport = ScriptedTransport({URL: answer})
    async with transport.open(request_for(URL)) as response:
        assert (response.status, response.reason, response.protocol, response.address) == (
            404,
            "Gone",
            "HTTP/1.1",
            "192.0.2.1",
        )
        assert response.headers == (("Content-Type", "text/html; charset=utf-8"), ("X-A", "1"), ("X-A", "2"))
        assert response.raw_header.endswith(b"X-A: 1\r\nX-A: 2\r\n\r\n")
        assert [chunk async for chunk in response.chunks()] == [b"ab", b"c"]
        assert (response.received_bytes, transport.open_exchanges) == (3, 1)
    assert transport.open_exchanges == 0


async def test_every_dial_is_noted_in_order() -> None:
    transport = ScriptedTransport({URL: [PaperAnswer(body=b"1"), PaperAnswer(body=b"2")]})
    bodies = []
    for _ in range(3):
        async with transport.open(request_for(URL)) as response:
            bodies.append(await response.read())
    assert (bodies, transport.dialled) == ([b"1", b"2", b"2"], (URL, URL, URL))


@pytest.mark.parametrize(
    ("url", "changes"),
    [("http://other.test/", {}), (URL, {"addresses": ()})],
    ids=["an unscripted URL", "no judged address"],
)
async def test_a_dial_that_nobody_wrote_down_fails_the_test(url: str, changes: dict[str, object]) -> None:
    with pytest.raises(UnscriptedRequest):
        async with ScriptedTransport({URL: PaperAnswer()}).open(request_for(url, **changes)):
            pass


FAULTS = [
    ("no headers", PaperAnswer(failure=FetchFailed(Code.CONNECT_FAILED, "no")), Code.CONNECT_FAILED),
    (
        "a body that breaks off",
        PaperAnswer(body=b"a", break_off=FetchFailed(Code.CONNECTION_LOST, "no")),
        Code.CONNECTION_LOST,
    ),
    ("a body above the limit", PaperAnswer(body=b"x" * 11), Code.BODY_TOO_LARGE),
]


@pytest.mark.parametrize(("answer", "code"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
async def test_a_fault_is_raised_where_it_would_be(answer: PaperAnswer, code: Code) -> None:
    transport = ScriptedTransport({URL: answer})
    with pytest.raises((FetchFailed, ContentRefused)) as fault:
        async with transport.open(request_for(URL, limits=NetLimits(max_body_bytes=10))) as response:
            await response.read()
    assert fault.value.code is code
    assert transport.open_exchanges == 0


async def test_gates_hold_the_headers_and_the_body() -> None:
    gate, body_gate = asyncio.Event(), asyncio.Event()
    transport = ScriptedTransport({URL: PaperAnswer(body=b"late", gate=gate, body_gate=body_gate)})

    entered = asyncio.Event()

    async def ask() -> bytes:
        async with transport.open(request_for(URL)) as response:
            entered.set()
            return await response.read()

    asking = asyncio.create_task(ask())
    gate.set()
    await entered.wait()
    assert not asking.done()
    body_gate.set()
    assert await asking == b"late"
    await transport.aclose()
    assert transport.is_closed
