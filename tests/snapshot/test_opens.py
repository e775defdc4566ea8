"""How many records a look reads: `latest` of ten thousand opens one, or two for a revisit."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mudroom.errors import Code, MudroomError
from mudroom.snapshot import FileSnapshotStore, SnapshotOptions, prepare_snapshot
from mudroom.snapshot.disk import SystemDisk
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.index import IndexRow
from mudroom.snapshot.records import encode_span

from .conftest import FixedClock, page

SOURCE = "page::https://example.org/p"
RECORDS = 10_000


class Opens:
    """Counts what is opened while it is on; a hook of Python's own, which cannot be taken away again."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.names is not None and str(arguments[0]).endswith(".warc.gz"):
            self.names.append(str(arguments[0]))


OPENS = Opens()


def fill(root: Path) -> None:
    """Ten thousand records of one source, each of its own second, as a writer would leave them."""
    folder = ArchiveFolder(root, SnapshotOptions(), FixedClock(), SystemDisk(), os.urandom)
    segment = folder.new_segment()
    spans, rows, end = [], [], segment.file.end
    for number in range(RECORDS):
        prepared = prepare_snapshot(page(body=b"%d" % number, seconds=number % (RECORDS // 2)))
        span = encode_span(prepared, warcinfo_id=segment.warcinfo_id, gzip_level=0)
        rows.append(
            IndexRow(
                record_sha256=prepared.record_sha256,
                source_id=prepared.envelope.source_id,
                fetched_at=prepared.envelope.fetched_at,
                sha256=prepared.envelope.sha256,
                offset=end,
                length=len(span),
                content_bytes=len(prepared.body),
                run_id=prepared.run_id,
            )
        )
        spans.append(span)
        end += len(span)
    segment.file.append(spans, is_synced=False)
    assert folder.index.add(segment.key, rows, end=end) is None
    folder.release(segment)
    folder.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many") / "archive"
    fill(root)
    return root


@pytest.fixture
async def store(filled: Path) -> AsyncIterator[FileSnapshotStore]:
    opened = FileSnapshotStore(filled, SnapshotOptions(max_records_per_source=RECORDS))
    yield opened
    await opened.aclose()


async def opens_of(work: object) -> int:
    OPENS.names = []
    try:
        await work
        return len(OPENS.names)
    finally:
        OPENS.names = None


async def test_latest_of_ten_thousand_opens_one_record(store: FileSnapshotStore) -> None:
    await store.latest(SOURCE)  # the store itself is open from here on
    assert await opens_of(store.latest(SOURCE)) == 1
    newest = await store.latest(SOURCE)
    assert await opens_of(store.get(newest.source_ref)) == 1
    assert await opens_of(store.read_verified_head(SOURCE)) == 1
    witness = (await store.read_verified_head(SOURCE)).witness
    assert witness is not None
    assert await opens_of(store.compare_head_witness(witness)) == 0


async def test_the_ten_thousand_and_first_is_refused_and_opens_none(store: FileSnapshotStore) -> None:
    with pytest.raises(MudroomError) as caught:
        await store.put(page(body=b"one more", seconds=99_999))
    assert caught.value.code is Code.SNAPSHOT_HISTORY_FULL


async def test_latest_of_a_revisit_opens_two(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path / "archive")
    body = b"the same words " * 40
    await asyncio.gather(*(store.put(page(str(n), b"%d" % n)) for n in range(50)))
    await store.put(page("original", body))
    for n in range(20):
        await store.put(page(body=body, seconds=n))
    await store.latest(SOURCE)
    assert await opens_of(store.latest(SOURCE)) == 2
    await store.aclose()
