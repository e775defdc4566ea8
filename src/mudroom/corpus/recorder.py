"""The writer of a run: numbers, counts, and what is written when. Where it goes is the sink's business.

A page is recorded when its journal line is written, which is last. The manifest is made anew from the
journal whenever half as many pages again have come, so that all its writing together costs what a few
copies of it cost, and a run that is killed leaves a manifest that is valid and a journal that is complete.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mudroom.clock import Clock, format_time
from mudroom.corpus.forms import (
    record_accepted,
    record_blocked,
    record_failed,
    record_quarantined,
    source_line,
)
from mudroom.corpus.manifest import (
    ManifestHead,
    Totals,
    encode_line,
    encode_record,
    render_manifest,
    render_sources,
)
from mudroom.corpus.records import (
    FailedRecord,
    PageNote,
    PageRecord,
    RunWarning,
    SourceRecord,
    StoredDocument,
)
from mudroom.corpus.security import SecurityTally, findings_line, render_findings
from mudroom.corpus.sink import JournalName, RunSink
from mudroom.errors import Code, StoreFailed
from mudroom.model import BlockedDocument, CrawlState, format_document_id
from mudroom.screen import AcceptedDocument, QuarantinedDocument

__all__ = ["FINDINGS_FILE", "SOURCES_FILE", "DoWork", "RunRecorder", "metadata_path"]

DoWork = Callable[[Callable[[], None]], Awaitable[None]]
"""Does work that may block, in order with all other work of the same run."""

FINDINGS_FILE = "security/findings.json"
SOURCES_FILE = "sources.json"
"""Where it stands what a run asked for beside its pages, relative to its folder."""

_CHECKPOINT_PAGES = 16
_NOTE = PageNote()


class RunRecorder:
    """Records one run into a sink; `folder` is where a person finds it, None where there is no such place."""

    def __init__(
        self, head: ManifestHead, sink: RunSink, clock: Clock, do_work: DoWork, folder: Path | None
    ) -> None:
        self._head = head
        self._sink = sink
        self._clock = clock
        self._do_work = do_work
        self._folder = folder
        self._totals = Totals()
        self._security = SecurityTally()
        self._given = 0
        self._recorded = bytearray()  # one byte a number
        self._saved_pages = 0
        self._sources = 0
        self._is_finished = False

    @property
    def run_id(self) -> str:
        """The run's id, and the name of its folder."""
        return self._head.run_id

    @property
    def versions(self) -> Mapping[str, str]:
        """What its verdicts depend on."""
        return self._head.versions

    def restore(
        self, rows: Sequence[Mapping[str, Any]], findings: Sequence[Mapping[str, Any]], sources: int
    ) -> None:
        """Know of what an earlier sitting recorded, which the journals hold already."""
        self._sources = sources
        found = {each["n"]: each["findings"] for each in findings}
        for row in rows:
            number = int(row["n"])
            self._claim(number)
            self._recorded[number] = 1
            self._totals.count(row)
            self._security.count(row["decision"], found.get(number, ()))
            self._given = max(self._given, number)

    def next_number(self) -> int:
        """The number of the next page, from 1; each number is given once."""
        self._given += 1
        return self._given

    def begin(self) -> None:
        """Write the first manifest, so that a run exists from its start. Blocks; raises StoreFailed."""
        self._save(CrawlState.RUNNING)

    async def store(self, document: AcceptedDocument, note: PageNote = _NOTE) -> StoredDocument:
        """Keep an accepted document in pages/."""
        number = self._number_of(document.document_id)
        return await self._keep(record_accepted(number, document, note, self._head.versions))

    async def quarantine(self, document: QuarantinedDocument, note: PageNote = _NOTE) -> StoredDocument:
        """Keep a document with a warning in quarantine/."""
        number = self._number_of(document.document_id)
        return await self._keep(record_quarantined(number, document, note, self._head.versions))

    async def record_blocked(self, document: BlockedDocument, note: PageNote = _NOTE) -> None:
        """Record a withheld document."""
        number = self._number_of(document.document_id)
        await self._keep(record_blocked(number, document, note, self._head.versions))

    async def record_failed(self, failed: FailedRecord) -> None:
        """Record a page that ended before there was a document."""
        document_id = format_document_id(self.run_id, failed.number)
        await self._keep(record_failed(document_id, failed, self._head.versions))

    async def record_source(self, source: SourceRecord) -> None:
        """Record what was asked for beside pages."""
        await self._do_work(lambda: self._write_source(source))

    async def checkpoint(self) -> None:
        """Bring the manifest up to date, if a quarter as many pages again have come since it last was."""
        if self._totals.attempted - self._saved_pages > self._saved_pages // 4:
            await self._do_work(lambda: self._save(CrawlState.RUNNING))

    async def finish(
        self,
        state: CrawlState,
        *,
        warnings: Sequence[RunWarning | Mapping[str, str | None]] = (),
        discovered: int | None = None,
        wire_bytes: int | None = None,
    ) -> dict[str, Any]:
        """The final manifest, written; where it cannot be, the run is over all the same."""
        listed = [_warning_record(warning) for warning in warnings]
        manifest: list[dict[str, Any]] = []

        def end() -> None:
            totals = self._totals.as_record(discovered=discovered, wire_bytes=wire_bytes)
            self._check_unfinished()
            try:
                self._save(state, finished_at=format_time(self._clock.now()), totals=totals, warnings=listed)
                manifest.append(json.loads(self._sink.read("manifest.json")))
            finally:
                self._is_finished = True
                if manifest:
                    self._sink.close()
                else:
                    self._sink.abandon()

        await self._do_work(end)
        return manifest[0]

    async def abandon(self) -> None:
        """End without an end: the run is left as one that was killed, to be taken up again."""

        def leave() -> None:
            self._check_unfinished()
            self._is_finished = True
            self._sink.abandon()

        await self._do_work(leave)

    def _number_of(self, document_id: str) -> int:
        run_id, _, number = document_id.rpartition("/")
        if run_id != self.run_id or not number.isdecimal():
            raise StoreFailed(Code.SNAPSHOT_MISMATCH, f"{self.run_id} was given a document of another run")
        return int(number)

    async def _keep(self, record: PageRecord) -> StoredDocument:
        await self._do_work(lambda: self._write(record))
        path = record.path or metadata_path(record.number)
        return StoredDocument(
            document_id=record.metadata["document_id"],
            number=record.number,
            path=path,
            file=self._folder / path if self._folder else None,
        )

    def _write(self, record: PageRecord) -> None:
        """All of a page, or nothing of it."""
        self._claim(record.number)
        if self._totals.attempted - self._saved_pages >= max(_CHECKPOINT_PAGES, self._saved_pages // 2):
            self._save(CrawlState.RUNNING)
        is_written = False
        try:
            if record.path is not None and record.content is not None:
                self._sink.put(record.path, record.content)
            self._sink.put(metadata_path(record.number), encode_record(record.metadata))
            if (found := findings_line(record)) is not None:
                self._sink.append(JournalName.FINDINGS, record.number, encode_line(found))
            self._sink.append(JournalName.PAGES, record.number, encode_line(record.row))
            is_written = True
        finally:
            if not is_written:
                # The text first: no page may lie in pages/ that the manifest does not speak of.
                if record.path is not None:
                    self._sink.remove(record.path)
                self._sink.remove(metadata_path(record.number))
        self._recorded[record.number] = 1
        self._totals.count(record.row)
        self._security.count(record.row["decision"], record.findings)

    def _write_source(self, source: SourceRecord) -> None:
        self._check_unfinished()
        self._sink.append(JournalName.SOURCES, self._sources + 1, encode_line(source_line(source)))
        self._sources += 1

    def _claim(self, number: int) -> None:
        """Refuse a page after the end, and one that was recorded before."""
        if self._is_finished:
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"{self.run_id} was finished; nothing more is recorded")
        if number >= len(self._recorded):
            self._recorded.extend(bytes(number + 1 + number // 2 - len(self._recorded)))
        if self._recorded[number]:
            raise StoreFailed(Code.SNAPSHOT_MISMATCH, f"page {number} of {self.run_id} was recorded before")

    def _save(
        self,
        state: CrawlState,
        *,
        finished_at: str | None = None,
        totals: Mapping[str, int] | None = None,
        warnings: Sequence[Mapping[str, str | None]] = (),
    ) -> None:
        """Findings and summary first: whoever sees the manifest finds what it speaks of."""
        self._check_unfinished()
        run_id = self.run_id
        self._sink.replace(FINDINGS_FILE, render_findings(run_id, self._sink.lines(JournalName.FINDINGS)))
        if self._sources:
            lines = self._sink.lines(JournalName.SOURCES)
            self._sink.replace(SOURCES_FILE, render_sources(run_id, lines))
        self._sink.replace("security/summary.json", [self._security.render(run_id, self._head.versions)])
        pieces = render_manifest(
            self._head,
            state=state,
            finished_at=finished_at,
            totals=totals or self._totals.as_record(discovered=None, wire_bytes=None),
            rows=self._sink.lines(JournalName.PAGES),
            warnings=warnings,
        )
        self._sink.replace("manifest.json", pieces)
        self._saved_pages = self._totals.attempted

    def _check_unfinished(self) -> None:
        if self._is_finished:
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"{self.run_id} was finished before")


def metadata_path(number: int) -> str:
    """Where a page's metadata lies, relative to its run's folder."""
    return f"metadata/{number:06d}.json"


def _warning_record(warning: RunWarning | Mapping[str, str | None]) -> Mapping[str, str | None]:
    if isinstance(warning, RunWarning):
        return {"code": warning.code, "url": warning.url, "message": warning.message}
    return {"code": warning["code"], "url": warning["url"], "message": warning["message"]}
