"""Runs in a workspace on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from mudroom.clock import Clock, SystemClock, format_time
from mudroom.corpus.file_sink import RUNS_FOLDER, FileSink
from mudroom.corpus.files import map_faults, open_below
from mudroom.corpus.manifest import ManifestHead, summarise_damaged
from mudroom.corpus.naming import is_run_id, newest_first, resolve_name
from mudroom.corpus.reading import (
    lock_run,
    read_findings,
    read_manifest,
    read_metadata,
    read_remains,
    read_run_summary,
    read_sources,
    read_stored,
)
from mudroom.corpus.recorder import RunRecorder
from mudroom.corpus.records import RunSummary, RunVersions, StoredPage
from mudroom.corpus.reopening import ReopenedRun
from mudroom.corpus.rescreening import Rescreening, apply_rescreening
from mudroom.corpus.run_folder import FolderFiles
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.model import RunKind, format_run_id

__all__ = ["FileCorpus"]

_Answer = TypeVar("_Answer")


class FileCorpus:
    """Runs in a folder. All its work on disk is done in order by one thread, none of it by the event loop."""

    def __init__(
        self,
        workspace: Path,
        versions: RunVersions,
        clock: Clock | None = None,
        *,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._workspace = workspace
        self._versions = versions
        self._clock = clock or SystemClock()
        self._randomness = randomness
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mudroom-corpus")
        self._is_closed = False

    async def begin_run(self, kind: RunKind, root_url: str, options: Mapping[str, Any]) -> RunRecorder:
        """A new run with an id of its own, its first manifest written. Cancelled, there is no such run."""
        self._check_open()
        now = self._clock.now()
        run_id = format_run_id(kind, now, self._randomness(10))
        head = ManifestHead(
            run_id=run_id,
            kind=kind,
            root_url=root_url,
            options=options,
            started_at=format_time(now),
            versions=self._versions.as_record(),
        )
        begun = self._thread.submit(self._begin_now, head)
        try:
            run, _ = await asyncio.wrap_future(begun)
        except asyncio.CancelledError:
            # The thread may be at it, or done: what it made is in nobody's hands.
            begun.add_done_callback(_discard_begun)
            raise
        return run

    def _begin_now(self, head: ManifestHead) -> tuple[RunRecorder, FileSink]:
        sink = FileSink(self._workspace, head.run_id)
        folder = self._workspace / RUNS_FOLDER / head.run_id
        run = RunRecorder(head, sink, self._clock, self._do, folder)
        is_begun = False
        try:
            run.begin()
            is_begun = True
        finally:
            if not is_begun:
                sink.discard()
        return run, sink

    async def reopen_run(self, run_id: str, *, given_up: Collection[Code] = ()) -> ReopenedRun:
        """A run that did not come to its end, to go on with; without the pages that ended with such a code."""
        return await self._do(lambda: self._reopen_now(run_id, given_up))

    def _reopen_now(self, run_id: str, given_up: Collection[Code]) -> ReopenedRun:
        with lock_run(self._workspace, run_id):
            remains = read_remains(self._workspace, run_id, given_up)
            sink = FileSink(self._workspace, run_id, remains.list_lines())
            is_begun = False
            try:
                folder = self._workspace / RUNS_FOLDER / run_id
                head = remains.make_head(self._versions.as_record())
                run = remains.resume(RunRecorder(head, sink, self._clock, self._do, folder))
                is_begun = True
            finally:
                if not is_begun:
                    sink.abandon()
        return run

    async def list_runs(self, *, limit: int = 100) -> Sequence[RunSummary]:
        """The newest runs, newest first. Reads the head of each manifest."""
        return await self._do(lambda: self._list_now(limit))

    async def summarise_run(self, run_id: str) -> RunSummary:
        """One run as in the list; a damaged one too."""
        return await self._do(lambda: self._summarise(run_id))

    async def resolve_run(self, untrusted_name: str) -> str:
        """The run id that `@last`, an id, or a prefix of one id alone names."""
        return await self._do(lambda: resolve_name(untrusted_name, self._run_ids()))

    async def read_manifest(self, run_id: str) -> dict[str, Any]:
        """The run's manifest; of one that was killed, with all that it had recorded."""
        return await self._do(lambda: read_manifest(self._workspace, run_id))

    async def read_metadata(self, run_id: str, number: int) -> dict[str, Any]:
        """What is known of one page of a run."""
        return await self._do(lambda: read_metadata(self._workspace, run_id, number))

    async def read_sources(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What a run asked for beside its pages."""
        return await self._do(lambda: read_sources(self._workspace, run_id))

    async def read_findings(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What was found in a run's pages."""
        return await self._do(lambda: read_findings(self._workspace, run_id))

    async def rescreen(self, run_id: str, pages: Sequence[Rescreening]) -> None:
        """Record new verdicts on accepted documents; what is no longer accepted leaves pages/."""
        at = format_time(self._clock.now())

        def apply() -> None:
            with lock_run(self._workspace, run_id) as folder:
                apply_rescreening(FolderFiles(folder), run_id, pages, at)

        await self._do(apply)

    async def read_document(self, run_id: str, number: int) -> StoredPage:
        """An accepted document, exactly as it was scanned."""
        return await self._do(lambda: read_stored(self._workspace, run_id, number))

    async def aclose(self) -> None:
        """Let the thread go; a second call does nothing."""
        self._is_closed = True
        await asyncio.to_thread(self._thread.shutdown)

    async def _do(self, work: Callable[[], _Answer]) -> _Answer:
        """The answer of the thread. Work that was begun is done to its end, also when nobody waits any more."""
        self._check_open()
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the workspace was closed")

    def _run_ids(self) -> list[str]:
        with map_faults(self._workspace), suppress(FileNotFoundError):
            folder = open_below(self._workspace, RUNS_FOLDER)
            try:
                names = os.listdir(folder)  # noqa: PTH208 - of the folder itself, whatever stands at its path
            finally:
                os.close(folder)
            return [name for name in names if is_run_id(name)]
        return []

    def _list_now(self, limit: int) -> list[RunSummary]:
        return [self._summarise(run_id) for run_id in newest_first(self._run_ids())[:limit]]

    def _summarise(self, run_id: str) -> RunSummary:
        try:
            return read_run_summary(self._workspace, run_id)
        except NotFound:
            return summarise_damaged(run_id)
        except StoreFailed as failure:
            if failure.code is not Code.SNAPSHOT_CORRUPT:
                raise
            return summarise_damaged(run_id)


def _discard_begun(begun: Future[tuple[RunRecorder, FileSink]]) -> None:
    """Take a run back that nobody waits for any more, if it came to be."""
    if not begun.cancelled() and begun.exception() is None:
        begun.result()[1].discard()
