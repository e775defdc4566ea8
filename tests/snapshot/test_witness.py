"""The verified head of a source and the witness of it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.snapshot import (
    FileSnapshotStore,
    HeadState,
    HeadWitness,
    PruneRule,
    SnapshotOptions,
    VerifiedHead,
    WitnessLimits,
    WitnessState,
)
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.witness import verify_head

from .conftest import FaultyDisk, FixedClock, OpenStore, page

SOURCE = "page::https://example.org/p"
OTHER = "page::https://example.org/other"


def segments(root: Path) -> list[Path]:
    return sorted(root.glob("*.warc.gz"))


def alter(root: Path, statement: str) -> None:
    with sqlite3.connect(root / "index.sqlite") as db:
        db.execute(statement)
    db.close()


async def witness_of(store: FileSnapshotStore, source_id: str = SOURCE) -> HeadWitness:
    head = await store.read_verified_head(source_id)
    assert head.state is HeadState.FOUND
    assert head.witness is not None
    assert head.witness.source_ref == head.source_ref
    return head.witness


async def test_a_witness_matches_until_its_source_gets_another_record(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page(body=b"old"))
    newest = await store.put(page(body=b"new", seconds=1))
    witness = await witness_of(store)
    assert witness.source_ref == newest.source_ref
    assert await store.compare_head_witness(witness) is WitnessState.MATCHES
    assert await store.compare_head_witness(witness.as_record()) is WitnessState.MATCHES
    assert await open_store().compare_head_witness(witness) is WitnessState.MATCHES
    await open_store().put(page(body=b"newer", seconds=2))
    assert await store.compare_head_witness(witness) is WitnessState.CHANGED
    assert await store.compare_head_witness(await witness_of(store)) is WitnessState.MATCHES
    await store.aclose()
    assert await open_store().compare_head_witness(await witness_of(open_store())) is WitnessState.MATCHES


async def test_an_older_record_that_comes_late_changes_the_source_too(open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page(body=b"new", seconds=9))
    witness = await witness_of(store)
    await store.put(page(body=b"old", seconds=1))
    assert (await witness_of(store)).source_ref == witness.source_ref
    assert await store.compare_head_witness(witness) is WitnessState.CHANGED


async def test_what_other_sources_write_and_fill_changes_nothing(root: Path, open_store: OpenStore) -> None:
    store = open_store(max_segment_bytes=3_000)
    await store.put(page())
    witness = await witness_of(store)
    for number in range(12):
        await store.put(page(str(number), os.urandom(400)))
        assert await store.compare_head_witness(witness) is WitnessState.MATCHES
    assert len(segments(root)) > 2
    await store.aclose()
    assert await open_store().compare_head_witness(witness) is WitnessState.MATCHES


async def test_a_record_that_a_prune_moved_or_took_changes_the_source(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page(body=b"old"))
    await store.put(page(body=b"new", seconds=1))
    witness = await witness_of(store)
    await store.prune(PruneRule())
    assert await store.compare_head_witness(witness) is WitnessState.CHANGED
    assert (await witness_of(store)).source_ref == witness.source_ref


async def test_a_source_that_is_not_there_is_missing(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    assert await store.read_verified_head(SOURCE) == VerifiedHead(state=HeadState.MISSING)
    await store.put(page("other"))
    witness = await witness_of(store, OTHER)
    assert (await store.read_verified_head(SOURCE)).state is HeadState.MISSING
    gone = HeadWitness.from_record(
        witness.as_record() | {"source_id": SOURCE, "source_ref": (await store.prepare(page())).source_ref}
    )
    assert gone is not None
    assert await store.compare_head_witness(gone) is WitnessState.MISSING


_AS_NOBODY = """
    import asyncio, os, pathlib, sys
    from tests.snapshot.conftest import page
    from mudroom.snapshot import FileSnapshotStore

    async def main():
        if os.geteuid() == 0:  # root may read anything
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        root = pathlib.Path(sys.argv[1]) / "private" / "archive"
        store = FileSnapshotStore(root)
        await store.put(page())
        witness = (await store.read_verified_head("page::https://example.org/p")).witness
        await store.aclose()
        for segment in root.glob("*.warc.gz"):
            segment.chmod(0)
        store = FileSnapshotStore(root)
        print(await store.compare_head_witness(witness), end=" ")
        print((await store.read_verified_head("page::https://example.org/p")).state)
        await store.aclose()

    asyncio.run(main())
