"""A prune on disk: beside writers and readers, after kills, on a full disk, around damage."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
from pathlib import Path

import pytest

from mudroom.errors import Code, MudroomError
from mudroom.snapshot import FileSnapshotStore, PruneRule, SnapshotOptions, rebuild_index
from mudroom.snapshot.compaction import reclaim
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.pruning import take_out
from mudroom.snapshot.reading import read_snapshot

from .conftest import FaultyDisk, FixedClock, OpenStore, page

SOURCE = "page::https://example.org/p"
WARCINFO_BYTES = 400
"""More than the first record of a segment takes."""


def segments(root: Path) -> list[Path]:
    return sorted(root.glob("*.warc.gz"))


def sizes(root: Path) -> int:
    return sum(path.stat().st_size for path in segments(root))


def query(root: Path, statement: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(root / "index.sqlite") as db:
        rows = db.execute(statement).fetchall()
    db.close()
    return rows


async def code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


async def fill(store: FileSnapshotStore, count: int = 6, **more: object) -> list[str]:
    return [(await store.put(page(body=os.urandom(900), seconds=n, **more))).source_ref for n in range(count)]


def check_whole(root: Path) -> None:
    """No row without its bytes, no byte unaccounted for, every count right."""
    assert query(root, "SELECT count(*) FROM snapshots WHERE segment NOT IN (SELECT id FROM segments)") == [
        (0,)
    ]
    counted = query(root, "SELECT source, count(*) FROM snapshots GROUP BY source ORDER BY source")
    assert query(root, "SELECT * FROM sources WHERE record_count > 0 ORDER BY source") == counted
    names = {name for (name,) in query(root, "SELECT name FROM segments")}
    assert names == {path.name for path in segments(root)}


async def test_dead_bytes_leave_the_disk_and_count_back(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_bytes=12_000)
    refs = await fill(store)
    assert await code(fill(store, 60)) is Code.ARCHIVE_FULL
    before = sizes(root)
    report = await store.prune(PruneRule())
    assert report.freed_bytes == before - sizes(root) > 4_000
    assert query(root, "SELECT sum(reserved) FROM segments") == [(sizes(root),)]
    assert (await store.get(refs[-1])).source_ref == refs[-1] or report.retained == 1
    assert (await store.put(page("more", os.urandom(900)))).is_new
    check_whole(root)


async def test_a_segment_of_a_living_writer_is_left_and_cleared_by_a_later_prune(
    root: Path, open_store: OpenStore
) -> None:
    writer, pruner = open_store(), open_store()
    refs = await fill(writer)
    report = await pruner.prune(PruneRule())
    assert (report.removed, report.freed_bytes) == (5, 0)
    assert report.waiting_bytes == report.removed_bytes
    assert await code(writer.get(refs[0])) is Code.SNAPSHOT_MISSING
    assert (await writer.get(refs[-1])).source_ref == refs[-1]
    await writer.aclose()
    again = await pruner.prune(PruneRule())
    assert (again.removed, again.waiting_bytes) == (0, 0)
    assert again.freed_bytes > 4_000
    assert (await pruner.get(refs[-1])).source_ref == refs[-1]
    check_whole(root)


async def test_what_other_segments_hold_is_not_rewritten(root: Path, open_store: OpenStore) -> None:
    for n in range(3):
        store = open_store(max_segment_bytes=1)
        await store.put(page(str(n)))
        await store.aclose()
    untouched = {path: path.stat().st_ino for path in segments(root)}
    store = open_store(max_segment_bytes=1_500)
    await fill(store)
    await store.prune(PruneRule())
    assert untouched.items() <= {path: path.stat().st_ino for path in segments(root)}.items()


async def test_kept_records_of_many_segments_move_into_few(root: Path, open_store: OpenStore) -> None:
    refs = []
    for n in range(8):
        store = open_store(max_segment_bytes=2_000)
        await store.put(page("old", os.urandom(600), seconds=n))
        refs.append((await store.put(page(str(n), os.urandom(600)))).source_ref)
        await store.aclose()
    assert len(segments(root)) >= 8
    store = open_store(max_segment_bytes=4_000)
    assert (await store.prune(PruneRule())).removed == 7
    assert len(segments(root)) <= 5
    for ref in refs:
        assert (await store.get(ref)).source_ref == ref
    check_whole(root)
    await store.aclose()
    report = rebuild_index(root)
    assert (report.record_count, report.damaged, report.lost_count, report.added_count) == (9, (), 0, 0)


async def test_a_reader_that_held_the_old_place_finds_the_new_one(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    refs = await fill(store)
    await store.aclose()
    assert (await asyncio.to_thread(read_in_thread, root, refs[-1])) == refs[-1]


def read_in_thread(root: Path, ref: str) -> str:
    """A read whose record is moved between the look into the index and the look into the segment."""
    folder = ArchiveFolder(root, SnapshotOptions(), FixedClock(), FaultyDisk(), os.urandom)
    find = folder.index.find
    looks = []

    def moving(record: str) -> object:
        row = find(record)
        if not looks:
            looks.append(row)
            pruner = FileSnapshotStore(root, SnapshotOptions(), FixedClock())

            async def prune() -> None:
                await pruner.prune(PruneRule())
                await pruner.aclose()

            asyncio.run(prune())
        return row

    folder.index.find = moving  # type: ignore[method-assign]
    try:
        snapshot = read_snapshot(folder, ref)
        assert looks[0].place != find(looks[0].record_sha256).place
    finally:
        folder.close()
    return snapshot.source_ref


class Killed(BaseException):
    pass


class Dying(FaultyDisk):
    steps = 0

    def _step(self) -> None:
        if self.steps == 0:
            raise Killed
        self.steps -= 1

    def write(self, descriptor: int, data: memoryview, offset: int) -> int:
        self._step()
        return super().write(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        self._step()
        super().sync(descriptor)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """A killed process cuts nothing."""


async def test_a_kill_after_each_step_loses_nothing_that_is_kept(root: Path, open_store: OpenStore) -> None:
    """Each step of a prune alone, and then another process that starts."""

    store = open_store()
    for path in "abc":
        for n in range(3):
            await store.put(page(path, os.urandom(500), seconds=n))
    heads = [(await store.latest(f"page::https://example.org/{path}")).source_ref for path in "abc"]
    await store.aclose()
    ends = []
    for steps in range(20):
        disk = Dying()
        disk.steps = steps
        folder = ArchiveFolder(root, SnapshotOptions(), FixedClock(), disk, os.urandom)
        try:
            take_out(folder.index, PruneRule())
            reclaim(folder, SnapshotOptions())
            ends.append("done")
        except Killed:
            ends.append("killed")
        os.close(folder.descriptor)
        folder.index.close()
        after = open_store()
        for ref in heads:
            assert (await after.get(ref)).source_ref == ref
        await after.put(page("a", b"next %d" % steps, seconds=10 + steps))
        heads[0] = (await after.latest("page::https://example.org/a")).source_ref
        await after.aclose()
    assert (ends[0], ends[-1], ends.count("killed") > 4) == ("killed", "done", True)
    final = open_store()
    await final.prune(PruneRule())
    assert sorted(
        [
            stored.source_ref
            for path in "abc"
            for stored in await final.list(f"page::https://example.org/{path}")
        ]
    ) == sorted(heads)
    check_whole(root)


async def test_a_full_disk_stops_the_copying_and_keeps_every_record_where_it_was(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await fill(store)
    for n in range(5):
        await store.put(page(str(n), os.urandom(900)))
    await store.aclose()
    disk = FaultyDisk()
    disk.room_bytes, disk.fault = 2_500, OSError(errno.ENOSPC, "full")
    store = open_store(disk)
    assert await code(store.prune(PruneRule())) is Code.NO_SPACE
    check_tails(root)
    for n in range(5):
        assert (await store.latest(f"page::https://example.org/{n}")).body
    disk.room_bytes = None
    report = await store.prune(PruneRule())
    assert (report.removed, report.waiting_bytes) == (0, 0)
    assert report.freed_bytes > 4_000
    check_whole(root)


async def test_a_segment_of_which_nothing_is_kept_goes_without_room_for_a_copy(
    root: Path, open_store: OpenStore
) -> None:
    disk = FaultyDisk()
    store = open_store(disk, max_segment_bytes=1)
    await fill(store, 3)
    await store.put(page(body=b"newest", seconds=99))
    disk.room_bytes, disk.fault = 0, OSError(errno.ENOSPC, "full")
    report = await store.prune(PruneRule())
    assert report.removed == 3
    assert report.freed_bytes > 2_700
    assert (await store.latest(SOURCE)).body == b"newest"


async def test_a_damaged_segment_is_left_as_it_is_and_named(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await fill(store, 3)
    kept_at = segments(root)[0].stat().st_size
    kept = (await store.put(page("kept", b"k" * 500))).source_ref
    await store.aclose()
    segment = segments(root)[0]
    data = bytearray(segment.read_bytes())
    data[kept_at + 60] ^= 1
    segment.write_bytes(data)
    store = open_store()
    report = await store.prune(PruneRule())
    assert (report.removed, report.damaged) == (2, (segment.name,))
    assert segment.read_bytes() == bytes(data)
    assert await code(store.get(kept)) is Code.SNAPSHOT_CORRUPT
    assert (await store.latest(SOURCE)).source_ref


async def test_what_was_pruned_and_waits_comes_not_back_with_the_next_start(
    root: Path, open_store: OpenStore
) -> None:
    writer = open_store()
    refs = await fill(writer)
    pruner = open_store()
    await pruner.prune(PruneRule())
    await writer.aclose()
    later = open_store()
    assert await code(later.get(refs[0])) is Code.SNAPSHOT_MISSING
    assert len(await later.list(SOURCE)) == 1


async def test_a_pruned_revisit_that_a_rebuild_finds_again_without_its_body_is_none(
    root: Path, open_store: OpenStore
) -> None:
    first, second = open_store(), open_store()
    body = b"the same words " * 30
    await first.put(page(body=body, seconds=1))
    await second.put(page("other", body, seconds=1))
    await first.put(page(body=b"new", seconds=9))
    await second.put(page("other", b"other new", seconds=9))
    await first.aclose()
    pruner = open_store()
    report = await pruner.prune(PruneRule())
    assert (report.removed, report.waiting_bytes > 0) == (2, True)
    await second.aclose()
    await pruner.aclose()
    assert rebuild_index(root).record_count == 2
    store = open_store()
    assert len(await store.list("page::https://example.org/other")) == 1


async def test_a_revisit_whose_original_is_gone_is_corrupt_and_never_missing(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    body = b"the same words " * 30
    await store.put(page(body=body))
    revisit = await store.put(page("other", body, seconds=1))
    assert (await store.get(revisit.source_ref)).body == body
    query(root, "DELETE FROM snapshots WHERE original IS NULL")
    assert await code(store.get(revisit.source_ref)) is Code.SNAPSHOT_CORRUPT
    assert await code(store.latest("page::https://example.org/other")) is Code.SNAPSHOT_CORRUPT
    assert await code(store.list("page::https://example.org/other")) is Code.SNAPSHOT_CORRUPT


async def test_a_revisit_of_a_damaged_original_is_corrupt_and_the_next_is_kept_whole(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    body = os.urandom(2_000)
    await store.put(page(body=body))
    end = segments(root)[0].stat().st_size
    revisit = await store.put(page("other", body, seconds=1))
    data = bytearray(segments(root)[0].read_bytes())
    data[end - 1_500] ^= 1
    segments(root)[0].write_bytes(data)
    assert await code(store.get(revisit.source_ref)) is Code.SNAPSHOT_CORRUPT
    third = await store.put(page("third", body, seconds=2))
    assert (await store.get(third.source_ref)).body == body


async def test_an_original_pruned_while_its_revisit_is_written_is_written_again(
    root: Path, open_store: OpenStore
) -> None:
    """The prune comes between the append and the row; the record is then kept whole."""
    body = os.urandom(2_000)
    pruned = []

    class Pruning(FaultyDisk):
        def sync(self, descriptor: int) -> None:
            super().sync(descriptor)
            if self.fault and not pruned:
                pruned.append(True)
                with sqlite3.connect(root / "index.sqlite") as db:
                    db.execute(
                        "DELETE FROM snapshots WHERE record = ?", (bytes.fromhex(first.record_sha256),)
                    )
                db.close()

    disk = Pruning()
    store = open_store(disk)
    first = await store.put(page(body=body))
    disk.fault = OSError()
    second = await store.put(page("other", body, seconds=1))
    assert pruned
    assert second.is_new
    assert (await store.get(second.source_ref)).body == body
    records = [record async for record in store.iterate_all()]
    assert [record.original_sha256 for record in records] == [None]


async def test_the_cap_holds_for_all_writers_together(root: Path, open_store: OpenStore) -> None:
    stores = [open_store(max_records_per_source=20) for _ in range(3)]
    puts = [
        store.put(page(body=b"%d %d" % (n, m), seconds=m))
        for n, store in enumerate(stores)
        for m in range(12)
    ]
    answers = await asyncio.gather(*puts, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, MudroomError)]
    assert {answer.code for answer in refused} == {Code.SNAPSHOT_HISTORY_FULL}
    assert (len(refused), len(await stores[0].list(SOURCE))) == (16, 20)
    await stores[1].prune(PruneRule(keep_last=19))
    assert (await stores[2].put(page(body=b"one more", seconds=99))).is_new
    assert await code(stores[0].put(page(body=b"and more", seconds=99))) is Code.SNAPSHOT_HISTORY_FULL


async def test_what_could_not_be_synced_is_not_switched_to(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await fill(store, 3)
    kept = (await store.put(page("kept"))).source_ref
    await store.aclose()
    before = query(
        root, "SELECT * FROM snapshots WHERE fetched_at LIKE '%:00.000Z' OR fetched_at LIKE '%:02.000Z'"
    )
    (segment,) = segments(root)

    class Unsynced(FaultyDisk):
        def sync(self, descriptor: int) -> None:
            if os.fstat(descriptor).st_size > 1_000 and self.fault:  # neither the folder nor a first record
                raise self.fault
            super().sync(descriptor)

    disk = Unsynced()
    disk.fault = OSError(errno.EIO, "broken")
    store = open_store(disk)
    assert await code(store.prune(PruneRule())) is Code.STORE_UNAVAILABLE
    assert segment.exists()
    left = query(root, "SELECT * FROM snapshots")
    assert set(left) <= set(before)
    assert len(left) == 2
    assert (await store.get(kept)).source_ref == kept
    check_tails(root)
    disk.fault = None
    assert (await store.prune(PruneRule())).freed_bytes > 1_000
    assert (await store.get(kept)).source_ref == kept


def check_tails(root: Path) -> None:
    """No byte that is no record's: what was copied and not switched to is cut again."""
    rows = query(
        root,
        "SELECT name, end, end - dead - (SELECT coalesce(sum(length), 0) FROM snapshots"
        " WHERE segment = segments.id) FROM segments",
    )
    assert {path.name: path.stat().st_size for path in segments(root)} == {name: end for name, end, _ in rows}
    assert all(int(str(rest)) < WARCINFO_BYTES for *_, rest in rows)


async def test_a_revisit_that_comes_back_without_its_pruned_original_is_none(
    root: Path, open_store: OpenStore
) -> None:
    """What a killed process leaves behind the end of a segment may have been pruned elsewhere meanwhile."""
    store = open_store()
    body = b"the same words " * 30
    await store.put(page(body=body))
    end = segments(root)[0].stat().st_size
    await store.put(page("other", body, seconds=1))
    await store.aclose()
    for statement in ("DELETE FROM snapshots", "DELETE FROM sources"):
        query(root, statement)
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("UPDATE segments SET end = ?1, reserved = ?1", (end,))
    db.close()
    store = open_store()
    assert await store.list("page::https://example.org/other") == ()
    assert query(root, "SELECT count(*) FROM snapshots") == [(0,)]
