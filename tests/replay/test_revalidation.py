"""A crawl that asks whether pages have changed: what a 304 serves, to whom, and how that is replayed."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from mudroom.address import ExceptionScope
from mudroom.assembly import open_house
from mudroom.model import Initiator
from mudroom.settings import Settings
from mudroom.testing.answers import redirect
from mudroom.testing.routes import Route
from mudroom.testing.seen import SeenRequest
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

from .conftest import crawl, page, reach, replay

TOKEN = (("Authorization", "Bearer secret"),)


def site() -> tuple[Route, ...]:
    return (
        page("/", "/1", "/2", "/3", etag='"a"'),
        page("/1", "/4", etag='"b"'),
        page("/2"),
        page("/3"),
        page("/4"),
    )


def conditions(server: SiteServer) -> list[str]:
    """The paths that were asked for under a condition."""
    return [
        seen.path
        for seen in server.requests
        if seen.header("If-None-Match") or seen.header("If-Modified-Since")
    ]


def row(manifest: Any, path: str) -> Any:
    return next(each for each in manifest["pages"] if each["url"].endswith(path))


def metadata(settings: Settings, manifest: Any, number: int) -> Any:
    path = settings.workspace / "runs" / manifest["run_id"] / f"metadata/{number:06d}.json"
    return json.loads(path.read_text())


async def test_a_page_that_has_not_changed_is_served_from_the_archive_under_its_own_reference(
    settings: Settings,
) -> None:
    async with SiteServer(*site()) as server:
        first = await crawl(settings, server)
        server.add(page("/2", words="Another text."))
        second = await crawl(settings, server, revalidate=True)
        assert conditions(server) == ["/", "/1"]
    for path in ("/", "/1"):
        before, after = row(first, path), row(second, path)
        assert after["warnings"] == ["NOT_MODIFIED"]
        assert {**after, "warnings": []} == before  # the reference, the bytes, the status: all as they were
    assert row(second, "/4")["outcome"] == "STORED"  # its links were followed
    assert row(second, "/2")["sha256"] != row(first, "/2")["sha256"]
    assert row(second, "/2")["warnings"] == []
    told = metadata(settings, second, 1)
    assert told["revalidated_at"] > told["retrieved_at"] == metadata(settings, first, 1)["retrieved_at"]
    assert [hop["status"] for hop in told["hops"]] == [304]


async def test_the_archive_keeps_nothing_new_of_it_and_flags_nothing(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        first = await crawl(settings, server)
        await crawl(settings, server, revalidate=True)
    index = sqlite3.connect(settings.workspace / "private" / "archive" / "index.sqlite")
    reference = row(first, "/1")["source_ref"]
    wanted = bytes.fromhex(reference.rpartition("record=")[2])
    (taken,) = index.execute(
        "SELECT count(*) FROM snapshots WHERE source = (SELECT source FROM snapshots WHERE record = ?)",
        (wanted,),
    ).fetchone()
    index.close()
    assert taken == 1


async def test_a_run_with_pages_of_an_earlier_run_is_replayed_and_equal(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        await crawl(settings, server)
        second = await crawl(settings, server, revalidate=True)
        third = await crawl(settings, server, revalidate=True)
    for manifest in (second, third):
        report = await replay(settings, manifest["run_id"])
        assert report.differences == ()
        again = metadata(settings, report.manifest, 1)
        assert again["revalidated_at"] == metadata(settings, manifest, 1)["revalidated_at"]


async def test_nobody_asks_unless_told_to(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        await crawl(settings, server)
        again = await crawl(settings, server)
        assert conditions(server) == []
    assert row(again, "/1")["warnings"] == []


async def test_a_304_that_nobody_asked_for_is_an_error(settings: Settings) -> None:
    unasked = Route(path="/", status=304)
    async with SiteServer(unasked) as server:
        manifest = await crawl(settings, server, revalidate=True)
    (only,) = manifest["pages"]
    assert (only["outcome"], only["code"], only["http_status"]) == ("FAILED", "HTTP_STATUS", 304)
    assert (await replay(settings, manifest["run_id"])).differences == ()


async def test_a_304_to_everybody_serves_nobody_what_was_another_ones(settings: Settings) -> None:
    """With a token, then without, at a site that always says "not modified"."""

    def answer(request: SeenRequest) -> Route:
        if request.header("Authorization"):
            return page("/", words="For the one with the token.", etag='"a"')
        return Route(path="/", status=304, headers=(("ETag", '"a"'),))

    async with SiteServer(Route(path="/", answer=answer)) as server:
        await crawl(settings, server, seed_headers=TOKEN)
        manifest = await crawl(settings, server, revalidate=True)
        assert conditions(server) == []
    assert manifest["pages"][0]["code"] == "HTTP_STATUS"


async def test_a_request_with_headers_of_its_own_asks_for_all_of_the_page(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        await crawl(settings, server)
        await crawl(settings, server, revalidate=True, seed_headers=TOKEN)
        assert conditions(server) == []


async def test_a_page_opened_with_headers_is_no_earlier_answer(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        near = reach(settings, server)
        async with open_house(near, guests=UnjailedGuests()) as house:
            scope = ExceptionScope.operator()
            await house.open_url(server.url("/1"), initiator=Initiator.OPERATOR, scope=scope)
            await house.open_url(server.url("/"), initiator=Initiator.OPERATOR, scope=scope, headers=TOKEN)
        await crawl(settings, server, revalidate=True)
        assert conditions(server) == ["/1"]


UNASKABLE = [
    ("a page that varies by all", page("/", etag='"a"', headers=(("Vary", "*"),))),
    ("a page not to be stored", page("/", etag='"a"', headers=(("Cache-Control", "no-store"),))),
    ("a page with no validator", page("/")),
    ("a failure", Route(path="/", status=404, etag='"a"')),
]


@pytest.mark.parametrize("route", [case[1] for case in UNASKABLE], ids=[case[0] for case in UNASKABLE])
async def test_what_cannot_be_asked_about_is_asked_for(settings: Settings, route: Route) -> None:
    async with SiteServer(route) as server:
        await crawl(settings, server)
        await crawl(settings, server, revalidate=True)
        assert conditions(server) == []


async def test_a_page_that_varies_by_what_the_profile_changed_is_asked_again_in_full(
    settings: Settings,
) -> None:
    other = replace(settings, fetch=replace(settings.fetch, user_agent="another/1"))
    varies = page("/", etag='"a"', headers=(("Vary", "User-Agent"),))
    async with SiteServer(varies) as server:
        await crawl(settings, server)
        manifest = await crawl(other, server, revalidate=True)
    assert manifest["pages"][0]["warnings"] == []
    assert manifest["pages"][0]["outcome"] == "STORED"


async def test_a_condition_stays_behind_where_the_page_has_moved(settings: Settings) -> None:
    async with SiteServer(*site()) as server:
        await crawl(settings, server)
        server.add(redirect("/1", "/5"), page("/5", etag='"b"'))
        manifest = await crawl(settings, server, revalidate=True)
        assert [seen.path for seen in server.requests if seen.header("If-None-Match")] == ["/", "/1"]
    assert row(manifest, "/1")["final_url"].endswith("/5")


async def test_an_earlier_record_that_is_damaged_is_warned_of_and_the_page_asked_for(
    settings: Settings,
) -> None:
    async with SiteServer(*site()) as server:
        await crawl(settings, server)
        (segment,) = (settings.workspace / "private" / "archive").glob("*.warc.gz")
        content = bytearray(segment.read_bytes())
        for offset in range(600, len(content), 97):
            content[offset] ^= 0xFF
        segment.write_bytes(bytes(content))
        manifest = await crawl(settings, server, revalidate=True)
        assert conditions(server) == []
    assert "PRIOR_UNREADABLE" in row(manifest, "/1")["warnings"]
    assert row(manifest, "/1")["outcome"] == "STORED"
    assert (await replay(settings, manifest["run_id"])).differences == ()
