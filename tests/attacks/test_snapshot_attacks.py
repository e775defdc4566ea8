"""The archive against damage, foreign files, other versions, clocks that go back, and kills."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.snapshot.conftest import page

from mudroom.errors import Code, MudroomError, StoreFailed
from mudroom.snapshot import FileSnapshotStore, PruneRule, SnapshotOptions, rebuild_index

HONEST = {Code.SNAPSHOT_CORRUPT, Code.STORE_UNAVAILABLE}
"""What may be said of damage; SNAPSHOT_MISSING is none of them."""


def segments(root: Path) -> list[Path]:
    return sorted(root.glob("*.warc.gz"))


def contents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(root.iterdir())}


async def code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


async def filled(root: Path, count: int = 12, **options: int) -> list[str]:
    store = FileSnapshotStore(root, SnapshotOptions(**options))
    refs = [
        (
            await store.put(page(str(n), b"%d " % n * 200 if n % 3 else b"the same " * 90, seconds=n))
        ).source_ref
        for n in range(count)
    ]
    await store.aclose()
    return refs


async def answers(root: Path, refs: list[str]) -> list[str]:
    """What each reference gives: "whole", or the code of the failure; never another record."""
    store = FileSnapshotStore(root)
    said = []
    for ref in refs:
        try:
            got = await store.get(ref)
        except MudroomError as failure:
            said.append(failure.code.value)
        else:
            assert got.source_ref == ref
            said.append("whole")
    await store.aclose()
    return said


@pytest.mark.parametrize("seed", range(30))
async def test_a_flipped_bit_in_the_index_never_gives_another_record(tmp_path: Path, seed: int) -> None:
    """A damaged page may hide a row, but what is answered is right, and a rebuild brings all back."""
    root = tmp_path / "archive"
    refs = await filled(root)
    index = root / "index.sqlite"
    with sqlite3.connect(index) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    chance = random.Random(seed)  # noqa: S311 - chance that can be had again
    data = bytearray(index.read_bytes())
    for _ in range(3):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    index.write_bytes(data)
    allowed = {
        "whole",
        *(one.value for one in HONEST),
        Code.SNAPSHOT_MISSING.value,
        Code.SNAPSHOT_MISMATCH.value,
    }
    assert set(await answers(root, refs)) <= allowed
    if int.from_bytes(data[60:64], "big", signed=True) > 2:
        return  # the flip made it one of a later version, which is left alone
    report = rebuild_index(root)
    assert (report.record_count, report.damaged) == (12, ())
    assert set(await answers(root, refs)) == {"whole"}


@pytest.mark.parametrize("size", [0, 1, 15, 99, 100, 512, 4095, 4096, 5000, 12_288])
async def test_a_truncated_index_is_damaged_or_made_again(tmp_path: Path, size: int) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    os.truncate(root / "index.sqlite", size)
    said = set(await answers(root, refs))
    assert said == ({"whole"} if size < 2 else {Code.SNAPSHOT_CORRUPT.value})
    assert rebuild_index(root).record_count == 12
    assert set(await answers(root, refs)) == {"whole"}


@pytest.mark.parametrize("cut", [1, 20, 300, 900, 2_000])
@pytest.mark.parametrize("is_indexed", [True, False])
async def test_a_truncated_segment_costs_its_tail_alone(tmp_path: Path, cut: int, is_indexed: bool) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    (segment,) = segments(root)
    os.truncate(segment, segment.stat().st_size - cut)
    if not is_indexed:
        for path in root.glob("index.sqlite*"):
            path.unlink()
    said = await answers(root, refs)
    lost = said.count("SNAPSHOT_CORRUPT" if is_indexed else "SNAPSHOT_MISSING")
    assert lost >= 1
    assert said == ["whole"] * (12 - lost) + said[12 - lost :]
    assert "whole" not in said[12 - lost :]
    report = rebuild_index(root)
    assert report.record_count == 12 - lost
    assert report.damaged == (segment.name,)
    assert report.lost_count == (lost if is_indexed else 0)


@pytest.mark.parametrize("seed", range(20))
async def test_a_flipped_bit_in_a_segment_costs_what_it_hits(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    (segment,) = segments(root)
    data = bytearray(segment.read_bytes())
    chance = random.Random(seed)  # noqa: S311 - chance that can be had again
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    segment.write_bytes(data)
    said = await answers(root, refs)
    assert set(said) <= {"whole", "SNAPSHOT_CORRUPT"}
    # A revisit falls with its original; the first, of which three others are revisits, may be hit.
    assert said.count("whole") >= 12 - 4


async def test_an_archive_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA user_version = 7")
    db.close()
    root.chmod(0o755)
    before, times = contents(root), {path: path.stat().st_mtime_ns for path in root.iterdir()}
    store = FileSnapshotStore(root)
    for work in (
        store.get(refs[0]),
        store.put(page("new")),
        store.latest("page::https://example.org/1"),
        store.list("page::https://example.org/1"),
        store.prune(PruneRule()),
    ):
        with pytest.raises(StoreFailed, match="version 7") as caught:
            await work
        assert caught.value.code is Code.STORE_UNAVAILABLE
    with pytest.raises(StoreFailed, match="version 7"):
        rebuild_index(root)
    await store.aclose()
    assert contents(root) == before
    assert {path: path.stat().st_mtime_ns for path in root.iterdir()} == times
    assert root.stat().st_mode & 0o777 == 0o755


FIRST_VERSION = """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    end INTEGER NOT NULL,        -- bytes that hold indexed records
    reserved INTEGER NOT NULL,   -- bytes that count against the limit: what its writer may still fill
    is_sealed INTEGER NOT NULL,  -- full or damaged: never written to again
    is_damaged INTEGER NOT NULL  -- holds bytes that are no record, or lost some that were
) STRICT;
CREATE TABLE snapshots (
    record BLOB NOT NULL UNIQUE,  -- SHA-256 of the envelope
    source BLOB NOT NULL,         -- the first half of the SHA-256 of source_id
    fetched_at TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    segment INTEGER NOT NULL REFERENCES segments (id),
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    content_bytes INTEGER NOT NULL, -- of the body
    run_id TEXT NOT NULL            -- of the run that took it in; a replay finds its own by it
) STRICT;
CREATE INDEX snapshots_by_source ON snapshots (source, fetched_at);
CREATE INDEX snapshots_by_segment ON snapshots (segment);
PRAGMA user_version = 1;
"""


async def filled_by_first_version(root: Path) -> list[str]:
    """An archive as the first version left it: no revisits, and an index of its own form."""
    store = FileSnapshotStore(root)
    refs = [(await store.put(page(body=b"%d" % n, seconds=n))).source_ref for n in range(5)]
    await store.aclose()
    make_first_version(root)
    return refs


def make_first_version(root: Path) -> None:
    with sqlite3.connect(root / "index.sqlite") as db:
        segment_rows = db.execute(
            "SELECT id, name, end, reserved, is_sealed, is_damaged FROM segments"
        ).fetchall()
        rows = [row[:9] for row in db.execute("SELECT * FROM snapshots")]
    db.close()
    for path in root.glob("index.sqlite*"):
        path.unlink()
    with sqlite3.connect(root / "index.sqlite") as db:
        db.executescript(FIRST_VERSION)
        db.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", segment_rows)
        db.executemany("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.close()


async def test_an_index_of_the_first_version_is_brought_up(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    refs = await filled_by_first_version(root)
    assert set(await answers(root, refs)) == {"whole"}
    store = FileSnapshotStore(root, SnapshotOptions(max_records_per_source=6))
    await store.put(page(body=b"sixth", seconds=6))
    assert await code(store.put(page(body=b"seventh", seconds=7))) is Code.SNAPSHOT_HISTORY_FULL
    assert len(await store.find_in_run("crawl_1", "page::https://example.org/p")) == 6
    await store.aclose()


async def test_many_that_start_at_once_bring_an_index_up_once(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    refs = await filled_by_first_version(root)
    stores = [FileSnapshotStore(root) for _ in range(6)]
    for got in await asyncio.gather(*(store.get(refs[0]) for store in stores)):
        assert got.source_ref == refs[0]
    for store in stores:
        await store.aclose()


async def test_a_writer_of_the_first_version_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    """It had the index open before it was brought up: its INSERT has a column less."""
    root = tmp_path / "archive"
    refs = await filled_by_first_version(root)
    old = sqlite3.connect(root / "index.sqlite", isolation_level=None)
    assert set(await answers(root, refs)) == {"whole"}
    with pytest.raises(sqlite3.OperationalError, match="10 columns"):
        old.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (b"x",) * 9)
    old.close()
    assert set(await answers(root, refs)) == {"whole"}


@pytest.mark.parametrize("version", [0, 1, 2, -1])
async def test_a_foreign_database_in_place_of_the_index_is_corrupt_and_kept(
    tmp_path: Path, version: int
) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    for path in root.glob("index.sqlite*"):
        path.unlink()
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("CREATE TABLE notes (text)")
        db.execute("INSERT INTO notes VALUES ('mine')")
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    said = set(await answers(root, refs))
    assert said <= {one.value for one in HONEST}
    report = rebuild_index(root)
    assert (report.record_count, report.is_index_replaced) == (12, True)
    db = sqlite3.connect(root / "index.sqlite.old")
    assert db.execute("SELECT text FROM notes").fetchall() == [("mine",)]
    db.close()
    assert set(await answers(root, refs)) == {"whole"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip at all" * 100,
        gzip.compress(b"not a WARC record"),
        gzip.compress(b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"),
        gzip.compress(b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: 2\r\n\r\n{}\r\n\r\n"),
        gzip.compress(b"\0" * (1 << 24)),
        os.urandom(5000),
    ],
    ids=range(7),
)
async def test_a_file_with_a_name_like_ours_is_named_and_never_written_to(
    tmp_path: Path, content: bytes
) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    foreign = root / "mudroom-29991231T235959999Z-0.warc.gz"
    foreign.write_bytes(content)
    assert set(await answers(root, refs)) == {"whole"}
    store = FileSnapshotStore(root)
    assert (await store.put(page("more"))).is_new
    await store.prune(PruneRule())
    await store.aclose()
    assert (not foreign.exists()) if content == b"" else foreign.read_bytes() == content
    report = rebuild_index(root)
    assert report.record_count == 13
    assert report.damaged == ((foreign.name,) if content else ())


class TurningClock:
    """Goes back by a day each time it is asked."""

    def __init__(self) -> None:
        self.days = 0

    def now(self) -> datetime:
        self.days += 1
        return datetime(2026, 11, 30, tzinfo=UTC) - timedelta(days=self.days)

    def monotonic(self) -> float:
        return -float(self.days)


async def test_a_clock_that_goes_back_loses_and_reorders_nothing(tmp_path: Path) -> None:
    root, clock = tmp_path / "archive", TurningClock()
    refs = []
    for number in range(6):
        store = FileSnapshotStore(root, SnapshotOptions(max_segment_bytes=1), clock)
        refs.append((await store.put(page(body=b"%d" % number, seconds=-86_400 * number))).source_ref)
        await store.aclose()
    store = FileSnapshotStore(root, SnapshotOptions(), clock)
    assert [stored.source_ref for stored in await store.list("page::https://example.org/p")] == refs
    assert (await store.latest("page::https://example.org/p")).source_ref == refs[0]
    assert (await store.prune(PruneRule(keep_last=2))).removed == 4
    assert [stored.source_ref for stored in await store.list("page::https://example.org/p")] == refs[:2]
    await store.aclose()
    assert rebuild_index(root).record_count == 2


async def test_a_rebuild_that_is_killed_leaves_the_old_index(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    refs = await filled(root)
    script = (
        "import os, pathlib, sys, mudroom.snapshot.rebuild as r\n"
        "r._index_segment = lambda *a: os.kill(os.getpid(), 9)\n"
        "r.rebuild_index(pathlib.Path(sys.argv[1]))\n"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": os.environ["PATH"]}
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, str(root)], env=environment, check=False
    )
    assert done.returncode == -9
    assert set(await answers(root, refs)) == {"whole"}


def test_six_processes_that_are_killed_keep_every_promise(tmp_path: Path) -> None:
    """Twenty rounds; tests/soak has two hundred."""
    run_rounds(tmp_path, rounds=20, seed=2026)


def run_rounds(folder: Path, *, rounds: int, seed: int) -> None:
    top = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.snapshot.rounds", str(folder), str(rounds), str(seed)],
        cwd=top,
        env={"PYTHONPATH": f"{top / 'src'}", "PATH": os.environ["PATH"]},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
