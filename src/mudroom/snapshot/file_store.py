"""The archive on disk: WARC segments, one writer each, and their index."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from mudroom.clock import Clock, SystemClock
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.snapshot.compaction import Reclaimed, reclaim, report_of
from mudroom.snapshot.disk import Disk, SystemDisk, map_faults
from mudroom.snapshot.envelope import (
    PreparedSnapshot,
    Snapshot,
    SnapshotInput,
    StoredSnapshot,
    prepare_snapshot,
)
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.iteration import AllRecords, RecordsOfRun, group_rows
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.pruning import PruneReport, PruneRule, take_out
from mudroom.snapshot.reading import (
    ArchivedRecord,
    DamagedRecord,
    find_in_run,
    history_of,
    read_archived,
    read_latest,
    read_snapshot,
)
from mudroom.snapshot.reference import parse_source_ref
from mudroom.snapshot.witness import (
    HeadState,
    HeadWitness,
    VerifiedHead,
    WitnessLimits,
    WitnessState,
    compare_head,
    failed_comparison,
    failed_head,
    is_source_id,
    verify_head,
)
from mudroom.snapshot.writer import SnapshotWriter

__all__ = ["FileSnapshotStore"]

_Answer = TypeVar("_Answer")

_HASHED_IN_THE_LOOP_BYTES = 256 * 1024  # about 0.2 ms of SHA-256


class FileSnapshotStore:
    """Snapshots in a folder that several processes may write and read at once.

    Nothing is made on disk before the first snapshot is kept. Any number of event loops may share a store.
    """

    def __init__(
        self,
        root: Path,
        options: SnapshotOptions | None = None,
        clock: Clock | None = None,
        *,
        disk: Disk | None = None,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._root = root
        self._options = options or SnapshotOptions()
        self._clock = clock or SystemClock()
        self._disk = disk or SystemDisk()
        self._randomness = randomness
        self._writer = SnapshotWriter(self._open_to_write, self._options)
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mudroom-archive-reader")
        self._reading: ArchiveFolder | None = None
        self._is_closed = False

    async def prepare(self, snapshot: SnapshotInput) -> PreparedSnapshot:
        """The snapshot with its reference, nothing written."""
        if len(snapshot.body) <= _HASHED_IN_THE_LOOP_BYTES:
            return prepare_snapshot(snapshot)
        return await asyncio.to_thread(prepare_snapshot, snapshot)

    async def commit(self, prepared: PreparedSnapshot) -> StoredSnapshot:
        """The snapshot, once it is synced and indexed. The same record a second time is a success."""
        return await self._writer.write(prepared)

    async def put(self, snapshot: SnapshotInput) -> StoredSnapshot:
        """`prepare` and `commit` in one."""
        return await self.commit(await self.prepare(snapshot))

    async def get(self, source_ref: str) -> Snapshot:
        """The one snapshot that the reference names."""
        parse_source_ref(source_ref)
        return await self._read(lambda folder: read_snapshot(folder, source_ref))

    async def latest(self, source_id: str) -> Snapshot:
        """The newest snapshot of a source; reads and judges no other."""
        return await self._read(lambda folder: read_latest(folder, source_id))

    async def list(self, source_id: str) -> tuple[StoredSnapshot, ...]:
        """All snapshots of a source, newest first; reads and judges each."""
        try:
            return await self._read(lambda folder: history_of(folder, source_id))
        except NotFound:
            return ()  # nothing was ever kept here

    async def find_in_run(self, run_id: str, source_id: str) -> tuple[StoredSnapshot, ...]:
        """What a run took of a source, oldest first; reads and judges each."""
        try:
            return await self._read(lambda folder: find_in_run(folder, run_id, source_id))
        except NotFound:
            return ()

    def iterate_run(self, run_id: str) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All that a run took, in order of time, each read and judged; the damaged are told, never skipped."""
        return self._iterate(RecordsOfRun(run_id))

    def iterate_all(self) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All records in the order in which they were kept."""
        return self._iterate(AllRecords())

    async def list_run_ids(self) -> tuple[str, ...]:
        """The runs that any record is of, in order of their ids."""
        try:
            return await self._read(lambda folder: tuple(folder.index.run_ids()))
        except NotFound:
            return ()

    async def read_verified_head(self, source_id: str, limits: WitnessLimits | None = None) -> VerifiedHead:
        """The newest record of a source, verified, with a witness of it; or which of four things hindered it."""
        limits = limits or WitnessLimits()
        if not is_source_id(source_id) or not limits.is_supported():
            return VerifiedHead(state=HeadState.UNSUPPORTED)
        try:
            return await self._read(lambda folder: verify_head(folder, source_id, limits))
        except (StoreFailed, NotFound) as failure:
            return failed_head(failure)

    async def compare_head_witness(
        self, witness: HeadWitness | Mapping[str, str], limits: WitnessLimits | None = None
    ) -> WitnessState:
        """Whether the source is still as its witness says; no record is read, and no new head named."""
        limits = limits or WitnessLimits()
        known = HeadWitness.from_record(witness)
        if known is None or not limits.is_supported():
            return WitnessState.UNSUPPORTED
        try:
            return await self._read(lambda folder: compare_head(folder, known, limits))
        except (StoreFailed, NotFound) as failure:
            return failed_comparison(failure)

    async def prune(self, rule: PruneRule) -> PruneReport:
        """Remove what the rule gives up, beside whoever reads and writes, and give the room back."""
        if self._is_closed:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive was closed")
        return await asyncio.to_thread(self._prune_now, rule)

    async def aclose(self) -> None:
        """Finish what waits and let go; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        await asyncio.to_thread(self._writer.close)
        if self._reading is not None:
            await asyncio.get_running_loop().run_in_executor(self._reader, self._reading.close)
        self._reader.shutdown()

    async def _iterate(
        self, pages: RecordsOfRun | AllRecords
    ) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        while True:
            try:
                rows = await self._read(lambda folder: pages.next_page(folder.index))
            except NotFound:
                return  # nothing was ever kept here
            if not rows:
                return
            for group in group_rows(rows):
                for record in await self._read(partial(read_archived, rows=group)):
                    yield record

    async def _read(self, work: Callable[[ArchiveFolder], _Answer]) -> _Answer:
        if self._is_closed:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive was closed")
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._read_now, work)

    def _read_now(self, work: Callable[[ArchiveFolder], _Answer]) -> _Answer:
        with map_faults(self._root):
            if self._reading is None:
                if not os.path.lexists(self._root):
                    raise NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")
                self._reading = self._open_to_read()
            return work(self._reading)

    def _prune_now(self, rule: PruneRule) -> PruneReport:
        if not os.path.lexists(self._root):
            return PruneReport(removed=0, retained=0, removed_bytes=0, is_dry_run=rule.is_dry_run)
        folder = self._open_to_write()
        try:
            with map_faults(self._root):
                tally = take_out(folder.index, rule)
                if rule.is_dry_run:
                    return report_of(tally, Reclaimed(), is_dry_run=True)
                self._writer.yield_segment()
                return report_of(tally, reclaim(folder, self._options))
        finally:
            folder.close()

    def _open_to_write(self) -> ArchiveFolder:
        with map_faults(self._root):
            folder = self._open()
            is_kept = False
            try:
                folder.recover()
                is_kept = True
            finally:
                if not is_kept:
                    folder.close()
        return folder

    def _open_to_read(self) -> ArchiveFolder:
        """The folder, also where nothing can be put right in it: on a full disk what is indexed is read."""
        folder = self._open()
        try:
            with map_faults(self._root):
                folder.recover()
        except StoreFailed as failure:
            folder.unrecovered = failure
        return folder

    def _open(self) -> ArchiveFolder:
        return ArchiveFolder(self._root, self._options, self._clock, self._disk, self._randomness)
