"""A crawl that was killed, again and again, comes out as one that was left alone."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mudroom.address import AllowedOrigin
from mudroom.assembly import open_house, open_study
from mudroom.crawl import CrawlPolicy
from mudroom.crawl.frontier_rows import digest_key, pack_rank
from mudroom.errors import InvalidConfig, NotFound, StoreFailed
from mudroom.settings import Settings, load_settings
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

PAGES = 60
SITTING = Path(__file__).with_name("sitting.py")


def make_site() -> list[Route]:
    """Pages that link to some of each other; a few moved, missing, the same, or elsewhere."""
    chance = random.Random(4)  # noqa: S311 - a site to test with, no secret
    routes = [Route(path="/robots.txt", status=404), Route(path="/sitemap.xml", status=404)]
    for number in range(PAGES):
        path = f"/{number}" if number else "/"
        links = [f"/{chance.randrange(1, PAGES)}" for _ in range(4)]
        links += [f"/{number + 1}/", "http://elsewhere.example/", "/?utm_source=x"][: 1 + number % 3]
        anchors = "".join(f'<a href="{link}">on</a> ' for link in links)
        if number % 17 == 5:
            routes.append(Route(path=path, status=302, headers=(("Location", links[0]),)))
        elif number % 17 == 7:
            routes.append(Route(path=path, status=404))
        elif number % 17 == 9:
            routes.append(Route(path=path, body="<h1>Nothing here yet</h1><p>Come again.</p>"))
        else:
            routes.append(Route(path=path, body=f"<title>{number}</title><h1>Page {number}</h1>{anchors}"))
        routes.append(Route(path=f"/{number}/", status=301, headers=(("Location", path),)))
    return routes


@pytest.fixture
async def site() -> AsyncIterator[SiteServer]:
    async with SiteServer(*make_site()) as server:
        yield server


async def sit(workspace: Path, site: SiteServer, target: str, moment: str = "", **options: Any) -> Any:
    """The manifest of one sitting, or None when it was killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SITTING),
        str(workspace),
        site.origin,
        target,
        moment,
        json.dumps({"max_pages": 200, "max_depth": 50, "delay_seconds": 0, **options}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "MUDROOM_TESTING": "1",
            "HOME": str(workspace.parent),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": os.environ["PATH"],
        },
    )
    out, err = await process.communicate()
    if process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, err.decode()
    return json.loads(out)


