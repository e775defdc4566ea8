"""What a request carries, and when it is sent again."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mudroom.address import EgressPolicy
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest, RequestBody
from mudroom.net import UploadBody
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

URL = "http://site.test/"
NEXT = "http://site.test/next"

BODIES: list[tuple[str, RequestBody, bytes, str]] = [
    ("bytes", RequestBody(b"\x00\xff"), b"\x00\xff", "application/octet-stream"),
    ("bytes of a type", RequestBody(b"a,b", "text/csv"), b"a,b", "text/csv"),
    ("JSON", RequestBody.of_json({"ä": [1, None]}), '{"ä":[1,null]}'.encode(), "application/json"),
    (
        "a form",
        RequestBody.of_form([("a", "1 2"), ("b", "&="), ("a", "ä")]),
        b"a=1+2&b=%26%3D&a=%C3%A4",
        "application/x-www-form-urlencoded",
    ),
    ("a form from names", RequestBody.of_form({"q": "x"}), b"q=x", "application/x-www-form-urlencoded"),
    ("text", RequestBody.of_text("grüß"), "grüß".encode(), "text/plain; charset=utf-8"),
]


async def send(
    body: RequestBody, status: int | None = None, **settings: Any
) -> list[tuple[str, bytes | UploadBody, str | None]]:
    """What each hop sent: method, body, Content-Type."""
    hops = {URL: PaperAnswer(), NEXT: PaperAnswer()}
    if status is not None:
        hops[URL] = PaperAnswer(status=status, headers=(("Location", "/next"),))
    transport = ScriptedTransport(hops)
    resolver = ScriptedResolver({"site.test": "93.184.215.14"})
    fetcher = Fetcher(transport, resolver, EgressPolicy(), FetchOptions(), FixedClock())
    await fetcher.submit(FetchRequest("POST", URL, body=body, **settings))
    return [(dial.method, dial.body, dict(dial.headers).get("Content-Type")) for dial in transport.dials]


@pytest.mark.parametrize(
    ("body", "sent", "content_type"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES]
)
async def test_a_body_is_sent_with_its_type(body: RequestBody, sent: bytes, content_type: str) -> None:
    assert await send(body) == [("POST", sent, content_type)]


async def test_a_callers_own_type_wins() -> None:
    [(_, _, content_type)] = await send(
        RequestBody.of_json([]), headers=(("Content-Type", "application/vnd.api+json"),)
    )
    assert content_type == "application/vnd.api+json"


@pytest.mark.parametrize("status", [307, 308])
async def test_a_body_goes_along_where_the_method_does(status: int) -> None:
    assert await send(RequestBody.of_text("x"), status) == [("POST", b"x", "text/plain; charset=utf-8")] * 2


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_body_and_its_type_stay_behind_where_the_method_becomes_get(status: int) -> None:
    assert (await send(RequestBody.of_text("x"), status))[1] == ("GET", b"", None)


async def test_a_stream_begins_anew_for_each_that_opens_it() -> None:
    begun = []

    async def produce() -> AsyncIterator[bytes]:
        begun.append(1)
        yield b"a"
        yield b"b"

    dials = await send(RequestBody.of_stream(produce, length=2, content_type="video/mp4"), 307)
    assert begun == []
    for method, body, content_type in dials:
        assert (method, content_type) == ("POST", "video/mp4")
        assert not isinstance(body, bytes)
        assert body.length == 2
        assert [chunk async for chunk in body.open()] == [b"a", b"b"]
    assert begun == [1, 1]


async def test_a_stream_of_unknown_length_says_so() -> None:
    async def produce() -> AsyncIterator[bytes]:
        yield b"a"

    [(_, body, _)] = await send(RequestBody.of_stream(produce))
    assert not isinstance(body, bytes)
    assert body.length is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_json_cannot_hold_is_refused_before_it_is_sent(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        RequestBody.of_json(value)
