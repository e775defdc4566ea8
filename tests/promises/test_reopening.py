"""What every corpus promises of a run that goes on, run on each that we ship."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.documents import VERSIONS, StepClock, decided

from mudroom.corpus import CorpusStore, FailedRecord, FileCorpus, MemoryCorpus, RunVersions
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.model import CrawlState, OutcomeKind, RunKind


@pytest.fixture(params=["file", "memory"])
async def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CorpusStore]:
    file = FileCorpus(tmp_path / "workspace", VERSIONS, StepClock())
    yield file if request.param == "file" else MemoryCorpus(VERSIONS, StepClock())
    await file.aclose()


def failed(number: int, code: Code) -> FailedRecord:
    return FailedRecord(number=number, requested_url=f"https://e.example/{number}", code=code, message="m")


async def begin_and_cancel(corpus: CorpusStore) -> str:
    """Pages 1 (stored), 2 (failed), 3 (given up)."""
    run = await corpus.begin_run(RunKind.CRAWL, "https://e.example/", {"max_pages": 9})
    await run.store(decided(run.run_id, 1))
    await run.record_failed(failed(2, Code.DNS_FAILURE))
    await run.record_failed(failed(3, Code.CANCELLED))
    await run.finish(CrawlState.CANCELLED)
    return run.run_id


async def test_a_run_goes_on_where_it_was_ended_without_what_was_given_up(corpus: CorpusStore) -> None:
    run_id = await begin_and_cancel(corpus)
    before = await corpus.read_manifest(run_id)
    again = await corpus.reopen_run(run_id, given_up=[Code.CANCELLED])
    assert (again.state, again.options, again.root_url) == (
        CrawlState.CANCELLED,
        {"max_pages": 9},
        "https://e.example/",
    )
    assert [(page.number, page.outcome, page.code) for page in again.pages] == [
        (1, OutcomeKind.STORED, None),
        (2, OutcomeKind.FAILED, Code.DNS_FAILURE),
    ]
    assert not again.has_other_versions
    assert (await corpus.read_manifest(run_id))["state"] == "RUNNING"
    with pytest.raises(StoreFailed, match=r"page 2 of .* was recorded before"):
        await again.writer.record_failed(failed(2, Code.DNS_FAILURE))
    await again.writer.store(decided(run_id, 3))
    manifest = await again.writer.finish(CrawlState.COMPLETE)
    assert [page["outcome"] for page in manifest["pages"]] == ["STORED", "FAILED", "STORED"]
    assert manifest["totals"]["attempted"] == 3
    assert manifest["started_at"] == before["started_at"]
    assert manifest["pages"][:2] == before["pages"][:2]


async def test_a_run_can_go_on_twice(corpus: CorpusStore) -> None:
    run_id = await begin_and_cancel(corpus)
    for number in (3, 4):
        again = await corpus.reopen_run(run_id, given_up=[Code.CANCELLED])
        await again.writer.store(decided(run_id, number))
        manifest = await again.writer.finish(CrawlState.CANCELLED)
    assert [page["n"] for page in manifest["pages"]] == [1, 2, 3, 4]


async def test_a_run_that_is_written_at_this_moment_is_not_taken_up(corpus: CorpusStore) -> None:
    run = await corpus.begin_run(RunKind.CRAWL, "https://e.example/", {})
    with pytest.raises(StoreFailed) as caught:
        await corpus.reopen_run(run.run_id)
    assert caught.value.code is Code.RUN_ACTIVE
    await run.finish(CrawlState.CANCELLED)
    await corpus.reopen_run(run.run_id)
    with pytest.raises(StoreFailed) as caught:
        await corpus.reopen_run(run.run_id)
    assert caught.value.code is Code.RUN_ACTIVE


async def test_no_run_is_not_taken_up(corpus: CorpusStore) -> None:
    with pytest.raises(NotFound):
        await corpus.reopen_run("crawl_01ARZ3NDEKTSV4RRFFQ69G5FAV")


async def kill(workspace: Path, *, pages: int) -> str:
    """A run as a program that was killed leaves it: journals, and a manifest from its beginning."""
    corpus = FileCorpus(workspace, VERSIONS, StepClock())
    run = await corpus.begin_run(RunKind.CRAWL, "https://e.example/", {})
    manifest = workspace / "runs" / run.run_id / "manifest.json"
    beginning = manifest.read_bytes()
    for number in range(1, pages + 1):
        await run.store(decided(run.run_id, number))
    journals = {path: path.read_bytes() for path in (workspace / "private/state/runs").iterdir()}
    await run.finish(CrawlState.FAILED)
    await corpus.aclose()
    manifest.write_bytes(beginning)
    for path, content in journals.items():
        path.write_bytes(content)
    return run.run_id


async def test_a_killed_run_goes_on_from_its_journal_and_a_torn_line_is_none(tmp_path: Path) -> None:
    run_id = await kill(tmp_path, pages=3)
    journal = tmp_path / "private/state/runs" / f"{run_id}.pages.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    corpus = FileCorpus(tmp_path, VERSIONS, StepClock())
    again = await corpus.reopen_run(run_id)
    assert [page.number for page in again.pages] == [1, 2]
    await again.writer.store(decided(run_id, 3))
    manifest = await again.writer.finish(CrawlState.COMPLETE)
    assert [page["n"] for page in manifest["pages"]] == [1, 2, 3]
    summary = json.loads((tmp_path / "runs" / run_id / "security/summary.json").read_bytes())
    assert summary["decisions"]["SAFE"] == 3
    assert not journal.exists()
    await corpus.aclose()


async def test_a_run_that_goes_on_under_other_rules_says_so(tmp_path: Path) -> None:
    run_id = await kill(tmp_path, pages=1)
    corpus = FileCorpus(tmp_path, RunVersions(mudroom="2", scanner="2", policy="2"), StepClock())
    again = await corpus.reopen_run(run_id)
    assert again.has_other_versions
    await again.writer.finish(CrawlState.COMPLETE)
    await corpus.aclose()


@pytest.mark.parametrize("damage", [b"", b"{", b'{"n": 1}\n', b"[]\n", b'{"n": "x", "code": null}\n'])
async def test_a_damaged_journal_is_a_typed_error_and_leaves_the_run_as_it_was(
    tmp_path: Path, damage: bytes
) -> None:
    run_id = await kill(tmp_path, pages=1)
    journal = tmp_path / "private/state/runs" / f"{run_id}.pages.jsonl"
    journal.write_bytes(damage)
    corpus = FileCorpus(tmp_path, VERSIONS, StepClock())
    outcome: Any = None
    try:
        outcome = await corpus.reopen_run(run_id)
    except StoreFailed as error:
        assert error.code is Code.SNAPSHOT_CORRUPT  # noqa: PT017 - a torn line is no damage
        assert journal.read_bytes() == damage
    else:
        assert outcome.pages == []
        await outcome.writer.finish(CrawlState.COMPLETE)
    await corpus.aclose()