def facts(manifest: dict[str, Any], origin: str) -> Any:
    """A manifest without what names the run or the moment."""
    text = json.dumps(
        {
            "pages": manifest["pages"],
            "warnings": manifest["warnings"],
            "state": manifest["state"],
            "totals": {name: n for name, n in manifest["totals"].items() if name != "bytes"},
            "options": manifest["options"],
        }
    ).replace(origin, "ORIGIN")
    text = re.sub(r"fetched_at=[^&\"]*|record=[0-9a-f]*|127\.0\.0\.1%3A[0-9]+", "", text)
    return json.loads(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What a crawl of the site found that was left alone."""

    facts: Any
    seen: frozenset[str]


async def crawl_whole(folder: Path) -> Whole:
    async with SiteServer(*make_site()) as site:
        manifest = await sit(folder / "whole", site, site.url("/"))
        assert manifest["state"] == "COMPLETE"
        assert manifest["totals"]["attempted"] > 50
        seen = frozenset(request.path for request in site.requests)
        return Whole(facts=facts(manifest, site.origin), seen=seen)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return asyncio.run(crawl_whole(tmp_path_factory.mktemp("alone")))


MOMENTS = [
    ("DISCOVERED:1", "FETCHING:9"),
    ("STORED:1", "STORED:8"),
    ("SCANNING:20", "FAILED:2"),
]


@pytest.mark.parametrize("moments", MOMENTS, ids="-".join)
async def test_a_crawl_killed_twice_and_gone_on_with_equals_one_that_was_left_alone(
    site: SiteServer, settings: Settings, whole: Whole, moments: tuple[str, str]
) -> None:
    await kill_twice(site, settings, whole, moments)


async def kill_twice(site: SiteServer, settings: Settings, whole: Whole, moments: tuple[str, str]) -> None:
    """A crawl that dies at two moments, gone on with each time, is the whole one, and replays so."""
    workspace = settings.workspace
    assert await sit(workspace, site, site.url("/"), moments[0]) is None
    (run_id,) = [path.name for path in (workspace / "runs").iterdir()]
    assert await sit(workspace, site, run_id, moments[1]) is None
    manifest = await sit(workspace, site, "@last")
    assert manifest["run_id"] == run_id
    assert facts(manifest, site.origin) == whole.facts
    assert {request.path for request in site.requests} == whole.seen
    assert list((workspace / "private/frontier").iterdir()) == []
    assert list((workspace / "private/state/runs").iterdir()) == []
    await check_replay(settings, run_id)
    for page in manifest["pages"]:
        assert (workspace / "runs" / run_id / "metadata" / f"{page['n']:06d}.json").is_file()


def govern(site: SiteServer, maps: list[str]) -> list[Route]:
    """A site whose robots.txt and sitemaps cost bytes; its first sitemap is what `maps` says each time."""

    def first(_: Any) -> Route:
        return Route(path="/b.txt", content_type="text/plain", body=maps.pop(0) if len(maps) > 1 else maps[0])

    rules = f"User-agent: *\nDisallow: /7\nSitemap: {site.url('/b.txt')}\nSitemap: {site.url('/c.txt')}\n"
    links = "".join(f'<a href="/{number}">on</a>' for number in range(1, 30))
    return [
        Route(path="/robots.txt", content_type="text/plain", body=rules),
        Route(path="/b.txt", answer=first),
        Route(path="/", body=f"<title>seed</title><p>Where it begins.</p>{links}"),
        *(Route(path=f"/{n}", body=f"<title>{n}</title><p>Page {n}.</p>") for n in range(1, 40)),
    ]


async def check_replay(settings: Settings, run_id: str) -> None:
    async with open_study(settings, guests=UnjailedGuests()) as study:
        report = await study.replayer.replay(run_id)
    assert report.differences == ()


@pytest.mark.parametrize("moments", [("STORED:3", "STORED:9"), ("FETCHING:2", "FAILED:1")], ids="-".join)
async def test_what_each_sitting_asked_for_beside_pages_is_paid_for_in_a_replay_too(
    settings: Settings, tmp_path: Path, moments: tuple[str, str]
) -> None:
    async with SiteServer() as site:
        site.add(*govern(site, [f"{site.url('/35')}\n"]))
        workspace = tmp_path / "room"
        assert await sit(workspace, site, site.url("/"), moments[0]) is None
        assert await sit(workspace, site, "@last", moments[1]) is None
        manifest = await sit(workspace, site, "@last")
        assert site.hit_count("/robots.txt") == 3
    assert manifest["state"] == "COMPLETE"
    assert [page["code"] for page in manifest["pages"]].count("ROBOTS_DENIED") == 1
    await check_replay(settings, manifest["run_id"])


async def test_a_sitemap_that_two_sittings_asked_for_is_replayed_as_the_last_one_had_it(
    settings: Settings,
) -> None:
    async with SiteServer() as site:
        gate = asyncio.Event()
        maps = [f"{site.url('/30')}\n", f"{site.url('/35')}\n"]
        site.add(*govern(site, maps), Route(path="/c.txt", content_type="text/plain", body="", gate=gate))
        policy = CrawlPolicy(max_pages=200, delay_seconds=0)
        reached = replace(
            settings, egress=replace(settings.egress, allow_origins=(AllowedOrigin.parse(site.origin),))
        )
        async with open_house(reached, guests=UnjailedGuests()) as house:
            crawl = asyncio.create_task(house.crawl(site.url("/"), policy))
            await site.wait_for_requests(1, "/c.txt")
            crawl.cancel()
            stopped = await crawl
            assert stopped["state"] == "CANCELLED"
            gate.set()
            manifest = await house.resume(stopped["run_id"])
        assert site.hit_count("/b.txt") == 2
    named = {page["url"].rpartition("/")[2] for page in manifest["pages"]}
    assert "35" in named
    assert "30" not in named
    await check_replay(settings, manifest["run_id"])


async def test_a_finished_page_is_never_asked_for_again(site: SiteServer, tmp_path: Path) -> None:
    assert await sit(tmp_path / "room", site, site.url("/"), "STORED:20") is None
    journal = next((tmp_path / "room/private/state/runs").glob("*.pages.jsonl"))
    finished = {json.loads(line)["url"] for line in journal.read_bytes().splitlines()}
    assert len(finished) >= 15
    before = len(site.requests)
    manifest = await sit(tmp_path / "room", site, "@last")
    assert manifest["state"] == "COMPLETE"
    asked = {f"{site.origin}{request.path}" for request in site.requests[before:]}
    moved = {page["url"] for page in manifest["pages"] if page["url"] != page["final_url"]}
    assert not (finished - moved) & asked


@pytest.fixture
def settings(site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    overrides = {("egress", "allow_origins"): (site.origin,)}
    return load_settings({}, config=Path("/dev/null"), workspace=tmp_path / "room", overrides=overrides)


async def resume(settings: Settings, run: str = "@last", **more: Any) -> dict[str, Any]:
    async with open_house(settings, guests=UnjailedGuests()) as house:
        return await house.resume(run, **more)


async def test_a_crawl_that_a_person_stopped_goes_on_and_tries_again_what_was_given_up(
    site: SiteServer, settings: Settings, whole: Whole
) -> None:
    gate = asyncio.Event()
    late = next(route for route in make_site() if route.path == "/3")
    site.add(replace(late, gate=gate))
    policy = CrawlPolicy(max_pages=200, max_depth=50, delay_seconds=0)
    before = site.hit_count("/3")
    async with open_house(settings, guests=UnjailedGuests()) as house:
        crawl = asyncio.create_task(house.crawl(site.url("/"), policy))
        await site.wait_for_requests(before + 1, "/3")
        crawl.cancel()
        stopped = await crawl
    assert stopped["state"] == "CANCELLED"
    assert [page["code"] for page in stopped["pages"]].count("CANCELLED") >= 1
    gate.set()
    manifest = await resume(settings)
    assert facts(manifest, site.origin)["pages"] == whole.facts["pages"]
    assert facts(manifest, site.origin)["warnings"] == whole.facts["warnings"]
    assert manifest["run_id"] == stopped["run_id"]


async def test_a_run_that_has_come_to_its_end_is_not_gone_on_with(
    site: SiteServer, settings: Settings
) -> None:
    async with open_house(settings, guests=UnjailedGuests()) as house:
        done = await house.crawl(site.url("/9"), CrawlPolicy(delay_seconds=0))
        with pytest.raises(InvalidConfig, match="is complete"):
            await house.resume(done["run_id"])
        limited = await house.crawl(site.url("/"), CrawlPolicy(max_pages=2, delay_seconds=0))
        with pytest.raises(InvalidConfig, match="max_pages"):
            await house.resume(limited["run_id"][:20])
        opened = await house.open_file(Path("-"), io.BytesIO(b"text"))
        with pytest.raises(InvalidConfig, match="no crawl"):
            await house.resume(opened.facts.run_id)
        with pytest.raises(NotFound):
            await house.resume("crawl_nothing")
        assert (await house.corpus.read_manifest(limited["run_id"]))["state"] == "LIMIT_REACHED"


async def test_a_run_that_is_alive_is_left_alone(site: SiteServer, settings: Settings) -> None:
    gate = asyncio.Event()
    site.add(Route(path="/", body='<a href="/1">on</a>', gate=gate))
    async with open_house(settings, guests=UnjailedGuests()) as house:
        crawl = asyncio.create_task(house.crawl(site.url("/"), CrawlPolicy(delay_seconds=0, max_pages=2)))
        await site.wait_for_requests(1, "/")
        with pytest.raises(InvalidConfig, match="being written at this moment"):
            await house.resume("@last")
        gate.set()
        assert (await crawl)["state"] == "LIMIT_REACHED"


async def test_headers_stand_in_no_record_and_are_given_again(site: SiteServer, settings: Settings) -> None:
    gate = asyncio.Event()
    site.add(Route(path="/", body='<a href="/1">on</a>'), Route(path="/1", body="late", gate=gate))
    headers = (("X-Key", "s3cret"),)
    policy = CrawlPolicy(delay_seconds=0, max_pages=5, seed_headers=headers)
    async with open_house(settings, guests=UnjailedGuests()) as house:
        crawl = asyncio.create_task(house.crawl(site.url("/"), policy))
        await site.wait_for_requests(1, "/1")
        crawl.cancel()
        await crawl
    gate.set()
    with pytest.raises(InvalidConfig, match="X-Key"):
        await resume(settings)
    before = len(site.requests)
    await resume(settings, headers=headers)
    sent = [dict(request.headers).get("X-Key") for request in site.requests[before:] if request.path == "/1"]
    assert sent == ["s3cret"]
    for path in settings.workspace.rglob("*"):
        assert not path.is_file() or b"s3cret" not in path.read_bytes()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which a crawl was killed behind twenty-five pages; to be copied, not changed."""
    workspace = tmp_path_factory.mktemp("killed") / "room"

    async def die() -> None:
        async with SiteServer(*make_site()) as site:
            assert await sit(workspace, site, site.url("/"), "STORED:25") is None

    asyncio.run(die())
    return workspace


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone", "link", "text"])
async def test_a_damaged_frontier_is_a_typed_error_and_the_record_stays(
    killed: Path, settings: Settings, tmp_path: Path, damage: str
) -> None:
    shutil.copytree(killed, settings.workspace)
    (path,) = (tmp_path / "room/private/frontier").glob("*.sqlite")
    fold_in(path)
    content = path.read_bytes()
    harm = {
        "cut": content[: len(content) // 2],
        "flipped": content[:4096] + bytes(byte ^ 0x5A for byte in content[4096:]),
        "empty": b"",
        "text": b"not a database at all, whoever wrote it" * 200,
    }
    if damage in harm:
        path.write_bytes(harm[damage])
    else:
        for each in path.parent.iterdir():
            each.unlink()
        if damage == "link":
            (tmp_path / "other").write_bytes(content)
            path.symlink_to(tmp_path / "other")
    with pytest.raises(StoreFailed) as caught:
        await resume(settings)
    assert caught.value.code in {"SNAPSHOT_CORRUPT", "SNAPSHOT_MISSING"}
    async with open_house(settings, guests=UnjailedGuests()) as house:
        run_id = await house.corpus.resolve_run("@last")
        manifest = await house.corpus.read_manifest(run_id)
    assert manifest["totals"]["stored"] >= 20


def fold_in(path: Path) -> None:
    """Bring the log of a database into its file."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()


@pytest.mark.parametrize(
    ("depth", "right", "initiator"),
    [
        (1, "*", "page"),
        (1, "ORIGIN", "page"),
        (1, "ORIGIN", "operator"),
        (0, "*", "operator"),
        (0, "ORIGIN", "page"),
    ],
)
async def test_a_queue_that_somebody_wrote_to_asks_for_nothing_that_the_crawl_does_not_cover(
    site: SiteServer,
    settings: Settings,
    tmp_path: Path,
    depth: int,
    right: str,
    initiator: str,
) -> None:
    """Not even where this sitting was given the exception that the page would need."""
    assert await sit(tmp_path / "room", site, site.url("/"), "STORED:6") is None
    (path,) = (tmp_path / "room/private/frontier").glob("*.sqlite")
    async with SiteServer(Route(path="/inside", body="<h1>Inside</h1>")) as inner:
        url, scope = inner.url("/inside"), right.replace("ORIGIN", inner.origin)
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(
            "INSERT INTO urls (digest, rank, host, url, initiator, scope) VALUES (?, ?, ?, ?, ?, ?)",
            (digest_key(url), pack_rank((-9.0, depth, 1, 0)), inner.origin[7:], url, initiator, scope),
        )
        database.close()
        origins = {("egress", "allow_origins"): (site.origin, inner.origin)}
        manifest = await resume(
            load_settings({}, config=Path("/dev/null"), workspace=settings.workspace, overrides=origins)
        )
        assert not inner.requests
    ends = {page["code"] for page in manifest["pages"] if page["url"] == url}
    assert ends <= {"OUT_OF_SCOPE", "INVALID_PORT"}
    assert ends or "SNAPSHOT_CORRUPT" in {warning["code"] for warning in manifest["warnings"]}


async def test_a_log_cut_off_by_a_loss_of_power_goes_on_from_its_last_whole_commit(
    site: SiteServer, settings: Settings, tmp_path: Path
) -> None:
    """The run's record has pages that the frontier has lost; they are not asked for again."""
    assert await sit(tmp_path / "room", site, site.url("/"), "STORED:25") is None
    (log,) = (tmp_path / "room/private/frontier").glob("*.sqlite-wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size * 2 // 3 + 77])
    (tmp_path / "room/private/frontier").joinpath(log.name.replace("-wal", "-shm")).unlink()
    before = len(site.requests)
    manifest = await resume(settings)
    numbers = [page["n"] for page in manifest["pages"]]
    assert numbers == sorted(set(numbers))
    assert len({page["url"] for page in manifest["pages"]}) == len(numbers)
    assert "LINKS_LOST" in {warning["code"] for warning in manifest["warnings"]}
    assert len(site.requests) - before < 90


async def test_a_crash_before_the_seed_was_queued_begins_with_it(
    site: SiteServer, settings: Settings, tmp_path: Path
) -> None:
    assert await sit(tmp_path / "room", site, site.url("/"), "DISCOVERED:1") is None
    for path in (tmp_path / "room/private/frontier").iterdir():
        path.unlink()
    (tmp_path / "room/private/state/runs").joinpath("x").write_bytes(b"")
    journal = next((tmp_path / "room/private/state/runs").glob("*.pages.jsonl"))
    journal.write_bytes(b"")
    manifest = await resume(settings)
    assert manifest["state"] == "COMPLETE"
    assert manifest["pages"][0]["url"] == site.url("/")
