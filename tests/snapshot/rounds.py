"""Rounds of six processes on one archive, killed at random moments; run as a program of its own.

    python -m tests.snapshot.rounds FOLDER ROUNDS SEED

Three processes put, two prune, one reads, until each is killed. After each round every promise is checked,
by a process that starts as the next command of a person would. The program forks what it has imported once,
so that a round takes well under a second; it ends with 1 and a sentence at the first broken promise.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from bisect import bisect_right
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path

from mudroom.errors import Code, MudroomError, NotFound
from mudroom.snapshot import (
    DamagedRecord,
    FileSnapshotStore,
    HeadState,
    PruneRule,
    SnapshotInput,
    SnapshotOptions,
    SourceKind,
    parse_source_ref,
    rebuild_index,
)

SOURCES = 5
KEEP_LAST = 3
REBUILT_EVERY = 5
MAY_BE_SAID = {Code.SNAPSHOT_MISSING}

Work = Callable[["Round"], Coroutine[None, None, None]]


class Round:
    """One folder, and what a process of it has to leave word of."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)  # noqa: S311 - chance that can be had again

    def open_store(self) -> FileSnapshotStore:
        size = self.chance.choice([4_000, 30_000, 1 << 20])
        return FileSnapshotStore(self.folder / "archive", SnapshotOptions(max_segment_bytes=size))

    def note(self, name: str, line: str) -> None:
        """One line, there at once, whatever happens to this process."""
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, line.encode() + b"\n")
        os.close(descriptor)

    def notes(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split("\n")[:-1] if path.exists() else []


async def write(here: Round) -> None:
    store = here.open_store()
    bodies = [here.chance.randbytes(here.chance.randint(1, 4000)) for _ in range(4)]

    async def put(number: int) -> None:
        url = f"https://example.org/{here.chance.randrange(SOURCES)}"
        body = here.chance.choice(bodies) if number % 3 else here.chance.randbytes(300)
        stored = await store.put(
            SnapshotInput(
                kind=SourceKind.PAGE,
                requested_url=url,
                url=f"{url}?{os.getpid()}-{number}",
                status=200,
                fetched_at=datetime.now(UTC),
                body=body,
                run_id=f"crawl_{os.getpid()}",
            )
        )
        here.note("acknowledged", stored.source_ref)

    for start in range(0, 1 << 30, 4):
        await asyncio.gather(*(put(start + n) for n in range(4)))


async def prune(here: Round) -> None:
    cited = here.notes("cited")
    while True:
        store = here.open_store()
        for _ in range(5):
            await store.prune(PruneRule(keep_last=KEEP_LAST, keep=cited))
            await asyncio.sleep(0.01)
        await store.aclose()


async def read(here: Round) -> None:
    store = here.open_store()
    cited = here.notes("cited")
    while True:
        source_id = f"page::https://example.org/{here.chance.randrange(SOURCES)}"
        for look in (store.latest(source_id), store.list(source_id)):
            await attempt(look, MAY_BE_SAID)
        if cited:
            await attempt(store.get(here.chance.choice(cited)), set())


async def attempt(look: Coroutine[None, None, object], may_be_said: set[Code]) -> None:
    try:
        await look
    except MudroomError as failure:
        if failure.code not in may_be_said:
            raise


async def check(here: Round) -> None:
    """Every promise, as a process finds it that starts after the kill."""
    store = here.open_store()
    cited = here.notes("cited")
    for ref in cited:
        assert (await store.get(ref)).source_ref == ref, "a cited record reads as another"
    present: dict[str, list[tuple[str, str, str]]] = {}
    records = []
    async for record in store.iterate_all():
        assert not isinstance(record, DamagedRecord), f"{record.record_sha256} is damaged: {record.failure}"
        source_id, place = order(record.snapshot.source_ref)
        present.setdefault(source_id, []).append(place)
        records.append(record.snapshot.source_ref)
    assert len(set(records)) == len(records), "a record is there twice"
    gone = sorted(set(here.notes("acknowledged")).difference(records))
    for kept in present.values():
        kept.sort()
    for ref in gone:
        source_id, place = order(ref)
        kept = present[source_id]
        newer = len(kept) - bisect_right(kept, place)
        assert newer >= KEEP_LAST, f"an acknowledged record is gone with {newer} newer ones: {ref}"
    for ref in here.chance.sample(gone, min(20, len(gone))):
        # Another record of the same moment may be there.
        await attempt(store.get(ref), {Code.SNAPSHOT_MISSING, Code.SNAPSHOT_MISMATCH})
    for source_id, kept in present.items():
        head = await store.read_verified_head(source_id)
        assert head.state is HeadState.FOUND, f"the head of {source_id} is {head.state}"
        assert order(head.source_ref or "")[1] == kept[-1], "the head is not the newest"
        assert len(await store.list(source_id)) == len(kept), "a record is of no source"
    fresh = datetime.now(UTC).isoformat()
    await store.put(
        SnapshotInput(
            kind=SourceKind.FILE,
            requested_url=fresh,
            url=fresh,
            status=None,
            fetched_at=datetime.now(UTC),
            body=fresh.encode(),
        )
    )
    await store.aclose()
    check_index(here.folder / "archive")
    for ref in here.chance.sample(records, min(2, len(records))):
        here.note("cited", ref)


def order(source_ref: str) -> tuple[str, tuple[str, str, str]]:
    """The source of a record and its place among its others."""
    ref = parse_source_ref(source_ref)
    return ref.source_id, (ref.fetched_at, ref.sha256, ref.record)


def check_index(root: Path) -> None:
    db = sqlite3.connect(root / "index.sqlite")
    counted = db.execute("SELECT source, count(*) FROM snapshots GROUP BY source ORDER BY source").fetchall()
    noted = db.execute("SELECT * FROM sources WHERE record_count <> 0 ORDER BY source").fetchall()
    assert noted == counted, "the counts of the sources are wrong"
    rows = db.execute(
        "SELECT name, end, is_damaged, (SELECT max(offset + length) FROM snapshots"
        " WHERE segment = segments.id) FROM segments"
    ).fetchall()
    db.close()
    sizes = {path.name: path.stat().st_size for path in root.glob("*.warc.gz")}
    for name, end, is_damaged, last in rows:
        assert not is_damaged, f"{name} is called damaged"
        assert last is None or last <= end == sizes[name], f"{name} ends elsewhere than its index says"


async def rebuild(here: Round) -> None:
    report = rebuild_index(here.folder / "archive")
    assert (report.damaged, report.lost_count) == ((), 0), f"the segments are not whole: {report}"


def start(here: Round, work: Work) -> int:
    """A process that does this until it is killed; what it stumbles over is noted."""
    seed = here.chance.random()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        asyncio.run(work(Round(here.folder, int(seed * 2**32))))
        status = 0
    except (MudroomError, NotFound, AssertionError, Exception):  # noqa: BLE001 - whatever it is, the parent tells it
        here.note("faults", f"{work.__name__}: {traceback.format_exc()}")
    finally:
        os._exit(status)


def finish(pid: int) -> None:
    os.waitpid(pid, 0)


def main(folder: Path, rounds: int, seed: int) -> int:
    here = Round(folder, seed)
    for number in range(rounds):
        pids = [start(here, work) for work in (write, write, write, prune, prune, read)]
        ends = sorted((here.chance.uniform(0.05, 0.3), pid) for pid in pids)
        begun = time.monotonic()
        for moment, pid in ends:
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            os.kill(pid, signal.SIGKILL)
            finish(pid)
        finish(start(here, check))
        if number % REBUILT_EVERY == REBUILT_EVERY - 1:
            finish(start(here, rebuild))
        if faults := here.notes("faults"):
            sys.stdout.write("\n".join((f"round {number}, seed {seed}:", *faults, "")))
            return 1
    acknowledged = len(here.notes("acknowledged"))
    sys.stdout.write(f"{rounds} rounds, {acknowledged} acknowledged\n")
    return 0 if acknowledged > rounds else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
