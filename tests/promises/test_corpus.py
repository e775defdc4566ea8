"""What every corpus promises, run on each that we ship."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.corpus.documents import SECRET, VERSIONS, StepClock, decided, finding, provenance

from mudroom.corpus import (
    CorpusStore,
    FailedRecord,
    FileCorpus,
    MemoryCorpus,
    PageNote,
    RunWarning,
    RunWriter,
    SourceRecord,
    load_schema,
)
from mudroom.errors import Code, MudroomError
from mudroom.model import CrawlState, Hop, RunKind, Severity, WarningCode
from mudroom.screen import WarnHandling


@pytest.fixture(params=["file", "memory"])
async def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CorpusStore]:
    counter = itertools.count()

    def randomness(size: int) -> bytes:
        return next(counter).to_bytes(size)

    made: CorpusStore = (
        FileCorpus(tmp_path / "workspace", VERSIONS, StepClock(), randomness=randomness)
        if request.param == "file"
        else MemoryCorpus(VERSIONS, StepClock(), randomness=randomness)
    )
    yield made
    await made.aclose()


async def _begin(corpus: CorpusStore) -> RunWriter:
    return await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {"max_pages": 10})


async def _code(awaitable: Awaitable[object]) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


def _check(name: str, value: Any) -> None:
    jsonschema.Draft202012Validator(load_schema(name)).validate(value)


def _contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def _record_one_of_each(run: RunWriter) -> None:
    numbers = [run.next_number() for _ in range(6)]
    assert numbers == [1, 2, 3, 4, 5, 6]
    await run.store(decided(run.run_id, 1))
    await run.store(decided(run.run_id, 2, finding(Severity.MEDIUM)), PageNote(depth=1))
    await run.quarantine(decided(run.run_id, 3, finding(Severity.MEDIUM), warn=WarnHandling.QUARANTINE))
    note = PageNote(
        depth=2,
        findings=(finding(Severity.CRITICAL), finding(Severity.HIGH, "EXFIL-002")),
        provenance=provenance(run.run_id, 4),
        warnings=(WarningCode.MOSTLY_HIDDEN,),
    )
    await run.record_blocked(decided(run.run_id, 4, *note.findings), note)
    await run.record_failed(
        FailedRecord(
            number=5,
            requested_url="https://example.org/5",
            code=Code.REDIRECT_DOWNGRADE,
            message="example.org sends https visitors to http",
            is_blocked=True,
            hops=(Hop(url="https://example.org/5", address="93.184.216.34", status=302, protocol="HTTP/2"),),
        )
    )
    await run.record_failed(
        FailedRecord(
            number=6,
            requested_url="https://example.org/6",
            code=Code.HTTP_STATUS,
            message="example.org answered 503",
            retryable=True,
            http_status=503,
            source_ref="mudroom-snapshot:x",
            sha256="1" * 64,
            size_bytes=9,
        )
    )


async def test_a_run_accounts_for_every_page(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    await _record_one_of_each(run)
    warning = RunWarning(code="OFF_HOST", url=None, message="3 links not followed")
    manifest = await run.finish(CrawlState.LIMIT_REACHED, warnings=[warning], discovered=40, wire_bytes=5000)
    _check("manifest", manifest)
    assert manifest["totals"] == {
        "attempted": 6,
        "stored": 2,
        "warned": 1,
        "quarantined": 1,
        "blocked": 2,
        "failed": 1,
        "discovered": 40,
        "bytes": 5000,
    }
    ends = [
        (row["n"], row["outcome"], row["decision"], row["code"], row["reason"], row["retryable"], row["path"])
        for row in manifest["pages"]
    ]
    assert ends == [
        (1, "STORED", "SAFE", None, None, False, "pages/000001-a-page.md"),
        (2, "STORED", "WARN", None, None, False, "pages/000002-a-page.md"),
        (3, "QUARANTINED", "WARN", None, None, False, "quarantine/000003.md"),
        (4, "BLOCKED", "BLOCK", "PROMPT_INJECTION", "PROMPT_INJECTION", False, None),
        (5, "BLOCKED", "BLOCK", "REDIRECT_DOWNGRADE", "REDIRECT_VIOLATION", False, None),
        (6, "FAILED", None, "HTTP_STATUS", "HTTP", True, None),
    ]
    assert [row["depth"] for row in manifest["pages"]] == [0, 1, 0, 2, 0, 0]
    assert manifest["pages"][3]["warnings"] == ["MOSTLY_HIDDEN"]
    assert manifest["warnings"] == [{"code": "OFF_HOST", "url": None, "message": "3 links not followed"}]
    assert await corpus.read_manifest(run.run_id) == manifest


async def test_metadata_of_every_page_is_valid_and_holds_no_text_of_a_withheld_one(
    corpus: CorpusStore,
) -> None:
    run = await _begin(corpus)
    await _record_one_of_each(run)
    titles = []
    for number in range(1, 7):
        metadata = await corpus.read_metadata(run.run_id, number)
        _check("document", metadata)
        assert metadata["versions"] == VERSIONS.as_record()
        titles.append(metadata.get("title"))
    assert titles == ["A page", "A page", None, None, None, None]
    blocked = await corpus.read_metadata(run.run_id, 4)
    assert blocked["finding_ids"] == ["EXFIL-002", "ROLE-004"]
    assert blocked["hops"][0]["address"] == "93.184.216.34"
    assert (blocked["isolation"], blocked["robots"]) == ("strict", "allowed")


async def test_a_stored_document_comes_back_exactly_as_it_was_scanned(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    markdown = "# Überschrift\n\n| a | b |\n\u2028 \U0001f600 no end of line"
    stored = await run.store(decided(run.run_id, run.next_number(), markdown=markdown, title="T", slug="t"))
    page = await corpus.read_document(run.run_id, stored.number)
    assert page.markdown == markdown
    assert page.metadata["title"] == "T"


async def test_what_was_not_stored_is_not_found_as_a_document(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    await _record_one_of_each(run)
    for number in (0, 3, 4, 5, 6, 7, -1):
        assert await _code(corpus.read_document(run.run_id, number)) is Code.RUN_NOT_FOUND


async def test_pages_are_listed_by_number_whatever_the_order_in_which_they_ended(
    corpus: CorpusStore,
) -> None:
    run = await _begin(corpus)
    order = [7, 2, 9, 1, 4, 3, 8, 6, 5]
    for number in order:
        await run.store(decided(run.run_id, number, finding(Severity.LOW)))
    manifest = await run.finish(CrawlState.COMPLETE)
    assert [row["n"] for row in manifest["pages"]] == sorted(order)


async def test_pages_recorded_at_once_are_all_there(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    await asyncio.gather(*(run.store(decided(run.run_id, run.next_number())) for _ in range(60)))
    manifest = await run.finish(CrawlState.COMPLETE)
    assert [row["n"] for row in manifest["pages"]] == list(range(1, 61))
    assert manifest["totals"]["stored"] == 60


async def test_a_run_that_has_not_ended_has_a_valid_manifest_with_all_its_pages(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    empty = await corpus.read_manifest(run.run_id)
    _check("manifest", empty)
    assert (empty["state"], empty["finished_at"], empty["pages"]) == ("RUNNING", None, [])
    for count in range(1, 41):
        await run.store(decided(run.run_id, run.next_number()))
        manifest = await corpus.read_manifest(run.run_id)
        assert len(manifest["pages"]) == count
        assert manifest["totals"]["stored"] == count
    _check("manifest", manifest)


async def test_a_document_of_another_run_is_refused(corpus: CorpusStore) -> None:
    run, other = await _begin(corpus), await _begin(corpus)
    assert await _code(run.store(decided(other.run_id, 1))) is Code.SNAPSHOT_MISMATCH


async def test_a_page_is_recorded_once(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    await run.store(decided(run.run_id, 1))
    assert await _code(run.store(decided(run.run_id, 1, markdown="other"))) is Code.SNAPSHOT_MISMATCH
    failed = FailedRecord(number=1, requested_url="https://example.org/", code=Code.CANCELLED, message="x")
    assert await _code(run.record_failed(failed)) is Code.SNAPSHOT_MISMATCH
    assert (await corpus.read_document(run.run_id, 1)).markdown == "# A page\n\nText.\n"
    assert (await run.finish(CrawlState.COMPLETE))["totals"]["attempted"] == 1


async def test_a_finished_run_takes_nothing_more(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    manifest = await run.finish(CrawlState.CANCELLED)
    assert manifest["state"] == "CANCELLED"
    assert await _code(run.store(decided(run.run_id, 1))) is Code.STORE_UNAVAILABLE
    assert await _code(run.finish(CrawlState.COMPLETE)) is Code.STORE_UNAVAILABLE
    assert await corpus.read_manifest(run.run_id) == manifest


async def test_only_accepted_documents_are_stored(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    quarantined = decided(run.run_id, 1, finding(Severity.MEDIUM), warn=WarnHandling.QUARANTINE)
    blocked = decided(run.run_id, 1, finding(Severity.HIGH))
    for document in (quarantined, blocked):
        with pytest.raises(TypeError):
            await run.store(document)
    with pytest.raises(TypeError):
        await run.quarantine(decided(run.run_id, 1))
    assert (await run.finish(CrawlState.COMPLETE))["pages"] == []


async def test_runs_are_listed_newest_first_whatever_their_kind(corpus: CorpusStore) -> None:
    begun = []
    for kind in (RunKind.OPEN, RunKind.CRAWL, RunKind.FILE, RunKind.OPEN):
        run = await corpus.begin_run(kind, f"https://{kind}.example/", {"pages": ['"pages": [']})
        begun.append(run.run_id)
    await run.store(decided(run.run_id, 1))
    await run.finish(CrawlState.COMPLETE)
    listed = await corpus.list_runs()
    assert [summary.run_id for summary in listed] == begun[::-1]
    assert (listed[0].state, listed[0].totals["stored"]) == (CrawlState.COMPLETE, 1)
    assert (listed[0].is_live, listed[1].is_live) == (False, True)
    assert (listed[1].state, listed[1].kind) == (CrawlState.RUNNING, RunKind.FILE)
    assert await corpus.summarise_run(begun[0]) == listed[-1]
    assert [summary.run_id for summary in await corpus.list_runs(limit=2)] == begun[:1:-1]


async def test_a_run_that_lasts_is_listed_with_the_numbers_of_its_manifest(corpus: CorpusStore) -> None:
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    for number in range(1, 4):
        await run.store(decided(run.run_id, number))
    (listed,) = await corpus.list_runs()
    assert listed.totals["stored"] == 3
    assert listed.totals == (await corpus.read_manifest(run.run_id))["totals"]


async def test_a_workspace_without_runs_is_empty(corpus: CorpusStore) -> None:
    assert list(await corpus.list_runs()) == []
    for name in ("@last", "", "crawl_"):
        assert await _code(corpus.resolve_run(name)) is Code.RUN_NOT_FOUND


async def test_a_run_is_named_by_last_id_or_prefix(corpus: CorpusStore) -> None:
    first, second = (await _begin(corpus)).run_id, (await _begin(corpus)).run_id
    opened = (await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})).run_id
    for name, expected in (
        ("@last", opened),
        (first, first),
        (second[:-16], second),
        ("open", opened),
        (opened.partition("_")[2][:10].lower(), opened),
    ):
        assert await corpus.resolve_run(name) == expected
    with pytest.raises(MudroomError, match="2 runs"):
        await corpus.resolve_run("crawl_")


_NO_RUNS = [
    "",
    "..",
    "../../private",
    "/etc/passwd",
    "crawl_../../private",
    "@LAST",
    "@",
    "*",
    "crawl_%2e%2e",
    "x" * 100_000,
    "crawl_\0",
    "crawl_" + "0" * 26,
]


@pytest.mark.parametrize("name", _NO_RUNS, ids=range(len(_NO_RUNS)))
async def test_every_name_of_no_run_gets_the_same_answer(corpus: CorpusStore, name: str) -> None:
    await _begin(corpus)
    messages = set()
    for work in (corpus.resolve_run(name), corpus.read_manifest(name), corpus.read_document(name, 1)):
        with pytest.raises(MudroomError) as caught:
            await work
        assert caught.value.code is Code.RUN_NOT_FOUND
        messages.add(caught.value.message)
    assert messages == {"this workspace holds no such run or document"}


async def test_a_payload_is_in_no_record_of_a_withheld_page(corpus: CorpusStore, tmp_path: Path) -> None:
    run = await _begin(corpus)
    await run.record_blocked(
        decided(run.run_id, 1, finding(Severity.HIGH), markdown=SECRET, title=SECRET, slug="ignore-all")
    )
    await run.finish(CrawlState.COMPLETE)
    contents = dict(corpus.files_of(run.run_id)) if isinstance(corpus, MemoryCorpus) else _contents(tmp_path)
    assert contents
    for path, content in contents.items():
        assert "ignore" not in path
        assert b"ignore" not in content


async def test_what_was_asked_for_beside_pages_is_recorded_in_its_order(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    assert await corpus.read_sources(run.run_id) == []
    robots = "https://example.org/robots.txt"
    hop = Hop(url=robots, address="93.184.216.34", status=200, protocol="HTTP/2")
    answered = SourceRecord(
        kind="robots", url=robots, final_url=robots, http_status=200, hops=(hop,), wire_bytes=9
    )
    failed = SourceRecord(kind="sitemap", url=robots, code=Code.DNS_FAILURE, message="gone")
    await run.record_source(answered)
    await run.record_source(failed)
    while_it_lasts = await corpus.read_sources(run.run_id)
    await run.finish(CrawlState.COMPLETE)
    sources = await corpus.read_sources(run.run_id)
    assert while_it_lasts == sources
    assert [(each["kind"], each["code"], each["wire_bytes"]) for each in sources] == [
        ("robots", None, 9),
        ("sitemap", "DNS_FAILURE", 0),
    ]
    _check("sources", {"schema": "mudroom.sources/1", "run_id": run.run_id, "sources": list(sources)})
    assert await _code(run.record_source(failed)) is Code.STORE_UNAVAILABLE


@pytest.mark.parametrize("name", ["crawl_nothing", "../../private/state/runs/x", ""])
async def test_a_run_that_is_not_there_has_asked_for_nothing(corpus: CorpusStore, name: str) -> None:
    await _begin(corpus)
    assert await _code(corpus.read_sources(name)) is Code.RUN_NOT_FOUND


async def test_what_was_found_is_read_while_a_run_lasts_and_after(corpus: CorpusStore) -> None:
    run = await _begin(corpus)
    await _record_one_of_each(run)
    while_it_lasts = await corpus.read_findings(run.run_id)
    await run.finish(CrawlState.COMPLETE)
    found = await corpus.read_findings(run.run_id)
    assert sorted(each["n"] for each in while_it_lasts) == [each["n"] for each in found] == [2, 3, 4]
    assert [each["id"] for each in found[2]["findings"]] == ["ROLE-004", "EXFIL-002"]
    assert SECRET not in str(found)
    assert await _code(corpus.read_findings("crawl_nothing")) is Code.RUN_NOT_FOUND
