"""The one thread of a process that writes: it takes all that waits and syncs it once.

Append, sync, index, acknowledge, in this order. Whoever waits is answered: also when the thread ends.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import map_faults
from mudroom.snapshot.envelope import PreparedSnapshot, StoredSnapshot
from mudroom.snapshot.folder import ArchiveFolder, OpenSegment
from mudroom.snapshot.index import IndexRow
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.records import encode_span

__all__ = ["SnapshotWriter", "stored_of"]

_MAX_BATCH = 64
_MAX_BATCH_BYTES = 64 * 1024**2

Answer = StoredSnapshot | StoreFailed


@dataclass(slots=True, eq=False)
class _Waiting:
    """A snapshot in the queue, and who waits for it."""

    prepared: PreparedSnapshot
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[StoredSnapshot]
    answer: Answer | None = None


class SnapshotWriter:
    """Takes snapshots from any event loop and writes them in batches."""

    def __init__(self, open_folder: Callable[[], ArchiveFolder], options: SnapshotOptions) -> None:
        self._open_folder = open_folder
        self._options = options
        self._changed = threading.Condition()
        self._queue: deque[_Waiting] = deque()
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._folder: ArchiveFolder | None = None
        self._segment: OpenSegment | None = None

    async def write(self, prepared: PreparedSnapshot) -> StoredSnapshot:
        """The snapshot once it is kept. A caller that is cancelled meanwhile may find it kept or not."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(prepared=prepared, loop=loop, future=loop.create_future())
        with self._changed:
            if self._is_closing:
                raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive was closed")
            self._queue.append(waiting)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mudroom-archive", daemon=True)
                self._thread.start()
            self._changed.notify()
        return await waiting.future

    def close(self) -> None:
        """Write what waits, let the segment go, end the thread. Blocks; a second call does nothing."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while batch := self._take():
                try:
                    self._write_batch(batch)
                finally:
                    _deliver(batch)
            self._let_go()
        finally:
            # Reached with work left only by a fault of our own: nobody may wait for ever.
            with self._changed:
                self._is_closing = True
                left = list(self._queue)
                self._queue.clear()
            _answer(left, StoreFailed(Code.STORE_UNAVAILABLE, "the archive's writer has ended"))
            _deliver(left)

    def _take(self) -> list[_Waiting]:
        """What waits, up to a bound; empty when the store is closing and nothing is left."""
        batch: list[_Waiting] = []
        size = 0
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closing)
            while self._queue and len(batch) < _MAX_BATCH and size < _MAX_BATCH_BYTES:
                batch.append(self._queue.popleft())
                size += len(batch[-1].prepared.body)
        return batch

    def _write_batch(self, batch: list[_Waiting]) -> None:
        """Give each of the batch its answer."""
        is_done = False
        try:
            self._keep(batch)
            is_done = True
        except StoreFailed as failure:
            _answer(batch, failure)
        finally:
            if not is_done:
                _answer(batch, StoreFailed(Code.STORE_UNAVAILABLE, "the archive's writer has failed"))

    def _keep(self, batch: list[_Waiting]) -> None:
        if self._folder is None:
            self._folder = self._open_folder()
        folder = self._folder
        with map_faults(folder.root):
            waiting = self._without_known(folder, batch)
            if not waiting:
                return
            if self._segment is None:
                self._segment = folder.take_segment()
            segment = self._segment
            spans = self._encode(segment, waiting)
            is_kept = False
            try:
                self._append(folder, segment, spans)
                is_kept = True
            finally:
                if not is_kept:
                    self._abandon()
            if segment.file.end >= self._options.max_segment_bytes:
                self._segment = None
                folder.release(segment)

    def _without_known(self, folder: ArchiveFolder, batch: Iterable[_Waiting]) -> list[_Waiting]:
        """Those whose record is not indexed yet; the others are answered."""
        fresh: list[_Waiting] = []
        for waiting in batch:
            if folder.index.holds(waiting.prepared.record_sha256):
                waiting.answer = stored_of(waiting.prepared, is_new=False)
            else:
                fresh.append(waiting)
        return fresh

    def _encode(self, segment: OpenSegment, batch: list[_Waiting]) -> list[tuple[list[_Waiting], bytes]]:
        """The spans to write, each with those who wait for it; what cannot be encoded is answered."""
        by_record: dict[str, list[_Waiting]] = {}
        for waiting in batch:
            by_record.setdefault(waiting.prepared.record_sha256, []).append(waiting)
        spans: list[tuple[list[_Waiting], bytes]] = []
        for same in by_record.values():
            prepared = same[0].prepared
            if len(prepared.body) + len(prepared.raw_header) > self._options.max_record_bytes - 1024**2:
                limit = self._options.max_record_bytes
                _answer(same, StoreFailed(Code.ARCHIVE_FULL, f"one record may hold {limit} bytes"))
                continue
            span = encode_span(prepared, warcinfo_id=segment.warcinfo_id, gzip_level=self._options.gzip_level)
            spans.append((same, span))
        return spans

    def _append(
        self, folder: ArchiveFolder, segment: OpenSegment, spans: list[tuple[list[_Waiting], bytes]]
    ) -> None:
        fitting: list[tuple[list[_Waiting], bytes]] = []
        end = segment.file.end
        for same, span in spans:
            try:
                folder.reserve(segment, end + len(span))
            except StoreFailed as failure:
                _answer(same, failure)
                continue
            fitting.append((same, span))
            end += len(span)
        if not fitting:
            return
        offset = segment.file.end
        segment.file.append([span for _, span in fitting], is_synced=self._options.is_synced)
        rows: list[IndexRow] = []
        for same, span in fitting:
            rows.append(_index_row(same[0].prepared, offset, len(span)))
            offset += len(span)
        _index_or_cut(folder, segment, rows, offset)
        for same, _ in fitting:
            for number, waiting in enumerate(same):
                waiting.answer = stored_of(waiting.prepared, is_new=number == 0)

    def _abandon(self) -> None:
        """Let a segment go after an error; it is put right when it is taken up again."""
        if self._segment is not None:
            self._segment.file.close()
            self._segment = None

    def _let_go(self) -> None:
        if self._folder is None:
            return
        # All is acknowledged or refused by now; what cannot be noted here is noted at the next start.
        with suppress(OSError, sqlite3.Error):
            if self._segment is not None:
                self._folder.release(self._segment)
        self._folder.close()


def _index_or_cut(folder: ArchiveFolder, segment: OpenSegment, rows: list[IndexRow], end: int) -> None:
    """Index what was appended. Where the index has no room for it, the records give theirs back."""
    try:
        folder.index.add(segment.key, rows, end=end)
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_FULL:
            segment.file.cut(rows[0].offset)
        raise


def stored_of(prepared: PreparedSnapshot, *, is_new: bool) -> StoredSnapshot:
    """What the archive says of a snapshot that it holds."""
    return StoredSnapshot(
        source_ref=prepared.source_ref,
        source_id=prepared.envelope.source_id,
        record_sha256=prepared.record_sha256,
        sha256=prepared.envelope.sha256,
        fetched_at=prepared.envelope.fetched_at,
        size_bytes=len(prepared.body),
        is_new=is_new,
    )


def _index_row(prepared: PreparedSnapshot, offset: int, length: int) -> IndexRow:
    return IndexRow(
        record_sha256=prepared.record_sha256,
        source_id=prepared.envelope.source_id,
        fetched_at=prepared.envelope.fetched_at,
        sha256=prepared.envelope.sha256,
        offset=offset,
        length=length,
        content_bytes=len(prepared.body),
        run_id=prepared.run_id,
    )


def _answer(batch: Iterable[_Waiting], failure: StoreFailed) -> None:
    """Give the failure to all who have no answer."""
    for waiting in batch:
        if waiting.answer is None:
            waiting.answer = failure


def _deliver(batch: list[_Waiting]) -> None:
    """Wake the callers, each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting]] = {}
    for waiting in batch:
        by_loop.setdefault(waiting.loop, []).append(waiting)
    for loop, group in by_loop.items():
        # A loop that has ended has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, group)


def _settle(group: list[_Waiting]) -> None:
    for waiting in group:
        if waiting.future.done():
            continue
        if isinstance(waiting.answer, StoredSnapshot):
            waiting.future.set_result(waiting.answer)
        elif waiting.answer is not None:
            waiting.future.set_exception(StoreFailed(waiting.answer.code, waiting.answer.message))
