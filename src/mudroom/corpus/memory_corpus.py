"""Runs in memory: the same promises, gone with the process."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mudroom.clock import Clock, SystemClock, format_time
from mudroom.corpus.manifest import ManifestHead, read_summary
from mudroom.corpus.naming import newest_first, resolve_name, run_not_found
from mudroom.corpus.reading import (
    add_rows,
    check_stored,
    count_rows,
    list_entries,
    list_sources,
    parse_record,
    stored_path,
)
from mudroom.corpus.recorder import FINDINGS_FILE, SOURCES_FILE, RunRecorder, metadata_path
from mudroom.corpus.records import RunSummary, RunVersions, StoredPage
from mudroom.corpus.reopening import ReopenedRun, RunRemains, run_is_active
from mudroom.corpus.rescreening import Rescreening, apply_rescreening
from mudroom.corpus.sink import JournalName, MemorySink
from mudroom.errors import Code
from mudroom.model import CrawlState, RunKind, format_run_id

__all__ = ["MemoryCorpus"]


class MemoryCorpus:
    """Runs as dictionaries of the files that they would have on disk."""

    def __init__(
        self,
        versions: RunVersions,
        clock: Clock | None = None,
        *,
        randomness: Callable[[int], bytes] = os.urandom,
        keeps_text: bool = True,
    ) -> None:
        self._versions = versions
        self._clock = clock or SystemClock()
        self._randomness = randomness
        self._keeps_text = keeps_text
        self._runs: dict[str, MemorySink] = {}

    async def begin_run(self, kind: RunKind, root_url: str, options: Mapping[str, Any]) -> RunRecorder:
        """A new run with an id of its own."""
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
        sink = self._runs[run_id] = MemorySink(keeps_text=self._keeps_text)
        run = RunRecorder(head, sink, self._clock, _do_now, None)
        run.begin()
        return run

    async def reopen_run(self, run_id: str, *, given_up: Collection[Code] = ()) -> ReopenedRun:
        """A run that was ended before its time, to go on with; one that was not is still written."""
        manifest = self._read(run_id, "manifest.json")
        if manifest["state"] == CrawlState.RUNNING:
            raise run_is_active(run_id)
        sink = self._runs[run_id]
        sources = await self.read_sources(run_id)
        remains = RunRemains.gather(manifest, sink.files["security/findings.json"], sources, {}, given_up)
        for journal, lines in remains.list_lines().items():
            for number, line in lines:
                sink.append(journal, number, line)
        head = remains.make_head(self._versions.as_record())
        return remains.resume(RunRecorder(head, sink, self._clock, _do_now, None))

    def files_of(self, run_id: str) -> Mapping[str, bytes]:
        """The files of a run by their path: what a test looks at."""
        return self._runs[run_id].files

    async def list_runs(self, *, limit: int = 100) -> Sequence[RunSummary]:
        """The newest runs, newest first."""
        return [self._summarise(run_id) for run_id in newest_first(self._runs)[:limit]]

    async def summarise_run(self, run_id: str) -> RunSummary:
        """One run as in the list."""
        if run_id not in self._runs:
            raise run_not_found()
        return self._summarise(run_id)

    async def resolve_run(self, untrusted_name: str) -> str:
        """The run id that `@last`, an id, or a prefix of one id alone names."""
        return resolve_name(untrusted_name, self._runs)

    async def read_manifest(self, run_id: str) -> dict[str, Any]:
        """The run's manifest; of one that has not ended, with all that it has recorded."""
        manifest = self._read(run_id, "manifest.json")
        if manifest["state"] == CrawlState.RUNNING:
            add_rows(manifest, self._runs[run_id].lines(JournalName.PAGES))
        return manifest

    async def read_metadata(self, run_id: str, number: int) -> dict[str, Any]:
        """What is known of one page of a run."""
        return self._read(run_id, metadata_path(number))

    async def read_sources(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What a run asked for beside its pages."""
        if (run := self._runs.get(run_id)) is None:
            raise run_not_found()
        lines = run.lines(JournalName.SOURCES)
        return [parse_record(line) for line in lines] or list_sources(
            run.files.get(SOURCES_FILE, b'{"sources": []}')
        )

    async def read_findings(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What was found in a run's pages."""
        if (run := self._runs.get(run_id)) is None:
            raise run_not_found()
        lines = run.lines(JournalName.FINDINGS)
        return [parse_record(line) for line in lines] or list_entries(run.files[FINDINGS_FILE], "documents")

    async def rescreen(self, run_id: str, pages: Sequence[Rescreening]) -> None:
        """Record new verdicts on accepted documents; what is no longer accepted leaves pages/."""
        if (run := self._runs.get(run_id)) is None:
            raise run_not_found()
        apply_rescreening(run, run_id, pages, format_time(self._clock.now()))

    async def read_document(self, run_id: str, number: int) -> StoredPage:
        """An accepted document, exactly as it was scanned."""
        metadata = self._read(run_id, metadata_path(number))
        return check_stored(metadata, self._runs[run_id].files[stored_path(metadata)])

    async def aclose(self) -> None:
        """Nothing to let go."""

    def _summarise(self, run_id: str) -> RunSummary:
        """A run in memory lives as long as it has not ended: nobody outlives its writer."""
        run = self._runs[run_id]
        summary = read_summary(run.files["manifest.json"], run_id)
        if summary.state is not CrawlState.RUNNING:
            return summary
        totals = count_rows(parse_record(line) for line in run.lines(JournalName.PAGES))
        return replace(summary, totals=totals, is_live=True)

    def _read(self, run_id: str, path: str) -> dict[str, Any]:
        run = self._runs.get(run_id)
        if run is None or path not in run.files:
            raise run_not_found()
        return parse_record(run.files[path])


async def _do_now(work: Callable[[], None]) -> None:
    work()
