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
from mudroom.snapshot.batch import Answer, stored_of, write_batch
from mudroom.snapshot.disk import map_faults
from mudroom.snapshot.envelope import PreparedSnapshot, StoredSnapshot
from mudroom.snapshot.folder import ArchiveFolder, OpenSegment
from mudroom.snapshot.options import SnapshotOptions

__all__ = ["SnapshotWriter"]

_MAX_BATCH = 64
_MAX_BATCH_BYTES = 64 * 1024**2


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
        self._yielded: threading.Event | None = None
        """Set once the segment was let go; there while somebody wants it."""
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

    def yield_segment(self) -> None:
        """Let the segment that we write to go, so that it can be pruned. Blocks; the next put takes one again."""
        with self._changed:
            if self._thread is None or self._is_closing:
                return
            self._yielded = yielded = self._yielded or threading.Event()
            self._changed.notify()
        yielded.wait()

    def close(self) -> None:
        """Write what waits, let the segment go, end the thread. Blocks; a second call does nothing."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                batch, is_yielding = self._take()
                try:
                    self._write_batch(batch)
                finally:
                    _deliver(batch)
                if is_yielding:
                    self._yield_segment()
                elif not batch:
                    break
            self._let_go()
        finally:
            # Reached with work left only by a fault of our own: nobody may wait for ever.
            with self._changed:
                self._is_closing = True
                left = list(self._queue)
                self._queue.clear()
                if self._yielded is not None:
                    self._yielded.set()
            _answer(left, StoreFailed(Code.STORE_UNAVAILABLE, "the archive's writer has ended"))
            _deliver(left)

    def _take(self) -> tuple[list[_Waiting], bool]:
        """What waits, up to a bound, and whether the segment is wanted; neither when the store is closing."""
        batch: list[_Waiting] = []
        size = 0
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closing or self._yielded is not None)
            while self._queue and len(batch) < _MAX_BATCH and size < _MAX_BATCH_BYTES:
                batch.append(self._queue.popleft())
                size += len(batch[-1].prepared.body)
            return batch, self._yielded is not None

    def _yield_segment(self) -> None:
        with suppress(OSError, sqlite3.Error):  # then it is put right by who takes it up
            self._release()
        with self._changed:
            yielded, self._yielded = self._yielded, None
        if yielded is not None:
            yielded.set()

    def _write_batch(self, batch: list[_Waiting]) -> None:
        """Give each of the batch its answer."""
        if not batch:
            return
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
            is_kept = False
            try:
                prepared = {record: same[0].prepared for record, same in waiting.items()}
                answers = write_batch(folder, segment, self._options, prepared)
                is_kept = True
            finally:
                if not is_kept:
                    self._abandon()
            for record, answer in answers.items():
                _share(waiting[record], answer)
            if segment.file.end >= self._options.max_segment_bytes:
                self._release()

    def _without_known(self, folder: ArchiveFolder, batch: Iterable[_Waiting]) -> dict[str, list[_Waiting]]:
        """Those whose record is not indexed yet, by record; the others are answered."""
        fresh: dict[str, list[_Waiting]] = {}
        for waiting in batch:
            record = waiting.prepared.record_sha256
            if record not in fresh and folder.index.holds(record):
                waiting.answer = stored_of(waiting.prepared, is_new=False)
            else:
                fresh.setdefault(record, []).append(waiting)
        return fresh

    def _abandon(self) -> None:
        """Let a segment go after an error; it is put right when it is taken up again."""
        if self._segment is not None:
            self._segment.file.close()
            self._segment = None

    def _release(self) -> None:
        """Let a segment go in good order."""
        segment, self._segment = self._segment, None
        if segment is not None and self._folder is not None:
            self._folder.release(segment)

    def _let_go(self) -> None:
        if self._folder is None:
            return
        # All is acknowledged or refused by now; what cannot be noted here is noted at the next start.
        with suppress(OSError, sqlite3.Error):
            self._release()
        self._folder.close()


def _share(same: list[_Waiting], answer: Answer) -> None:
    """Give all who wait for one record its answer; it is new to the first of them."""
    for number, waiting in enumerate(same):
        is_later = number > 0 and isinstance(answer, StoredSnapshot)
        waiting.answer = stored_of(waiting.prepared, is_new=False) if is_later else answer


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
