"""The checks of a recorded way, made again."""

from __future__ import annotations

import pytest

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.errors import Code, EgressRefused
from mudroom.fetch import FetchRequest
from mudroom.model import UPGRADE_PROTOCOL, Hop
from mudroom.replay.walk import Walk

UPGRADED = Hop(url="http://site.test/", address="", status=307, protocol=UPGRADE_PROTOCOL)
ASKED = Hop(
    url="https://site.test/", address="10.0.0.1", status=302, protocol="HTTP/2", exception="10.0.0.0/8"
)
NEXT = Hop(
    url="https://site.test/b", address="10.0.0.1", status=200, protocol="HTTP/2", exception="10.0.0.0/8"
)


async def test_an_upgrade_was_no_request_and_takes_no_exception_away() -> None:
    seen: list[tuple[str, ExceptionScope]] = []

    async def check(url: ParsedUrl, scope: ExceptionScope) -> None:
        seen.append((url.normalized, scope))

    scope = ExceptionScope.operator()
    request = FetchRequest("GET", "http://site.test/", initiator_scope=scope, hop_check=check)
    await Walk.of(request).pass_all((UPGRADED, ASKED, NEXT))
    assert seen == [
        ("https://site.test/", scope),
        ("https://site.test/b", ExceptionScope.of("10.0.0.0/8")),
    ]


async def test_a_check_that_refuses_behind_an_upgrade_tells_of_it() -> None:
    async def check(url: ParsedUrl, scope: ExceptionScope) -> None:
        raise EgressRefused(Code.ROBOTS_DENIED, f"{url.host} {scope}")

    request = FetchRequest("GET", "http://site.test/", hop_check=check)
    with pytest.raises(EgressRefused) as caught:
        await Walk.of(request).pass_all((UPGRADED, ASKED))
    assert (caught.value.hops, caught.value.stopped_at) == ((UPGRADED,), "https://site.test/")
