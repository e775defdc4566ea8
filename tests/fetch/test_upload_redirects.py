"""What becomes of a body that is sent as it comes when the answer is a redirect."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mudroom.address import ExceptionScope
from mudroom.fetch import Fetcher, FetchRequest
from mudroom.fetch.body import RequestBody
from mudroom.testing.answers import echo, redirect
from mudroom.testing.server import SiteServer

Build = Callable[..., Fetcher]

ROWS = [
    (301, "GET", 1, b""),
    (302, "GET", 1, b""),
    (303, "GET", 1, b""),
    (307, "POST", 2, b"one, two"),
    (308, "POST", 2, b"one, two"),
]


class Source:
    """Makes the body anew each time, and counts."""

    def __init__(self) -> None:
        self.opened = 0

    async def __call__(self) -> AsyncIterator[bytes]:
        self.opened += 1
        yield b"one, "
        yield b"two"


@pytest.mark.parametrize("length", [8, None])
@pytest.mark.parametrize(("status", "method", "opened", "body"), ROWS)
async def test_a_stream_is_sent_again_or_dropped(
    fetcher_for: Build, status: int, method: str, opened: int, body: bytes, length: int | None
) -> None:
    source = Source()
    async with SiteServer(redirect("/", "/there", status=status), echo("/there")) as site:
        settings: dict[str, Any] = {
            "body": RequestBody.of_stream(source, length=length, content_type="text/plain"),
            "initiator_scope": ExceptionScope.operator(),
        }
        await fetcher_for(site).fetch(FetchRequest("POST", site.url("/"), **settings))
        first, second = site.requests
    assert (first.method, first.body) == ("POST", b"one, two")
    assert (second.method, second.body, source.opened) == (method, body, opened)
    assert second.header("content-type") == ("text/plain" if body else None)
