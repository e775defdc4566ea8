from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import jsonschema
import pytest

from mudroom.corpus import FailedRecord, FileCorpus, load_schema
from mudroom.corpus.files import write_file
from mudroom.corpus.manifest import ManifestHead
from mudroom.corpus.recorder import RunRecorder
from mudroom.corpus.sink import MemorySink
from mudroom.errors import Code, MudroomError
from mudroom.model import CrawlState, RunKind, Severity
from mudroom.screen import WarnHandling

from .documents import MOMENT, VERSIONS, StepClock, decided, finding


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
async def corpus(workspace: Path) -> AsyncIterator[FileCorpus]:
    made = FileCorpus(workspace, VERSIONS, StepClock())
    yield made
    await made.aclose()


def _tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _modes(*paths: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in paths}


async def _code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


async def _mixed_run(corpus: FileCorpus) -> str:
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.store(decided(run.run_id, 1))
    await run.quarantine(decided(run.run_id, 2, finding(Severity.MEDIUM), warn=WarnHandling.QUARANTINE))
    await run.record_blocked(decided(run.run_id, 3, finding(Severity.HIGH)))
    await run.finish(CrawlState.COMPLETE)
    return run.run_id


async def test_a_run_lies_on_disk_as_laid_out(corpus: FileCorpus, workspace: Path) -> None:
    run_id = await _mixed_run(corpus)
    assert _tree(workspace) == [
        f"runs/{run_id}/{path}"
        for path in (
            "manifest.json",
            "metadata/000001.json",
            "metadata/000002.json",
            "metadata/000003.json",
            "pages/000001-a-page.md",
            "quarantine/000002.md",
            "security/findings.json",
            "security/summary.json",
        )
    ]


async def test_what_is_private_is_for_its_owner_alone(corpus: FileCorpus, workspace: Path) -> None:
    run = workspace / "runs" / await _mixed_run(corpus)
    private = (
        workspace / "private",
        workspace / "private" / "state",
        workspace / "private" / "state" / "runs",
    )
    assert _modes(workspace, run / "quarantine", *private) == {0o700}
    assert _modes(run / "quarantine" / "000002.md") == {0o600}


async def test_a_run_without_warnings_has_no_quarantine(corpus: FileCorpus, workspace: Path) -> None:
    run = await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    stored = await run.store(decided(run.run_id, 1))
    assert stored.file == workspace / "runs" / run.run_id / "pages" / "000001-a-page.md"
    assert stored.file.read_text() == "# A page\n\nText.\n"
    assert not (workspace / "runs" / run.run_id / "quarantine").exists()


async def test_findings_and_summary_hold_ids_and_severities(corpus: FileCorpus, workspace: Path) -> None:
    run_id = await _mixed_run(corpus)
    security = workspace / "runs" / run_id / "security"
    findings = json.loads((security / "findings.json").read_bytes())
    summary = json.loads((security / "summary.json").read_bytes())
    jsonschema.validate(findings, load_schema("findings"))
    jsonschema.validate(summary, load_schema("security-summary"))
    assert [
        (entry["n"], [found["id"] for found in entry["findings"]]) for entry in findings["documents"]
    ] == [
        (2, ["ROLE-004"]),
        (3, ["ROLE-004"]),
    ]
    assert findings["documents"][0]["findings"] == [
        {"id": "ROLE-004", "severity": "MEDIUM", "category": "role-override", "channel": "comment"}
    ]
    assert summary["decisions"] == {"SAFE": 1, "WARN": 1, "BLOCK": 1}
    assert summary["rules"] == {"ROLE-004": 2}


async def test_a_killed_run_leaves_a_valid_manifest_and_loses_no_page(
    corpus: FileCorpus, workspace: Path
) -> None:
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    for number in range(1, 31):
        await run.store(decided(run.run_id, number))
    on_disk = json.loads((workspace / "runs" / run.run_id / "manifest.json").read_bytes())
    jsonschema.validate(on_disk, load_schema("manifest"))
    assert (on_disk["state"], len(on_disk["pages"])) == ("RUNNING", 16)
    journal = workspace / "private" / "state" / "runs" / f"{run.run_id}.pages.jsonl"
    with journal.open("ab") as stream:
        stream.write(b'{"n": 31, "torn')
    later = FileCorpus(workspace, VERSIONS, StepClock())
    manifest = await later.read_manifest(run.run_id)
    jsonschema.validate(manifest, load_schema("manifest"))
    assert [row["n"] for row in manifest["pages"]] == list(range(1, 31))
    (listed,) = await later.list_runs()
    assert (listed.state, listed.is_live, listed.totals) == (CrawlState.RUNNING, True, manifest["totals"])
    # What a killed writer leaves behind: the same file, and nobody's lock on it.
    left = journal.read_bytes()
    journal.unlink()
    journal.write_bytes(left)
    (listed,) = await later.list_runs()
    assert (listed.state, listed.is_live, listed.totals["stored"]) == (CrawlState.RUNNING, False, 30)
    assert await later.summarise_run(run.run_id) == listed
    await later.aclose()


