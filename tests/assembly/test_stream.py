"""Pages of a crawl as a program reads them, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mudroom.assembly import library
from mudroom.assembly.library import Seed, stream_site
from mudroom.corpus import FileCorpus, RunVersions
from mudroom.crawl import CrawlPolicy, OutcomeStream
from mudroom.errors import InvalidConfig
from mudroom.intake import Failed, PageFacts
from mudroom.model import CrawlState
from mudroom.settings import Settings, load_settings
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer

FAST = CrawlPolicy(delay_seconds=0, max_pages=200)


@pytest.fixture
async def site() -> AsyncIterator[SiteServer]:
    links = "".join(f'<a href="/{n}">on</a>' for n in range(30))
    routes = [Route(path=f"/{n}", body=f"<h1>Page {n}</h1>") for n in range(30)]
    async with SiteServer(Route(path="/", body=f"<h1>Start</h1>{links}"), *routes) as server:
        yield server


@pytest.fixture
def settings(site: SiteServer, tmp_path: Path) -> Settings:
    overrides = {("egress", "allow_origins"): (site.origin,), ("jail", "isolation"): "process"}
    return load_settings({}, config=Path("/dev/null"), workspace=tmp_path / "room", overrides=overrides)


async def read_last(settings: Settings) -> dict[str, object]:
    corpus = FileCorpus(settings.workspace, RunVersions(mudroom="", scanner="", policy=""))
    try:
        return await corpus.read_manifest(await corpus.resolve_run("@last"))
    finally:
        await corpus.aclose()


async def test_every_page_comes_once_as_it_is_decided(site: SiteServer, settings: Settings) -> None:
    pages = [page async for page in stream_site(site.url("/"), FAST, settings=settings)]
    assert len(pages) == 31
    assert len({page.facts.number for page in pages}) == 31
    assert {page.kind for page in pages} == {"STORED"}
    assert pages[0].facts.source_ref is not None
    assert (await read_last(settings))["state"] == CrawlState.COMPLETE


async def test_a_reader_who_leaves_ends_the_crawl_in_good_order(site: SiteServer, settings: Settings) -> None:
    stream = stream_site(site.url("/"), FAST, settings=settings)
    async for page in stream:
        if page.facts.number == 3:
            break
    await stream.aclose()
    manifest = await read_last(settings)
    assert manifest["state"] == CrawlState.CANCELLED
    assert len(manifest["pages"]) < 31


async def test_a_slow_reader_holds_the_crawl_up(site: SiteServer, settings: Settings) -> None:
    stream = stream_site(site.url("/"), FAST, settings=settings)
    await anext(stream)
    before = -1
    while before != len(site.requests):  # until nothing more comes
        before = len(site.requests)
        for _ in range(200):
            await asyncio.sleep(0)
        await asyncio.to_thread(lambda: None)
    assert len(site.requests) < 30
    rest = [page async for page in stream]
    assert len(rest) == 30


WEB = "http://a.example/"


@pytest.mark.parametrize(
    ("seed", "policy"),
    [
        ("", FAST),
        ("ftp://a.example/", FAST),
        (Seed(url=WEB, agent="a\nb"), FAST),
        (None, FAST),
        (5, FAST),
        (Seed(url=None), FAST),  # type: ignore[arg-type]  # as a program without types may
        (Seed(url=WEB, agent=5), FAST),  # type: ignore[arg-type]
        (Seed(url=WEB, headers=5), FAST),  # type: ignore[arg-type]
        (Seed(url=WEB, headers=(("a", 5),)), FAST),  # type: ignore[arg-type]
        (Seed(url=WEB, headers=("a",)), FAST),  # type: ignore[arg-type]
        (Seed(url=WEB, headers=(("Host", "a"),)), FAST),
        (WEB, "policy"),
        (WEB, CrawlPolicy(scope="host")),  # type: ignore[arg-type]
        (WEB, CrawlPolicy(max_pages=True)),
    ],
    ids=repr,
)
async def test_a_configuration_that_cannot_be_is_the_only_error(
    settings: Settings, seed: Any, policy: Any
) -> None:
    with pytest.raises(InvalidConfig):
        await anext(stream_site(seed, policy, settings=settings))
    with pytest.raises(InvalidConfig):
        await library.crawl_site(seed, policy, settings=settings)
    assert not (settings.workspace / "runs").exists()


async def test_a_seed_brings_its_own_headers_and_agent(site: SiteServer, settings: Settings) -> None:
    seed = Seed(url=site.url("/"), headers=(("X-Key", "k"),), agent="reader/7")
    manifest = await library.crawl_site(seed, CrawlPolicy(delay_seconds=0, max_pages=3), settings=settings)
    assert manifest["state"] == CrawlState.LIMIT_REACHED
    asked = [request for request in site.requests if request.path != "/robots.txt"]
    assert {request.header("user-agent") for request in site.requests} == {"reader/7"}
    assert {request.header("x-key") for request in asked if request.path != "/sitemap.xml"} == {"k"}


async def test_a_stream_is_short_and_closed_from_either_end() -> None:
    stream = OutcomeStream()
    facts = PageFacts(number=1, document_id="", run_id="", requested_url="")
    page = Failed(facts=facts, code="HTTP_STATUS", message="", retryable=False)  # type: ignore[arg-type]  # any will do
    for _ in range(8):
        await stream.put(page)
    ninth = asyncio.create_task(stream.put(page))
    await asyncio.sleep(0)
    assert not ninth.done()
    assert await stream.get() is page
    await ninth
    await stream.close()
    await stream.put(page)
    assert [await stream.get() for _ in range(9)] == [page] * 8 + [None]