"""


async def test_an_unreadable_segment_is_compared_and_not_verified() -> None:
    with tempfile.TemporaryDirectory() as folder:
        await asyncio.to_thread(Path(folder).chmod, 0o777)  # another user has to make an archive in it
        where = Path(__file__).parents[2]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            textwrap.dedent(_AS_NOBODY),
            folder,
            env={"PYTHONPATH": f"{where / 'src'}:{where}", "PATH": os.environ["PATH"]},
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    assert out.decode().split() == ["matches", "unavailable"]


@pytest.mark.parametrize(
    "limits",
    [
        WitnessLimits(max_entries=0),
        WitnessLimits(max_entries=1),
        WitnessLimits(max_index_bytes=0),
        WitnessLimits(max_index_bytes=600),
        WitnessLimits(max_body_bytes=0),
        WitnessLimits(max_body_bytes=3),
    ],
)
async def test_what_passes_a_limit_is_unavailable(open_store: OpenStore, limits: WitnessLimits) -> None:
    store = open_store()
    await store.put(page(body=b"old"))
    await store.put(page(body=b"newer", seconds=1))
    witness = await witness_of(store)
    assert await store.read_verified_head(SOURCE, limits) == VerifiedHead(state=HeadState.UNAVAILABLE)
    compared = await store.compare_head_witness(witness, limits)
    is_of_body = limits.max_body_bytes < 10
    assert compared is (WitnessState.MATCHES if is_of_body else WitnessState.UNAVAILABLE)


@pytest.mark.parametrize(
    "limits",
    [
        WitnessLimits(max_entries=10_001),
        WitnessLimits(max_entries=-1),
        WitnessLimits(max_index_bytes=10**12),
        WitnessLimits(max_body_bytes=1024**3 + 1),
        WitnessLimits(max_entries=True),
        WitnessLimits(max_entries=1.5),
        WitnessLimits(max_entries="5"),
    ],
)
async def test_a_limit_that_is_raised_or_no_number_is_unsupported(
    open_store: OpenStore, limits: WitnessLimits
) -> None:
    store = open_store()
    await store.put(page())
    witness = await witness_of(store)
    assert (await store.read_verified_head(SOURCE, limits)).state is HeadState.UNSUPPORTED
    assert await store.compare_head_witness(witness, limits) is WitnessState.UNSUPPORTED


@pytest.mark.parametrize(
    "source_id",
    ["", "p", "page:https://x/", "pages::https://x/", "page::", "page::\n", "page::" + "x" * 9000, 5],
)
async def test_what_is_no_source_is_unsupported(open_store: OpenStore, source_id: str) -> None:
    store = open_store()
    await store.put(page())
    assert (await store.read_verified_head(source_id)).state is HeadState.UNSUPPORTED


async def test_a_witness_that_is_none_is_unsupported(open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page())
    good = (await witness_of(store)).as_record()
    bad: list[object] = [None, "", [], {}, 5, good | {"more": "x"}]
    bad += [{key: value for key, value in good.items() if key != left} for left in good]
    bad += [good | {key: 5} for key in good]
    bad += [
        good | {"format": "mudroom.source-head-witness/2"},
        good | {"token": good["token"].upper()},
        good | {"token": good["token"] + "\n"},
        good | {"token": good["token"][1:]},
        good | {"source_ref": good["source_ref"] + "&x=y"},
        good | {"source_id": OTHER},
    ]
    for one in bad:
        assert await store.compare_head_witness(one) is WitnessState.UNSUPPORTED, one
    changed = good | {"token": "0" * 64}
    assert await store.compare_head_witness(changed) is WitnessState.CHANGED


def swap_root_for_link(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    root.symlink_to(root.parent / "elsewhere", target_is_directory=True)


def swap_root_for_copy(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    root.mkdir()


def swap_index(root: Path) -> None:
    (root / "index.sqlite").rename(root.parent / "old")
    (root / "index.sqlite").write_bytes((root.parent / "old").read_bytes())


def swap_segment_for_link(root: Path) -> None:
    (segment,) = segments(root)
    segment.rename(root.parent / "segment")
    segment.symlink_to(root.parent / "segment")


def remove_segment(root: Path) -> None:
    segments(root)[0].unlink()


def truncate_segment(root: Path) -> None:
    os.truncate(segments(root)[0], segments(root)[0].stat().st_size - 1)


def lose_segment_row(root: Path) -> None:
    alter(root, "DELETE FROM segments")


@pytest.mark.parametrize(
    "harm",
    [
        swap_root_for_link,
        swap_root_for_copy,
        swap_index,
        swap_segment_for_link,
        remove_segment,
        truncate_segment,
        lose_segment_row,
    ],
)
async def test_what_was_swapped_or_lost_is_corrupt(
    root: Path, open_store: OpenStore, harm: Callable[[Path], None]
) -> None:
    store = open_store()
    await store.put(page())
    witness = await witness_of(store)
    harm(root)
    assert await store.compare_head_witness(witness) is WitnessState.CORRUPT
    assert (await store.read_verified_head(SOURCE)).state is HeadState.CORRUPT


async def test_a_segment_replaced_by_a_copy_of_itself_is_changed(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page())
    witness = await witness_of(store)
    (segment,) = segments(root)
    copy = root / "copy"
    copy.write_bytes(segment.read_bytes())
    copy.replace(segment)
    assert await store.compare_head_witness(witness) is WitnessState.CHANGED
    await witness_of(store)


async def test_a_damaged_head_is_corrupt_and_an_old_damaged_record_is_not_looked_at(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page(body=b"old"))
    end = segments(root)[0].stat().st_size
    await store.put(page(body=b"new", seconds=1))
    for position, state in ((end - 60, HeadState.FOUND), (-60, HeadState.CORRUPT)):
        data = bytearray(segments(root)[0].read_bytes())
        data[position] ^= 1
        segments(root)[0].write_bytes(data)
        assert (await store.read_verified_head(SOURCE)).state is state


async def test_an_index_that_lost_a_row_or_cannot_be_made_whole_is_unavailable(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page(body=b"old"))
    await store.put(page(body=b"new", seconds=1))
    witness = await witness_of(store)
    alter(root, "DELETE FROM snapshots WHERE fetched_at LIKE '%:01.000Z'")
    assert await store.compare_head_witness(witness) is WitnessState.UNAVAILABLE
    assert (await store.read_verified_head(SOURCE)).state is HeadState.UNAVAILABLE


async def test_remains_that_cannot_be_put_right_make_the_source_unavailable(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    await store.put(page())
    witness = await witness_of(store)
    await store.aclose()
    with segments(root)[0].open("ab") as stream:
        stream.write(b"what a dead writer left")
    disk = FaultyDisk()
    disk.truncate_fault = OSError(5, "broken")
    store = open_store(disk)
    assert await store.compare_head_witness(witness) is WitnessState.UNAVAILABLE
    assert (await store.read_verified_head(SOURCE)).state is HeadState.UNAVAILABLE
    assert await open_store().compare_head_witness(witness) is WitnessState.MATCHES


async def test_a_change_between_the_two_looks_gives_no_witness(root: Path, open_store: OpenStore) -> None:
    store = open_store()
    await store.put(page())

    def look_with_a_put_between() -> None:
        folder = ArchiveFolder(root, SnapshotOptions(), FixedClock(), FaultyDisk(), os.urandom)
        history = folder.index.history

        def history_and_put(source_id: str, *, limit: int = -1) -> object:
            if limit == 1:
                asyncio.run(put_from_elsewhere(root))
            return history(source_id, limit=limit)

        folder.index.history = history_and_put  # type: ignore[method-assign]
        try:
            verify_head(folder, SOURCE, WitnessLimits())
        finally:
            folder.close()

    with pytest.raises(Exception, match="changed while it was looked at"):
        await asyncio.to_thread(look_with_a_put_between)


async def put_from_elsewhere(root: Path) -> None:
    other = FileSnapshotStore(root, SnapshotOptions(), FixedClock())
    await other.put(page(body=b"meanwhile", seconds=5))
    await other.aclose()


async def test_the_head_may_be_a_revisit_and_its_original_is_part_of_it(
    root: Path, open_store: OpenStore
) -> None:
    store = open_store()
    body = b"the same words " * 40
    await store.put(page("other", body))
    await store.put(page(body=body, seconds=1))
    witness = await witness_of(store)
    assert await store.compare_head_witness(witness) is WitnessState.MATCHES
    limits = replace(WitnessLimits(), max_body_bytes=len(body) - 1)
    assert (await store.read_verified_head(SOURCE, limits)).state is HeadState.UNAVAILABLE
