"""`mudroom runs`: a run that lasts, one that was killed, and their numbers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.manifest import tell_manifest
from mudroom.corpus import FailedRecord, FileCorpus, RunVersions
from mudroom.errors import Code
from mudroom.model import CrawlState, RunKind

from .conftest import RunCli

VERSIONS = RunVersions(mudroom="0", scanner="s", policy="p")


def leave_run(workspace: Path, *, is_killed: bool) -> FileCorpus:
    """A run with two failed pages that nobody ended; of a killed one the lock is gone."""
    corpus = FileCorpus(workspace, VERSIONS)

    async def begin() -> None:
        run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
        for _ in range(2):
            url, number = "https://example.org/", run.next_number()
            await run.record_failed(
                FailedRecord(number=number, requested_url=url, code=Code.DNS_FAILURE, message="gone")
            )
        await corpus.aclose()

    asyncio.run(begin())
    for journal in (workspace / "private/state/runs").iterdir() if is_killed else ():
        left = journal.read_bytes()
        journal.unlink()
        journal.write_bytes(left)
    return corpus


@pytest.mark.parametrize(("is_killed", "state"), [(True, "INTERRUPTED"), (False, "RUNNING")])
def test_a_run_that_was_killed_is_told_from_one_that_lasts(
    run_cli: RunCli, tmp_path: Path, is_killed: bool, state: str
) -> None:
    corpus = leave_run(tmp_path / "workspace", is_killed=is_killed)
    (run,) = json.loads(run_cli("runs", "--json").out)
    assert (run["state"], run["is_live"], run["totals"]["failed"]) == ("RUNNING", not is_killed, 2)
    row = run_cli("runs").out.splitlines()[1].split()
    assert (row[1], row[3:6]) == (state, ["0", "0", "2"])
    assert state in run_cli("runs", "@last").err
    assert json.loads(run_cli("runs", "@last", "--json").out)["state"] == "RUNNING"
    del corpus


ORIGINS = [
    # kind, what it was begun with, what people read
    (RunKind.CRAWL, {}, "crawl"),
    (RunKind.CRAWL, {"replay_of": "crawl_01OTHER"}, "replay of crawl_01OTHER"),
    (RunKind.FILE, {"imported_from": "site.warc.gz"}, "imported"),
    (RunKind.FILE, {}, "file"),
    (RunKind.CRAWL, {"replay_of": {"edited": "by hand"}}, "crawl"),
]


@pytest.mark.parametrize(("kind", "options", "words"), ORIGINS)
def test_a_replay_and_an_import_are_told_from_what_asked_a_site(
    run_cli: RunCli, tmp_path: Path, kind: RunKind, options: dict[str, Any], words: str
) -> None:
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)

    async def leave() -> None:
        run = await corpus.begin_run(kind, "https://example.org/", options)
        await run.finish(CrawlState.COMPLETE)
        await corpus.aclose()

    asyncio.run(leave())
    head, row = run_cli("runs").out.splitlines()
    at = head.index("kind")
    assert row[at : head.index("root")].strip() == words
    (told,) = json.loads(run_cli("runs", "--json").out)
    of_text = {name: value if isinstance(value, str) else None for name, value in options.items()}
    assert {"replay_of": None, "imported_from": None} | of_text == {
        name: told[name] for name in ("replay_of", "imported_from")
    }
    said = run_cli("runs", "@last").err
    assert (f"kind       {words}\n" in said) == (words not in {"crawl", "file"})


def test_numbers_are_said_as_a_person_says_them(capsys: pytest.CaptureFixture[str]) -> None:
    totals = dict.fromkeys(("attempted", "warned", "quarantined", "blocked", "failed", "bytes"), 0)
    manifest = {"state": "COMPLETE", "pages": [], "warnings": [], "run_id": None}
    for stored, warned, discovered in ((0, 0, 1), (2, 1, 3)):
        counts = totals | {"stored": stored, "warned": warned, "discovered": discovered}
        tell_manifest({**manifest, "totals": counts}, Voice(), Path("/w"), is_table_wanted=False)
    said = capsys.readouterr().err
    assert "0 stored, 0 quarantined, 0 blocked, 0 failed; 1 URL discovered" in said
    assert "2 stored (1 with a warning), 0 quarantined, 0 blocked, 0 failed; 3 URLs discovered" in said
