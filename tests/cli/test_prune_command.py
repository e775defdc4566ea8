"""`mudroom prune` and `mudroom rebuild`: what stays, what goes, what is said of it."""

import asyncio
import json
import os
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from mudroom.cli.amounts import describe_size
from mudroom.cli.prune_command import parse_age
from mudroom.corpus import FailedRecord, FileCorpus, RunVersions
from mudroom.errors import Code
from mudroom.model import CrawlState, RunKind
from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind

from .conftest import RunCli

URL = "https://example.org/p"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Workspace:
    """Runs that each take the same page, the archive and the corpus as commands find them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "private" / "archive"
        self.refs: list[str] = []
        self.runs: list[str] = []

    def take(self, *, days: int = 0, cites: str | None = None, url: str = URL) -> str:
        """A run begun so many days after the first; it takes the page, or refers to a record of another."""
        return asyncio.run(self._take(days, cites, url))

    async def _take(self, days: int, cites: str | None, url: str) -> str:
        moment = START + timedelta(days=days, seconds=len(self.refs))
        clock = StillClock(moment)
        corpus = FileCorpus(self.folder, RunVersions(mudroom="0", scanner="s", policy="p"), clock)
        store = FileSnapshotStore(self.root, clock=clock)
        run = await corpus.begin_run(RunKind.CRAWL, url, {})
        if cites is None:
            taken = SnapshotInput(
                kind=SourceKind.PAGE,
                requested_url=url,
                url=url,
                status=200,
                fetched_at=moment,
                body=b"page %d" % len(self.refs) * 100,
                run_id=run.run_id,
            )
            robots = replace(taken, kind=SourceKind.ROBOTS, body=b"robots %d" % len(self.refs) * 100)
            await store.put(robots)
            cites = (await store.put(taken)).source_ref
        await run.record_failed(
            FailedRecord(
                number=run.next_number(),
                requested_url=url,
                code=Code.HTTP_STATUS,
                message="x",
                source_ref=cites,
            )
        )
        await run.finish(CrawlState.COMPLETE)
        await corpus.aclose()
        await store.aclose()
        self.refs.append(cites)
        self.runs.append(run.run_id)
        return cites

    def delete_run(self, number: int) -> None:
        shutil.rmtree(self.folder / "runs" / self.runs[number])

    def kept(self, kind: str = "page", url: str = URL) -> list[str]:
        """The references that are left of the page, oldest first."""

        async def look() -> list[str]:
            store = FileSnapshotStore(self.root)
            listed = await store.list(f"{kind}::{url}")
            await store.aclose()
            return [stored.source_ref for stored in listed][::-1]

        return asyncio.run(look())


class StillClock:
    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    for _ in range(4):
        made.take()
    return made


def test_what_runs_refer_to_stays(run_cli: RunCli, workspace: Workspace) -> None:
    ran = run_cli("prune", "--json")
    assert (ran.status, json.loads(ran.out)["removed"]) == (0, 0)
    assert workspace.kept() == workspace.refs
    assert "0 records removed, 8 kept" in ran.err


def test_records_of_deleted_runs_go_but_for_the_newest(run_cli: RunCli, workspace: Workspace) -> None:
    for number in (0, 1, 3):
        workspace.delete_run(number)
    dry = run_cli("prune", "--dry-run", "--json")
    assert json.loads(dry.out) == json.loads(dry.out) | {"removed": 4, "retained": 4, "is_dry_run": True}
    assert "would go" in dry.err
    assert workspace.kept() == workspace.refs
    ran = run_cli("prune")
    assert (ran.status, ran.out) == (0, "")
    assert "pruned     4 records removed, 4 kept" in ran.err
    assert workspace.kept() == workspace.refs[2:]
    assert len(workspace.kept("robots")) == 2


def test_a_record_that_another_run_refers_to_stays(run_cli: RunCli, workspace: Workspace) -> None:
    workspace.take(cites=workspace.refs[1])
    for number in range(4):
        workspace.delete_run(number)
    run_cli("prune")
    assert workspace.kept() == [workspace.refs[1], workspace.refs[3]]


def test_old_runs_let_go_and_a_list_keeps(run_cli: RunCli, workspace: Workspace, tmp_path: Path) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text(f"# mine\n{workspace.refs[0]}\n")
    arguments = ("prune", "--runs-older-than", "1d", "--keep", workspace.refs[1], "--keep-list", str(keep))
    assert run_cli(*arguments).status == 0
    assert workspace.kept() == [workspace.refs[0], workspace.refs[1], workspace.refs[3]]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (("--source", URL), 1),
        (("--source", "example.org/p", "--keep-last", "3"), 3),
        (("--source", "https://example.org/other"), 4),
        (("--older-than", "9999w"), 4),
        (("--older-than", "999999y"), 4),
        (("--older-than", "1h"), 1),
    ],
)
def test_only_what_is_meant_goes(
    run_cli: RunCli, workspace: Workspace, arguments: tuple[str, ...], left: int
) -> None:
    assert run_cli("prune", "--runs-older-than", "0h", *arguments).status == 0
    assert len(workspace.kept()) == left


def test_a_damaged_manifest_stops_the_prune(run_cli: RunCli, workspace: Workspace) -> None:
    workspace.delete_run(0)
    (workspace.folder / "runs" / workspace.runs[1] / "manifest.json").write_text("{")
    ran = run_cli("prune")
    assert ran.status == 1
    assert workspace.runs[1] in ran.err
    assert workspace.kept() == workspace.refs


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--keep", "x"), 1),
        (("--older-than", "30"), 2),
        (("--older-than", "-1d"), 2),
        (("--keep-last", "-1"), 2),
        (("--source", "http://"), 2),
        (("--keep-list", "/nothing/there"), 2),
    ],
)
def test_what_is_not_understood_changes_nothing(
    run_cli: RunCli, workspace: Workspace, arguments: tuple[str, ...], status: int
) -> None:
    assert run_cli("prune", "--runs-older-than", "0h", *arguments).status == status
    assert workspace.kept() == workspace.refs


def test_an_empty_workspace_is_pruned_of_nothing_and_not_made(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("prune").status == 0
    assert not (tmp_path / "workspace" / "private").exists()


def test_an_index_is_rebuilt_and_what_is_damaged_is_named(run_cli: RunCli, workspace: Workspace) -> None:
    ran = run_cli("rebuild", "--json")
    assert (ran.status, json.loads(ran.out)["record_count"]) == (0, 8)
    assert "8 records in 1 segment\n" in ran.err
    (segment,) = workspace.root.glob("*.warc.gz")
    os.truncate(segment, segment.stat().st_size - 10)
    ran = run_cli("rebuild")
    assert ran.status == 1
    assert segment.name in ran.err
    assert "1 record of the old index" in ran.err
    (named,) = (line for line in ran.err.splitlines() if "; mudroom verify " in line)
    assert f"1 record of {workspace.runs[-1]}; mudroom verify" in named
    (workspace.root / "index.sqlite").write_bytes(b"x" * 5000)
    assert "index.sqlite.old" in run_cli("rebuild").err
    assert len(workspace.kept()) == 3


def test_no_archive_and_one_of_a_later_version_are_not_rebuilt(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("rebuild").status == 1
    workspace = Workspace(tmp_path / "workspace")
    workspace.take()
    with sqlite3.connect(workspace.root / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    for command in ("rebuild", "prune"):
        ran = run_cli(command, "--json")
        assert (ran.status, ran.out) == (1, "")
        assert "version 9" in ran.err


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (9_940, "9.9 KB"),
        (34_400, "34 KB"),
        (1_200_000_000, "1.2 GB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_a_size_is_said_as_a_person_says_it(size: int, text: str) -> None:
    assert describe_size(size) == text


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("30d", 720), ("8w", 1344), ("1y", 8760), (None, None)]
)
def test_an_age_is_a_number_and_a_unit(text: str | None, hours: int | None) -> None:
    assert parse_age(None, None, text) == (None if hours is None else timedelta(hours=hours))


@pytest.mark.parametrize("text", ["", "d", "1", "1.5d", "1 d", "1m", "9999999d", "\u0661d"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_age(None, None, text)
