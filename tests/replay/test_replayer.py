"""A crawl again from its archive: equal field by field, without a socket; or what differs, named."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mudroom.assembly import Network, open_house, open_study
from mudroom.corpus import load_schema
from mudroom.crawl import RobotsMode
from mudroom.errors import Code, InvalidConfig, MudroomError
from mudroom.replay import Difference
from mudroom.settings import Settings
from mudroom.snapshot import KeepRule
from mudroom.testing.answers import dropping, stalling, text
from mudroom.testing.authority import Authority
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

from .conftest import Recorded, crawl, crawl_once, every_kind, no_network, page, reach, record, replay

SMALL = (page("/", "/1", "/2", "/3"), page("/1", "/4"), page("/2"), page("/3"), page("/4"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recorded"), *SMALL)


def ends(manifest: Any) -> list[tuple[str, str]]:
    return [
        ("/" + row["url"].split("/", 3)[3], row["code"] or row["decision"] or row["outcome"])
        for row in manifest["pages"]
    ]


def archive_of(settings: Settings) -> Path:
    return settings.workspace / "private" / "archive"


EVERY_END = [
    ("/", "SAFE"),
    ("/mapped", "SAFE"),
    ("/b/5", "SAFE"),
    ("/gone", "HTTP_STATUS"),
    ("/broken", "HTTP_STATUS"),
    ("/endless", "BODY_TOO_LARGE"),
    ("/torn", "CONNECTION_LOST"),
    ("/bomb", "DECODED_TOO_LARGE"),
    ("/film", "UNSUPPORTED_CONTENT_TYPE"),
    ("/attack", "PROMPT_INJECTION"),
    ("/warned", "WARN"),
    ("/latin", "SAFE"),
    ("/moved", "SAFE"),
    ("/lost", "CONNECTION_LOST"),
    ("/loop", "REDIRECT_LOOP"),
    ("/far", "REDIRECT_LIMIT"),
    ("/off", "REDIRECT_CROSS_HOST"),
    ("/twin", "SAFE"),
    ("/private/x", "ROBOTS_DENIED"),
    ("/gzip", "SAFE"),
    ("/b/", "SAFE"),
    ("/deadend", "DUPLICATE_PAGE"),
    ("/b/6", "HTTP_STATUS"),
    ("/b/1", "SAFE"),
    ("/b/3", "SAFE"),
    ("/torn/2", "CONNECTION_LOST"),
    ("/b/4", "SAFE"),
]


async def test_an_upgrade_to_https_is_replayed_as_it_was(
    settings: Settings, authority: Authority, ca_file: Path
) -> None:
    hsts = ("Strict-Transport-Security", "max-age=600")
    routes = [
        page("/", "/1", headers=(hsts,)),
        page("/1"),
        text("/robots.txt", "User-agent: *\nDisallow: /x\n"),
    ]
    async with SiteServer(*routes, tls=authority.server_context("site.test")) as site:
        egress = replace(
            settings.egress,
            ports=frozenset({80, 443, site.tls_port}),
            allow_networks=(ip_network("127.0.0.0/8"),),
            ca_file=str(ca_file),
            ca_hosts=frozenset({"site.test"}),
        )
        settings = replace(settings, egress=egress)
        network = Network(resolver=ScriptedResolver({"site.test": "127.0.0.1"}))
        policy = replace(settings.crawl, delay_seconds=0.0)
        async with open_house(settings, guests=UnjailedGuests(), network=network) as house:
            first = await house.crawl(f"https://site.test:{site.tls_port}/", policy)
            live = await house.crawl(f"http://site.test:{site.tls_port}/", policy)
        assert all(request.is_tls for request in site.requests)
    assert (
        [row["outcome"] for row in first["pages"]]
        == [row["outcome"] for row in live["pages"]]
        == ["STORED"] * 2
    )
    hops = json.loads((settings.workspace / "runs" / live["run_id"] / "metadata/000001.json").read_bytes())[
        "hops"
    ]
    assert [hop["protocol"] for hop in hops] == ["HSTS", "HTTP/1.1"]
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_a_replay_equals_its_crawl_field_by_field_and_opens_no_socket(
    settings: Settings, concurrency: int
) -> None:
    live = await crawl_once(settings, *every_kind(), concurrency=concurrency)
    assert ends(live) == EVERY_END
    report = await replay(settings, live["run_id"])
    assert report.differences == ()
    assert (report.versions, report.unreadable, report.missing) == ({}, (), ())
    again = report.manifest
    assert again["run_id"] != live["run_id"]
    assert again["options"] == {**live["options"], "replay_of": live["run_id"]}
    for name in ("state", "totals", "pages", "warnings"):
        assert again[name] == live[name], name
    jsonschema.Draft202012Validator(load_schema("manifest")).validate(again)


LIMITS: list[tuple[str, dict[str, Any], str, str]] = [
    ("pages", {"max_pages": 3}, "LIMIT_REACHED", "PAGE_LIMIT"),
    ("depth", {"max_depth": 0}, "COMPLETE", ""),
    ("bytes", {"max_total_bytes": 200, "max_page_bytes": 200}, "LIMIT_REACHED", "BYTE_LIMIT"),
    ("frontier", {"max_frontier": 1}, "LIMIT_REACHED", "FRONTIER_FULL"),
    ("no robots", {"robots": RobotsMode.IGNORE}, "COMPLETE", ""),
]


@pytest.mark.parametrize(
    ("options", "state", "warning"), [row[1:] for row in LIMITS], ids=[r[0] for r in LIMITS]
)
async def test_a_crawl_that_reached_a_limit_reaches_it_again(
    settings: Settings, options: dict[str, Any], state: str, warning: str
) -> None:
    live = await crawl_once(settings, *SMALL, **options)
    assert (live["state"], warning in {each["code"] for each in live["warnings"]}) == (state, bool(warning))
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


async def test_a_crawl_whose_time_was_up_ends_at_the_same_pages(settings: Settings) -> None:
    routes = (page("/", "/1", "/slow", "/2"), page("/1"), page("/2"), stalling("/slow", b"<p>"))
    settings = replace(settings, fetch=replace(settings.fetch, idle_timeout_seconds=60))
    live = await crawl_once(settings, *routes, max_duration_seconds=2.5)
    assert dict(ends(live))["/slow"] == "CRAWL_LIMIT_REACHED"
    report = await replay(settings, live["run_id"])
    assert report.differences == ()
    assert report.manifest["warnings"][0]["code"] == "TIME_LIMIT"


async def test_a_crawl_that_was_cancelled_ends_at_the_same_pages(settings: Settings) -> None:
    held, came = asyncio.Event(), asyncio.Event()

    def answer(_: object) -> Route:
        came.set()
        return page("/2")

    last = Route(path="/2", answer=answer)
    async with SiteServer(page("/", "/1", "/held"), page("/1", "/2"), page("/held", gate=held), last) as site:
        near = reach(settings, site)
        async with open_house(near, guests=UnjailedGuests()) as house:
            work = asyncio.create_task(house.crawl(site.url("/"), near.crawl))
            await came.wait()
            work.cancel()
            live = await work
    assert (live["state"], dict(ends(live))["/held"]) == ("CANCELLED", "CANCELLED")
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


SEEDS = [
    # id, the routes, the path of the seed, how it ends
    ("gone", (page("/other"),), "/", "HTTP_STATUS"),
    ("denied", (text("/robots.txt", "User-agent: *\nDisallow: /\n"), page("/")), "/", "ROBOTS_DENIED"),
    ("robots broken", (Route(path="/robots.txt", status=503), page("/")), "/", "ROBOTS_UNAVAILABLE"),
    ("robots torn", (stalling("/robots.txt", b"User"), page("/")), "/", "ROBOTS_UNAVAILABLE"),
]


@pytest.mark.parametrize(
    ("routes", "path", "code"), [row[1:] for row in SEEDS], ids=[row[0] for row in SEEDS]
)
async def test_a_crawl_that_came_to_nothing_comes_to_nothing_again(
    settings: Settings, routes: tuple[Route, ...], path: str, code: str
) -> None:
    live = await crawl_once(settings, *routes, path=path)
    assert ends(live) == [(path, code)]
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


async def test_a_replay_reads_its_runs_own_bytes_and_never_newer_ones(settings: Settings) -> None:
    async with SiteServer(*SMALL) as site:
        first = await crawl(settings, site)
        site.add(page("/1", words="Changed since."), page("/2", "/5"), page("/5"))
        second = await crawl(settings, site)
    assert (await replay(settings, first["run_id"])).differences == ()
    assert (await replay(settings, second["run_id"])).differences == ()


async def test_a_damaged_record_is_corrupt_for_its_page_and_never_missing(
    settings: Settings, live: dict[str, Any]
) -> None:
    (segment,) = archive_of(settings).glob("*.warc.gz")
    target = live["pages"][1]["source_ref"].rpartition("record=")[2]
    index = sqlite3.connect(archive_of(settings) / "index.sqlite")
    offset, length = index.execute(
        "SELECT offset, length FROM snapshots WHERE record = ?", (bytes.fromhex(target),)
    ).fetchone()
    index.close()
    content = bytearray(segment.read_bytes())
    content[offset + length // 3] ^= 0xFF
    segment.write_bytes(bytes(content))
    report = await replay(settings, live["run_id"])
    assert [(number, error.code) for number, error in report.unreadable] == [(2, Code.SNAPSHOT_CORRUPT)]
    assert dict(ends(report.manifest))["/1"] == "SNAPSHOT_CORRUPT"
    assert report.missing == (5,)  # only the damaged page led to it
    assert (
        Difference(field="code", recorded=None, replayed="SNAPSHOT_CORRUPT", number=2) in report.differences
    )


async def test_a_page_whose_bytes_were_removed_is_missing(settings: Settings, live: dict[str, Any]) -> None:
    for path in archive_of(settings).iterdir():
        path.unlink()
    report = await replay(settings, live["run_id"])
    # robots.txt is gone as well, and what cannot be read allows nothing
    assert {error.code for _, error in report.unreadable} == {Code.SNAPSHOT_MISSING}


async def test_an_edited_record_shows(settings: Settings, live: dict[str, Any]) -> None:
    path = settings.workspace / "runs" / live["run_id"] / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["pages"][2]["decision"] = "WARN"
    path.write_text(json.dumps(manifest))
    (difference,) = (await replay(settings, live["run_id"])).differences
    assert difference == Difference(field="decision", recorded="WARN", replayed="SAFE", number=3)


async def refuse(settings: Settings, run_id: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        await replay(settings, run_id)
    return caught.value.message


async def test_what_cannot_be_replayed_is_refused_with_what_to_do(
    settings: Settings, live: dict[str, Any]
) -> None:
    some = replace(settings, archive=replace(settings.archive, keep=KeepRule.ACCEPTED))
    run_id = (await crawl_once(some, *SMALL))["run_id"]
    said = await refuse(settings, run_id)
    assert run_id in said
    assert 'archive.keep = "all"' in said
    run_id = live["run_id"]
    replayed = (await replay(settings, run_id)).manifest["run_id"]
    assert f"mudroom replay {run_id}" in await refuse(settings, replayed)
    manifest = settings.workspace / "runs" / run_id / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"COMPLETE"', '"RUNNING"'))
    assert "has not ended" in await refuse(settings, run_id)
    with pytest.raises(MudroomError) as caught:
        await replay(settings, "crawl_00000000000000000000000000")
    assert caught.value.code is Code.RUN_NOT_FOUND


async def test_another_policy_is_named_as_a_version_and_not_as_a_change_of_the_record(
    settings: Settings,
    live: dict[str, Any],
) -> None:
    other = replace(settings, screen=replace(settings.screen, max_findings=settings.screen.max_findings + 1))
    report = await replay(other, live["run_id"])
    assert list(report.versions) == ["policy"]
    assert report.differences == ()


async def test_a_page_that_was_tried_again_costs_and_warns_the_same(settings: Settings) -> None:
    late = replace(dropping("/late", b"<p>half"), then=(page("/late", "/4"),))
    never = dropping("/never", b"<p>half of it")
    routes = (page("/", "/late", "/never"), late, never, page("/4"))
    live = await crawl_once(settings, *routes, retries=1)
    assert [each["code"] for each in live["warnings"]].count("RETRIED") == 2
    assert dict(ends(live))["/late"] == "SAFE"
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


async def test_a_crawl_that_went_on_after_it_was_cancelled_is_replayed_as_one(settings: Settings) -> None:
    held, came = asyncio.Event(), asyncio.Event()

    def answer(_: object) -> Route:
        came.set()
        return page("/held", "/2", gate=held)

    routes = (page("/", "/1", "/held"), page("/1", "/3"), page("/2"), page("/3"))
    async with SiteServer(*routes, Route(path="/held", answer=answer)) as site:
        near = reach(settings, site)
        async with open_house(near, guests=UnjailedGuests()) as house:
            work = asyncio.create_task(house.crawl(site.url("/"), near.crawl))
            await came.wait()
            work.cancel()
            cut = await work
        held.set()
        async with open_house(near, guests=UnjailedGuests()) as house:
            live = await house.crawler.resume_to_end(cut["run_id"])
    assert (cut["state"], live["state"], live["run_id"]) == ("CANCELLED", "COMPLETE", cut["run_id"])
    report = await replay(settings, live["run_id"])
    assert report.differences == ()


async def crawl_in_two_sittings(settings: Settings, site: SiteServer) -> dict[str, Any]:
    """The manifest of a crawl that was stopped while it waited for /held, and went on."""
    held = asyncio.Event()
    site.add(page("/held", gate=held))
    near = reach(settings, site)
    policy = replace(near.crawl, concurrency=1, retries=0)
    async with open_house(near, guests=UnjailedGuests()) as house:
        work = asyncio.create_task(house.crawl(site.url("/"), policy))
        await site.wait_for_requests(1, "/held")
        work.cancel()
        cut = await work
    held.set()
    async with open_house(near, guests=UnjailedGuests()) as house:
        return await house.resume(cut["run_id"])


STRICT, LOOSE = "User-agent: *\nDisallow: /1\nDisallow: /3\n", "User-agent: *\nAllow: /\n"


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [(STRICT, LOOSE, ["/1"]), (LOOSE, STRICT, ["/3"]), (STRICT, STRICT, ["/1", "/3"])],
    ids=["relaxed", "tightened", "unchanged"],
)
async def test_what_robots_said_in_each_sitting_is_replayed_though_it_changed(
    settings: Settings, first: str, second: str, refused: list[str]
) -> None:
    """/1 was decided in the first sitting, /3 in the second."""
    rules = replace(text("/robots.txt", first), then=(text("/robots.txt", second),))
    routes = (rules, page("/", "/1", "/2", "/held", "/3"), page("/1"), page("/2"), page("/3"))
    async with SiteServer(*routes) as site:
        live = await crawl_in_two_sittings(settings, site)
        assert site.hit_count("/robots.txt") == 2
    assert [path for path, end in ends(live) if end == "ROBOTS_DENIED"] == refused
    assert (await replay(settings, live["run_id"])).differences == ()


async def test_what_robots_were_warned_of_in_an_earlier_sitting_stays_in_the_record(
    settings: Settings,
) -> None:
    settings = replace(settings, fetch=replace(settings.fetch, max_decoded_bytes=1_000_000))
    long = text("/robots.txt", LOOSE + "# more to come\n" * 40_000)
    rules = replace(long, then=(text("/robots.txt", LOOSE),))
    async with SiteServer(rules, page("/", "/1", "/held", "/2"), page("/1"), page("/2")) as site:
        live = await crawl_in_two_sittings(settings, site)
    assert [each["code"] for each in live["warnings"]].count("ROBOTS_TRUNCATED") == 1
    assert (await replay(settings, live["run_id"])).differences == ()


MAPS = text(
    "/robots.txt", "Sitemap: /a.txt\nSitemap: https://elsewhere.example/\nSitemap: /b.txt\nSitemap: /c.txt\n"
)


async def test_a_crawl_whose_bytes_ended_with_its_seed_looks_for_no_sitemaps_in_a_replay(
    settings: Settings,
) -> None:
    routes = (MAPS, page("/", "/1", words="many " * 200), text("/a.txt", ""))
    live = await crawl_once(settings, *routes, max_total_bytes=400)
    assert [each["code"] for each in live["warnings"]] == ["BYTE_LIMIT", "NOTHING_STORED"]
    assert (await replay(settings, live["run_id"])).differences == ()


@pytest.mark.parametrize("ending", ["time", "person"])
async def test_a_crawl_that_ended_among_its_sitemaps_ends_there_in_a_replay(
    settings: Settings, ending: str
) -> None:
    held = asyncio.Event()
    async with SiteServer(MAPS, page("/", "/1"), replace(text("/b.txt", ""), gate=held)) as site:
        site.add(text("/a.txt", f"{site.url('/2')}\n"))
        seconds = 1.5 if ending == "time" else 60.0
        near = reach(settings, site)
        policy = replace(near.crawl, max_duration_seconds=seconds, delay_seconds=0.0, retries=0)
        async with open_house(near, guests=UnjailedGuests()) as house:
            work = asyncio.create_task(house.crawl(site.url("/"), policy))
            await site.wait_for_requests(1, "/b.txt")
            if ending == "person":
                work.cancel()
            live = await work
        held.set()
    assert (len(live["pages"]), live["state"]) == (1, "LIMIT_REACHED" if ending == "time" else "CANCELLED")
    assert (await replay(settings, live["run_id"])).differences == ()


async def test_a_scored_crawl_is_replayed_with_its_function_and_refused_without(settings: Settings) -> None:
    def score(url: str, context: object) -> bool | float:
        del context
        return False if url.endswith("/3") else 2.0 if url.endswith("/2") else 1.0

    live = await crawl_once(settings, *SMALL, should_follow=score)
    assert [path for path, _ in ends(live)] == ["/", "/2", "/1", "/4"]
    assert "scored by a function" in await refuse(settings, live["run_id"])
    with no_network():
        async with open_study(settings, guests=UnjailedGuests()) as study:
            report = await study.replayer.replay(live["run_id"], should_follow=score)
    assert report.differences == ()
