"""A run of one page, cancelled wherever it may be: a whole record or none, and nothing left open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mudroom.corpus import FailedRecord, FileCorpus, RunVersions, RunWriter
from mudroom.errors import Code, StoreFailed
from mudroom.intake import Failed, Outcome, PageFacts, take_single
from mudroom.model import CrawlState, RunKind

URL = "https://example.org/"
VERSIONS = RunVersions(mudroom="1", scanner="1", policy="1")


def open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def take(run: RunWriter) -> Outcome:
    await asyncio.sleep(0)
    number = run.next_number()
    failed = FailedRecord(number=number, requested_url=URL, code=Code.HTTP_STATUS, message="answered 404")
    await run.record_failed(failed)
    facts = PageFacts(number=number, document_id="", run_id=run.run_id, requested_url=URL)
    return Failed(facts=facts, code=Code.HTTP_STATUS, message="answered 404", retryable=False)


async def steps(task: asyncio.Task[Outcome], count: int) -> None:
    for _ in range(count):
        if not task.done():
            await asyncio.sleep(0)


@pytest.mark.parametrize("again_after", [None, 0, 1, 3], ids=lambda after: f"again after {after}")
async def test_cancelled_at_any_step_a_run_has_ended_or_never_was(
    tmp_path: Path, again_after: int | None
) -> None:
    corpus = FileCorpus(tmp_path, VERSIONS)
    await corpus.list_runs()  # the thread and its loop's pipes are there from now on
    before = open_count()
    for count in range(60):
        task = asyncio.create_task(take_single(corpus, RunKind.OPEN, URL, {}, take))
        await steps(task, count)
        task.cancel()
        if again_after is not None:
            await steps(task, again_after)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        listed = await corpus.list_runs()
        assert {summary.state for summary in listed} <= {CrawlState.CANCELLED, CrawlState.COMPLETE}, count
        assert open_count() == before, count
    await corpus.aclose()
    assert not list((tmp_path / "private" / "state" / "runs").iterdir())


async def test_a_fault_of_ours_still_ends_the_run(tmp_path: Path) -> None:
    async def fail(_run: RunWriter) -> Outcome:
        raise KeyError

    corpus = FileCorpus(tmp_path, VERSIONS)
    with pytest.raises(KeyError):
        await take_single(corpus, RunKind.OPEN, URL, {}, fail)
    assert [summary.state for summary in await corpus.list_runs()] == [CrawlState.FAILED]
    await corpus.aclose()


async def test_a_run_that_cannot_be_ended_is_let_go_and_keeps_what_it_recorded(tmp_path: Path) -> None:
    corpus = FileCorpus(tmp_path, VERSIONS)
    await corpus.list_runs()
    before = open_count()
    runs: list[RunWriter] = []

    async def spoil(run: RunWriter) -> Outcome:
        outcome = await take(run)
        manifest = tmp_path / "runs" / run.run_id / "manifest.json"
        manifest.unlink()
        manifest.mkdir()
        runs.append(run)
        return outcome

    with pytest.raises(StoreFailed):
        await take_single(corpus, RunKind.OPEN, URL, {}, spoil)
    assert open_count() == before
    assert (tmp_path / "private" / "state" / "runs" / f"{runs[0].run_id}.pages.jsonl").read_bytes()
    await corpus.aclose()
