"""What is known of a run, a page, a reference or a URL, and that no text of a page is among it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mudroom.assembly import open_study
from mudroom.errors import Code, MudroomError
from mudroom.replay import Archivist, find_target
from mudroom.settings import Settings
from mudroom.testing.answers import redirect, text
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

from .conftest import ATTACK, Recorded, crawl, no_network, page, record
from .test_verifier import break_record, open_one

WORDS = "Words that nobody but a reader may see."
SITE = (
    text("/robots.txt", "User-agent: *\nDisallow: /private\n"),
    page("/", "/1", "/2", "/moved", words=WORDS),
    page("/1", words=WORDS),
    page("/2", words=ATTACK),
    redirect("/moved", "/3"),
    page("/3"),
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recorded"), *SITE)


async def describe(settings: Settings, name: str) -> dict[str, Any]:
    with no_network():
        async with open_study(settings, guests=UnjailedGuests()) as study:
            target = await find_target(study.corpus, name)
            return await Archivist(study.archive, study.corpus).describe(target)


async def code_of(settings: Settings, name: str) -> Code:
    with pytest.raises(MudroomError) as caught:
        await describe(settings, name)
    return caught.value.code


async def test_a_run_is_told_with_what_it_asked_for_and_found(
    settings: Settings, live: dict[str, Any]
) -> None:
    for name in ("@last", live["run_id"], live["run_id"][:20]):
        told = await describe(settings, name)
        assert (told["kind"], told["run"]["run_id"], told["run"]["totals"]) == (
            "run",
            live["run_id"],
            live["totals"],
        )
    assert [(source["kind"], source["http_status"]) for source in told["sources"]] == [
        ("robots", 200),
        ("sitemap", 404),
    ]
    assert [page["outcome"] for page in told["pages"]] == ["STORED", "STORED", "BLOCKED", "STORED"]
    assert [each["n"] for each in told["findings"]] == [3]
    assert WORDS not in json.dumps(told)
    assert "Page /1" not in json.dumps(told)


async def test_a_page_is_told_with_its_hops_its_verdict_and_its_history(settings: Settings) -> None:
    async with SiteServer(*SITE) as site:
        first = await crawl(settings, site)
        second = await crawl(settings, site)
    told = await describe(settings, f"{second['run_id']}/4")
    page = told["page"]
    assert [hop["status"] for hop in page["hops"]] == [302, 200]
    assert {hop["address"] for hop in page["hops"]} == {"127.0.0.1"}
    assert (page["isolation"], page["robots"], page["versions"]) == ("process", "allowed", second["versions"])
    assert "title" not in page
    assert (told["archive"]["state"], told["archive"]["run_id"]) == ("found", second["run_id"])
    assert [each["source_ref"] for each in told["history"]] == [
        run["pages"][3]["source_ref"] for run in (second, first)
    ]
    blocked = await describe(settings, "@last/3")
    assert (blocked["page"]["code"], blocked["findings"][0]["severity"]) == ("PROMPT_INJECTION", "HIGH")
    assert ATTACK not in json.dumps(blocked)


async def test_a_run_of_one_page_is_told_as_its_page(settings: Settings) -> None:
    async with SiteServer(*SITE) as site:
        outcome = await open_one(settings, site)
    told = await describe(settings, "@last")
    assert (told["kind"], told["run"]["run_id"]) == ("page", outcome.facts.run_id)
    assert told["page"]["source_ref"] == outcome.facts.source_ref


async def test_a_reference_and_a_url_lead_to_the_same(settings: Settings, live: dict[str, Any]) -> None:
    source_ref, url = live["pages"][1]["source_ref"], live["pages"][1]["url"]
    ref = await describe(settings, source_ref)
    assert (ref["archive"]["state"], ref["archive"]["status"]) == ("found", 200)
    assert [(each["run_id"], each["n"]) for each in ref["pages"]] == [(live["run_id"], 2)]
    by_url = await describe(settings, url)
    assert [source["kind"] for source in by_url["sources"]] == ["page"]
    assert by_url["pages"] == ref["pages"]
    robots = await describe(settings, url.removesuffix("1") + "robots.txt")
    assert [source["kind"] for source in robots["sources"]] == ["robots"]


async def test_a_damaged_record_is_told_and_never_missing(settings: Settings, live: dict[str, Any]) -> None:
    source_ref = live["pages"][1]["source_ref"]
    break_record(settings, source_ref)
    told = await describe(settings, source_ref)
    assert (told["archive"]["state"], told["archive"]["code"]) == ("damaged", "SNAPSHOT_CORRUPT")
    assert [each["code"] for each in told["history"]] == ["SNAPSHOT_CORRUPT"]


async def test_what_is_not_there_is_not_found(settings: Settings, live: dict[str, Any]) -> None:
    source_ref = live["pages"][1]["source_ref"]
    assert await code_of(settings, "crawl_7") is Code.RUN_NOT_FOUND
    assert await code_of(settings, "@last/99") is Code.RUN_NOT_FOUND
    assert await code_of(settings, "https://nowhere.example/") is Code.SNAPSHOT_MISSING
    assert await code_of(settings, source_ref[:-1]) is Code.INVALID_REFERENCE
    assert await code_of(settings, "../../private/1") is Code.RUN_NOT_FOUND
    assert await code_of(settings, source_ref[:-64] + "0" * 64) is Code.SNAPSHOT_MISMATCH
    older = source_ref.replace("fetched_at=20", "fetched_at=19")
    assert await code_of(settings, older[:-64] + "0" * 64) is Code.SNAPSHOT_MISSING
