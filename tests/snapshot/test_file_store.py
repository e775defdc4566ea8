from __future__ import annotations

import argparse
import asyncio
import errno
import io
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from mudroom.errors import Code, MudroomError
from mudroom.snapshot import DamagedRecord, FileSnapshotStore, PruneRule, rebuild_index

from .conftest import FaultyDisk, OpenStore, page


def _segments(root: Path) -> list[Path]:
    return sorted(root.glob("*.warc.gz"))


def _files(root: Path) -> list[Path]:
    return sorted(root.iterdir())


def _lose_index(root: Path) -> None:
    for path in root.glob("index.sqlite*"):
        path.unlink()


async def _code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


async def test_nothing_is_made_before_the_first_snapshot(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    prepared = await store.prepare(page())
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    assert await store.list("page::https://example.org/p") == ()
    await store.aclose()
    assert not root.parent.exists()


async def test_folders_and_files_are_for_their_owner_alone(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page())
    assert {stat.S_IMODE(path.stat().st_mode) for path in (root, root.parent)} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in _files(root)} == {0o600}


async def test_warcio_and_fastwarc_read_a_segment_and_find_every_digest_right(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    bodies = [b"%d" % n * 1000 for n in range(5)]
    for number, body in enumerate(bodies):
        await store.put(page(str(number), body))
    await store.aclose()
    data = _segments(root)[0].read_bytes()
    seen = [
        (record.rec_type, record.content_stream().read(), record.digest_checker.passed)
        for record in ArchiveIterator(io.BytesIO(data), check_digests="raise")
    ]
    assert [kind for kind, *_ in seen] == ["warcinfo"] + ["response", "metadata"] * 5
    assert all(passed for *_, passed in seen)
    assert [body for kind, body, _ in seen if kind == "response"] == bodies
    records = FastIterator(io.BytesIO(data), parse_http=False)
    assert all(record.verify_block_digest() for record in records)


async def test_the_same_puts_give_the_same_segment_but_for_its_name(tmp_path: Path) -> None:
    written = []
    for folder in ("a", "b"):
        store = FileSnapshotStore(tmp_path / folder, randomness=lambda n: b"\7" * n, clock=_still())
        for number in range(3):
            await store.put(page(str(number)))
        await store.aclose()
        written.append([(path.name, path.read_bytes()) for path in _segments(tmp_path / folder)])
    assert written[0] == written[1]
    assert len(written[0]) == 1


def _still() -> object:
    from .conftest import FixedClock

    return FixedClock()


async def test_a_second_writer_takes_a_segment_of_its_own_and_each_reads_the_other(
    root: Path, open_store: OpenStore
) -> None:
    first, second = open_store(), open_store()
    ref_one = (await first.put(page("1"))).source_ref
    ref_two = (await second.put(page("2"))).source_ref
    assert len(_segments(root)) == 2
    assert (await first.get(ref_two)).envelope.url.endswith("/2")
    assert (await second.get(ref_one)).envelope.url.endswith("/1")


async def test_a_later_writer_goes_on_in_the_segment_of_one_that_has_ended(
    root: Path, open_store: OpenStore
) -> None:
    refs = []
    for number in range(3):
        store = open_store()
        refs.append((await store.put(page(str(number)))).source_ref)
        await store.aclose()
    assert len(_segments(root)) == 1
    store = open_store()
    assert [(await store.get(ref)).envelope.url[-1] for ref in refs] == ["0", "1", "2"]


async def test_a_full_segment_is_closed_for_good(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_segment_bytes=1500)
    refs = [(await store.put(page(str(n), b"%d" % n))).source_ref for n in range(6)]
    assert len(_segments(root)) > 1
    for number, ref in enumerate(refs):
        assert (await store.get(ref)).body == b"%d" % number


async def test_what_waits_is_synced_once(open_store: OpenStore) -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    await store.put(page("first"))
    before = disk.syncs
    await asyncio.gather(*(store.put(page(str(n))) for n in range(40)))
    assert disk.syncs - before < 10  # the first to come goes alone, the rest together


async def test_a_put_that_is_cancelled_hurts_no_other(open_store: OpenStore) -> None:
    store = open_store()
    tasks = [asyncio.create_task(store.put(page(str(n)))) for n in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers].count(True) == 1
    assert (await store.put(page("next"))).is_new


async def test_each_event_loop_gets_its_own_answers(root: Path) -> None:
    store = FileSnapshotStore(root)

    def other_loop() -> str:
        return asyncio.run(store.put(page("other"))).source_ref

    mine, theirs = await asyncio.gather(store.put(page("mine")), asyncio.to_thread(other_loop))
    assert (await store.get(theirs)).envelope.url.endswith("other")
    assert (await store.get(mine.source_ref)).envelope.url.endswith("mine")
    await store.aclose()


@pytest.mark.parametrize("left", [b"", b"\x1f", b"\x1f\x8b\x08\0\0", b"\0" * 5000, b"garbage"])
async def test_a_torn_tail_is_cut_at_the_next_start(root: Path, open_store: OpenStore, left: bytes) -> None:
    store = open_store()
    ref = (await store.put(page("1"))).source_ref
    await store.aclose()
    segment = _segments(root)[0]
    whole = segment.read_bytes()
    segment.write_bytes(whole + left)
    store = open_store()
    assert (await store.get(ref)).body == b"<p>hello"
    assert segment.read_bytes() == whole
    assert (await store.put(page("2"))).is_new
    assert _segments(root) == [segment]


async def test_a_snapshot_without_its_envelope_is_cut_as_torn(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page("1"))
    size = _segments(root)[0].stat().st_size
    prepared = await store.prepare(page("2", b"second" * 100))
    await store.commit(prepared)
    await store.aclose()
    segment = _segments(root)[0]
    _forget_rows(root, above=size)
    os.truncate(segment, segment.stat().st_size - 20)
    store = open_store()
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    assert segment.stat().st_size == size


async def test_what_was_synced_and_not_indexed_is_indexed_at_the_next_start(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page("1"))
    size = _segments(root)[0].stat().st_size
    refs = [(await store.put(page(str(n)))).source_ref for n in range(2, 5)]
    await store.aclose()
    _forget_rows(root, above=size)
    store = open_store()
    for ref in refs:
        assert (await store.get(ref)).source_ref == ref


def _forget_rows(root: Path, *, above: int) -> None:
    """What a loss of power does to an index that is not synced."""
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("DELETE FROM snapshots WHERE offset >= ?", (above,))
        db.execute("UPDATE segments SET end = ?, reserved = ?", (above, above))
    db.close()


async def test_a_live_writer_is_left_alone_by_others_that_start(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    refs = [(await store.put(page("0"))).source_ref]
    with _segments(root)[0].open("ab") as stream:
        stream.write(b"half a reco")  # what another process sees of a write under way
    other = open_store()
    assert (await other.get(refs[0])).body == b"<p>hello"
    assert _segments(root)[0].read_bytes().endswith(b"half a reco")


async def test_an_indexed_record_beyond_the_files_end_is_corrupt(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    first = (await store.put(page("1"))).source_ref
    second = (await store.put(page("2"))).source_ref
    await store.aclose()
    segment = _segments(root)[0]
    os.truncate(segment, segment.stat().st_size - 1)
    store = open_store()
    assert await _code(store.get(second)) is Code.SNAPSHOT_CORRUPT
    assert (await store.get(first)).body == b"<p>hello"
    assert (await store.put(page("3"))).is_new
    assert len(_segments(root)) == 2  # the damaged one is not written to again
    assert await _code(store.get(second)) is Code.SNAPSHOT_CORRUPT


async def test_only_the_newest_is_judged_by_latest_and_all_by_list(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page(body=b"old", seconds=1))
    old_end = _segments(root)[0].stat().st_size
    await store.put(page(body=b"new", seconds=2))
    data = bytearray(_segments(root)[0].read_bytes())
    data[old_end - 60] ^= 1
    _segments(root)[0].write_bytes(data)
    assert (await store.latest("page::https://example.org/p")).body == b"new"
    assert await _code(store.list("page::https://example.org/p")) is Code.SNAPSHOT_CORRUPT


async def test_a_flipped_bit_anywhere_in_a_record_is_corrupt(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page("1"))
    start = _segments(root)[0].stat().st_size
    ref = (await store.put(page("2"))).source_ref
    segment = _segments(root)[0]
    whole = segment.read_bytes()
    codes = set()
    for position in range(start, len(whole), 7):
        if position - whole.rindex(b"\x1f\x8b\x08", start, position + 3) in range(4, 10):
            continue  # time stamp and origin in a gzip header, which say nothing of the record
        data = bytearray(whole)
        data[position] ^= 4
        segment.write_bytes(data)
        codes.add(await _code(store.get(ref)))
    assert codes == {Code.SNAPSHOT_CORRUPT}


async def test_a_segment_that_is_gone_is_corrupt_and_not_missing(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    ref = (await store.put(page())).source_ref
    _segments(root)[0].unlink()
    assert await _code(store.get(ref)) is Code.SNAPSHOT_CORRUPT


async def test_an_index_that_points_at_another_record_is_corrupt(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    first = (await store.put(page("1"))).source_ref
    second = (await store.put(page("2"))).source_ref
    await store.aclose()
    with sqlite3.connect(root / "index.sqlite") as db:
        rows = db.execute("SELECT offset, length, record FROM snapshots ORDER BY offset").fetchall()
        for (offset, length, _), (_, _, record) in zip(rows, rows[::-1], strict=True):
            db.execute("UPDATE snapshots SET offset=?, length=? WHERE record=?", (offset, length, record))
    db.close()
    store = open_store()
    for ref in (first, second):
        assert await _code(store.get(ref)) is Code.SNAPSHOT_CORRUPT


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("room_bytes", [0, 1, 300])
async def test_a_full_disk_in_a_record_leaves_nothing_half_written(
    root: Path, open_store: OpenStore, number: int, room_bytes: int
) -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    kept = (await store.put(page("1"))).source_ref
    whole = _segments(root)[0].read_bytes()
    disk.room_bytes, disk.fault = room_bytes, OSError(number, os.strerror(number))
    assert await _code(store.put(page("2", os.urandom(2000)))) is Code.NO_SPACE
    assert [path.read_bytes() for path in _segments(root)] == [whole]
    assert (await store.get(kept)).body == b"<p>hello"
    disk.room_bytes = None
    assert (await store.put(page("2"))).is_new
    assert len(_segments(root)) == 1


async def test_a_full_disk_at_the_first_record_leaves_no_segment_behind(
    root: Path, open_store: OpenStore
) -> None:
    disk = FaultyDisk()
    disk.room_bytes, disk.fault = 10, OSError(errno.ENOSPC, "full")
    store = open_store(disk)
    for _ in range(3):
        assert await _code(store.put(page())) is Code.NO_SPACE
    assert [path.stat().st_size for path in _segments(root)] == [0]
    disk.room_bytes = None
    assert (await store.put(page())).is_new
    assert len(_segments(root)) == 1


async def test_a_tail_that_cannot_be_cut_is_cut_when_the_segment_is_next_taken_up(
    root: Path, open_store: OpenStore
) -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    await store.put(page("1"))
    whole = _segments(root)[0].read_bytes()
    disk.room_bytes, disk.fault = 100, OSError(errno.ENOSPC, "full")
    disk.truncate_fault = OSError(errno.EIO, "broken")
    assert await _code(store.put(page("2"))) is Code.STORE_UNAVAILABLE
    assert len(_segments(root)[0].read_bytes()) == len(whole) + 100
    disk.room_bytes = disk.truncate_fault = None
    ref = (await store.put(page("3"))).source_ref
    assert (await store.get(ref)).envelope.url.endswith("/3")
    assert _segments(root)[0].read_bytes().startswith(whole)
    assert rebuild_report(await _closed(store), root) == (1, 2, ())


async def _closed(store: FileSnapshotStore) -> FileSnapshotStore:
    await store.aclose()
    return store


def rebuild_report(_: FileSnapshotStore, root: Path) -> tuple[int, int, tuple[str, ...]]:
    report = rebuild_index(root)
    return report.segment_count, report.record_count, report.damaged


async def test_a_record_that_could_not_be_synced_is_not_acknowledged(
    root: Path, open_store: OpenStore
) -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    await store.put(page("1"))
    size = _segments(root)[0].stat().st_size
    disk.sync_fault = OSError(errno.EIO, "broken")
    prepared = await store.prepare(page("2"))
    assert await _code(store.commit(prepared)) is Code.STORE_UNAVAILABLE
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    assert _segments(root)[0].stat().st_size == size
    disk.sync_fault = None
    assert (await store.commit(prepared)).is_new


async def test_the_limit_holds_for_all_writers_together(root: Path, open_store: OpenStore) -> None:
    limit = 60_000
    stores = [open_store(max_bytes=limit) for _ in range(3)]
    puts = [
        store.put(page(f"{n}-{m}", os.urandom(3000))) for n, store in enumerate(stores) for m in range(15)
    ]
    answers = await asyncio.gather(*puts, return_exceptions=True)
    refused = [answer.code for answer in answers if isinstance(answer, MudroomError)]
    assert 0 < len(refused) < len(answers)
    assert set(refused) == {Code.ARCHIVE_FULL}
    assert sum(path.stat().st_size for path in _segments(root)) <= limit


async def test_a_full_archive_that_is_moved_away_makes_room(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_bytes=5_000)
    assert await _code(store.put(page("big", os.urandom(9_000)))) is Code.ARCHIVE_FULL
    await store.put(page("a", os.urandom(3_000)))
    assert await _code(store.put(page("b", os.urandom(3_000)))) is Code.ARCHIVE_FULL
    await store.aclose()
    shutil.move(root, root.with_name("old"))
    await open_store(max_bytes=5_000).put(page("b", os.urandom(3_000)))


async def test_a_record_over_the_record_limit_is_refused_alone(open_store: OpenStore) -> None:
    store = open_store(max_record_bytes=3 * 1024**2)
    answers = await asyncio.gather(
        store.put(page("big", b"x" * (2 * 1024**2 + 1))), store.put(page("small")), return_exceptions=True
    )
    assert isinstance(answers[0], MudroomError)
    assert answers[0].code is Code.ARCHIVE_FULL
    assert (await store.get(answers[1].source_ref)).body == b"<p>hello"


async def test_an_index_that_is_lost_comes_back_from_the_segments(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_segment_bytes=1500)
    refs = [(await store.put(page(str(n)))).source_ref for n in range(8)]
    await store.aclose()
    before = {path: path.read_bytes() for path in _segments(root)}
    _lose_index(root)
    store = open_store()
    for ref in refs:
        assert (await store.get(ref)).source_ref == ref
    assert {path: path.read_bytes() for path in _segments(root)} == before


async def test_where_nothing_can_be_put_right_the_indexed_is_read_and_nothing_is_called_missing(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    kept = (await store.put(page("1"))).source_ref
    size = _segments(root)[0].stat().st_size
    lost = (await store.put(page("2"))).source_ref
    await store.aclose()
    _forget_rows(root, above=size)
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON snapshots BEGIN SELECT raise(ABORT, 'no'); END")
    db.close()
    store = open_store()
    assert (await store.get(kept)).body == b"<p>hello"
    for work in (store.get(lost), store.latest("page::https://example.org/1"), store.list("page::x")):
        assert await _code(work) is Code.STORE_UNAVAILABLE


async def test_a_rebuilt_index_equals_the_one_that_was_lost(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_segment_bytes=1500)
    for number in range(8):
        await store.put(page(str(number), b"x" * number, run_id=f"crawl_{number % 2}"))
    await store.aclose()
    before = _index_rows(root)
    assert len(before) == 8
    rebuild_index(root)
    assert _index_rows(root) == before


def _index_rows(root: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(root / "index.sqlite") as db:
        rows = db.execute(
            "SELECT name, record, source, fetched_at, sha256, offset, length, content_bytes, run_id"
            " FROM snapshots JOIN segments ON segments.id = segment ORDER BY name, offset"
        ).fetchall()
    db.close()
    return rows


async def test_a_rebuilt_index_says_what_is_damaged_and_cuts_nothing_acknowledged(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    refs, ends = [], []
    for number in range(4):
        refs.append((await store.put(page(str(number)))).source_ref)
        ends.append(_segments(root)[0].stat().st_size)
    await store.aclose()
    segment = _segments(root)[0]
    data = bytearray(segment.read_bytes())
    data[ends[1] + 50] ^= 1  # in the third
    data[-20] ^= 1  # in the last
    segment.write_bytes(data)
    report = rebuild_index(root)
    assert (report.segment_count, report.record_count, report.damaged) == (1, 2, (segment.name,))
    assert (report.lost_count, report.lost_by_run) == (2, ((page().run_id, 2),))
    assert segment.read_bytes() == bytes(data)
    store = open_store()
    for number in (0, 1):
        assert (await store.get(refs[number])).source_ref == refs[number]
    for number in (2, 3):
        assert await _code(store.get(refs[number])) is Code.SNAPSHOT_MISSING


async def test_an_index_is_not_rebuilt_under_a_writer(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page())
    with pytest.raises(MudroomError) as caught:
        rebuild_index(root)
    assert caught.value.code is Code.STORE_UNAVAILABLE


async def test_a_damaged_index_is_corrupt_and_can_be_rebuilt(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    ref = (await store.put(page())).source_ref
    await store.aclose()
    _lose_index(root)
    (root / "index.sqlite").write_bytes(b"this is no database" * 1000)
    store = open_store()
    assert await _code(store.get(ref)) is Code.SNAPSHOT_CORRUPT
    assert await _code(store.put(page("2"))) is Code.SNAPSHOT_CORRUPT
    assert rebuild_index(root).record_count == 1
    assert (await open_store().get(ref)).body == b"<p>hello"


async def test_an_archive_of_a_later_version_is_left_alone(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    ref = (await store.put(page())).source_ref
    await store.aclose()
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    store = open_store()
    for work in (store.get(ref), store.put(page("2"))):
        with pytest.raises(MudroomError, match="later version") as caught:
            await work
        assert caught.value.code is Code.STORE_UNAVAILABLE


async def test_other_files_in_the_folder_are_none_of_ours(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    ref = (await store.put(page())).source_ref
    await store.aclose()
    (root / "notes.txt").write_text("mine")
    (root / "other.warc.gz").write_bytes(b"no archive of mudroom's")
    (root / "mudroom-folder.warc.gz.d").mkdir()
    store = open_store()
    assert (await store.get(ref)).body == b"<p>hello"
    assert (root / "other.warc.gz").read_bytes() == b"no archive of mudroom's"


async def test_an_iteration_passes_from_page_to_page_and_tells_the_damaged(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store(is_synced=False)
    stored = await asyncio.gather(*(store.put(page(str(n), b"%d" % n, seconds=n % 7)) for n in range(1100)))
    data = bytearray(_segments(root)[0].read_bytes())
    data[-20] ^= 1
    _segments(root)[0].write_bytes(data)
    for records in (store.iterate_all(), store.iterate_run("crawl_1")):
        seen = [record async for record in records]
        damaged = [record for record in seen if isinstance(record, DamagedRecord)]
        assert {record.record_sha256 for record in seen} == {one.record_sha256 for one in stored}
        assert (len(seen), len(damaged)) == (1100, 1)
        assert damaged[0].failure.code is Code.SNAPSHOT_CORRUPT
    assert [record async for record in store.iterate_run("crawl_2")] == []


async def test_warcio_and_fastwarc_read_revisits_and_a_pruned_segment(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    body = b"<p>the same words</p>" * 40
    for number in range(4):
        await store.put(page(str(number), body, seconds=number))
        await store.put(page(body=b"%d" % number, seconds=number))
    await store.prune(PruneRule())
    await store.aclose()
    (segment,) = _segments(root)
    data = segment.read_bytes()
    seen = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        record.content_stream().read()
        assert record.digest_checker.passed is not False
        seen.append(record.rec_type)
        if record.rec_type == "revisit":
            assert record.rec_headers.get_header("WARC-Refers-To-Target-URI") == "https://example.org/0"
            assert record.http_headers.get_statuscode() == "200"
    assert seen.count("revisit") == 3
    assert seen == ["warcinfo"] + [kind for one in seen[1::2] for kind in (one, "metadata")]
    assert warcio_check(segment) == 0
    assert all(one.verify_block_digest() for one in FastIterator(io.BytesIO(data), parse_http=False))


def warcio_check(segment: Path) -> int:
    """The exit status of `warcio check`."""
    command = argparse.Namespace(inputs=[str(segment)], verbose=False)
    return Checker(command).process_all() or 0