class CountingSink(MemorySink):
    """Counts the bytes of all manifests that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.manifest_bytes = 0

    def replace(self, path: str, pieces: object) -> None:
        super().replace(path, pieces)
        self.manifest_bytes += len(self.files[path]) if path == "manifest.json" else 0


async def _do_now(work: object) -> None:
    work()


async def test_all_saving_of_a_manifest_costs_a_few_copies_of_it() -> None:
    head = ManifestHead(
        run_id="crawl_" + "0" * 26, kind=RunKind.CRAWL, root_url="x", options={}, started_at="x"
    )
    sink = CountingSink()
    run = RunRecorder(head, sink, StepClock(), _do_now, None)
    run.begin()
    failed = {"requested_url": "https://example.org/", "code": Code.CANCELLED, "message": "x"}
    for number in range(1, 3001):
        await run.record_failed(FailedRecord(number=number, **failed))
        await run.checkpoint()  # however often somebody asks
    await run.finish(CrawlState.COMPLETE)
    assert sink.manifest_bytes < 6 * len(sink.files["manifest.json"])


async def test_a_document_that_was_changed_on_disk_is_never_read(corpus: FileCorpus, workspace: Path) -> None:
    run = await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    stored = await run.store(decided(run.run_id, 1))
    assert stored.file
    for content in (b"# A page\n\nText!\n", b"", b"\xff"):
        stored.file.write_bytes(content)
        assert await _code(corpus.read_document(run.run_id, 1)) is Code.SNAPSHOT_CORRUPT


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"state": 5}'])
async def test_a_damaged_manifest_is_corrupt_and_its_run_still_listed(
    corpus: FileCorpus, workspace: Path, content: bytes
) -> None:
    run = await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    await run.finish(CrawlState.COMPLETE)
    (workspace / "runs" / run.run_id / "manifest.json").write_bytes(content)
    sound = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    listed = [(summary.run_id, summary.state) for summary in await corpus.list_runs()]
    assert listed == [(sound.run_id, CrawlState.RUNNING), (run.run_id, None)]
    if content != b'{"state": 5}':
        assert await _code(corpus.read_manifest(run.run_id)) is Code.SNAPSHOT_CORRUPT


async def test_a_page_that_cannot_be_written_is_not_half_recorded(
    corpus: FileCorpus, workspace: Path
) -> None:
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.store(decided(run.run_id, 1))
    folder = workspace / "runs" / run.run_id
    (folder / "metadata" / "000002.json").mkdir()  # so that its file cannot be put there
    assert await _code(run.store(decided(run.run_id, 2))) is not None
    (folder / "metadata" / "000002.json").rmdir()
    assert _tree(folder / "pages") == ["000001-a-page.md"]
    await run.store(decided(run.run_id, 2))
    manifest = await run.finish(CrawlState.COMPLETE)
    assert [row["n"] for row in manifest["pages"]] == [1, 2]
    assert not any(".partial" in path for path in _tree(workspace))


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)

    def pieces() -> object:
        yield b"x" * 100_000
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        write_file(folder, folder, "name", pieces(), mode=0o600, is_synced=True)
    assert _tree(tmp_path) == []
    write_file(folder, folder, "name", [b"a" * 70_000, b"b"], mode=0o600, is_synced=True)
    assert (tmp_path / "name").read_bytes() == b"a" * 70_000 + b"b"
    os.close(folder)


async def test_a_file_where_the_workspace_should_be_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "workspace").write_bytes(b"")
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS, StepClock())
    with pytest.raises(MudroomError, match=str(tmp_path)) as caught:
        await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    assert caught.value.code is Code.SNAPSHOT_CORRUPT
    await corpus.aclose()


async def test_other_things_in_the_runs_folder_are_no_runs(corpus: FileCorpus, workspace: Path) -> None:
    run = await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    (workspace / "runs" / "notes").mkdir()
    (workspace / "runs" / ".DS_Store").write_bytes(b"")
    assert [summary.run_id for summary in await corpus.list_runs()] == [run.run_id]


async def test_a_run_that_cannot_begin_leaves_nothing_open_and_nothing_behind(workspace: Path) -> None:
    corpus = FileCorpus(workspace, VERSIONS, StepClock(), randomness=lambda size: b"\1" * size)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.finish(CrawlState.COMPLETE)
    run_id = await corpus.resolve_run("@last")
    still = FileCorpus(workspace, VERSIONS, _Still(), randomness=lambda size: b"\2" * size)
    taken = await still.begin_run(RunKind.CRAWL, "https://example.org/", {})
    before = _open_count()
    for _ in range(3):  # the same moment, the same chance: an id that is taken
        assert await _code(still.begin_run(RunKind.CRAWL, "https://example.org/", {})) is not None
    assert _open_count() == before
    assert {summary.run_id for summary in await corpus.list_runs()} == {run_id, taken.run_id}
    assert (await taken.finish(CrawlState.COMPLETE))["state"] == "COMPLETE"
    await corpus.aclose()
    await still.aclose()


async def test_a_run_that_nobody_waits_for_any_more_is_taken_back(
    corpus: FileCorpus, workspace: Path
) -> None:
    await corpus.list_runs()
    before = _open_count()
    beginning = asyncio.create_task(corpus.begin_run(RunKind.CRAWL, "https://example.org/", {}))
    await asyncio.sleep(0)
    while not _is_begun(workspace):
        """The thread is done, and the loop, kept busy here, was not told yet."""
    beginning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beginning
    assert await corpus.list_runs() == []
    assert _tree(workspace) == []
    assert _open_count() == before


def _is_begun(workspace: Path) -> bool:
    return bool(list(workspace.glob("runs/*/manifest.json")))


def _open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class _Still(StepClock):
    def now(self) -> datetime:
        return MOMENT


async def test_a_run_whose_options_cannot_be_written_is_taken_back(
    corpus: FileCorpus, workspace: Path
) -> None:
    with pytest.raises(TypeError):
        await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {"a": object()})
    assert await corpus.list_runs() == []
    assert _tree(workspace) == []


async def test_a_closed_corpus_refuses(corpus: FileCorpus) -> None:
    await corpus.aclose()
    assert await _code(corpus.begin_run(RunKind.OPEN, "https://example.org/", {})) is Code.STORE_UNAVAILABLE
