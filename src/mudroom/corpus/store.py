"""The seams of the corpus: a store of runs, and the one writer of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from mudroom.corpus.records import (
    FailedRecord,
    PageNote,
    RunSummary,
    RunWarning,
    SourceRecord,
    StoredDocument,
    StoredPage,
)
from mudroom.corpus.reopening import ReopenedRun
from mudroom.corpus.rescreening import Rescreening
from mudroom.errors import Code
from mudroom.model import BlockedDocument, CrawlState, RunKind
from mudroom.screen import AcceptedDocument, QuarantinedDocument

__all__ = ["CorpusStore", "RunWriter"]


class RunWriter(Protocol):
    """Records one run. Its methods may be called from many tasks of one event loop at once.

    Raises, everywhere: StoreFailed with NO_SPACE or STORE_UNAVAILABLE; then nothing of that page was
    recorded, and the next can be tried. SNAPSHOT_MISMATCH for a document of another run.
    """

    @property
    def run_id(self) -> str:
        """The run's id, and the name of its folder."""
        ...

    def next_number(self) -> int:
        """The number of the next page, from 1; each number is given once."""
        ...

    async def store(self, document: AcceptedDocument, note: PageNote = ...) -> StoredDocument:
        """Keep an accepted document in pages/."""
        ...

    async def quarantine(self, document: QuarantinedDocument, note: PageNote = ...) -> StoredDocument:
        """Keep a document with a warning in quarantine/."""
        ...

    async def record_blocked(self, document: BlockedDocument, note: PageNote = ...) -> None:
        """Record a withheld document."""
        ...

    async def record_failed(self, failed: FailedRecord) -> None:
        """Record a page that ended before there was a document."""
        ...

    async def record_source(self, source: SourceRecord) -> None:
        """Record what was asked for beside pages, and what came of it; each time it was asked for anew."""
        ...

    async def checkpoint(self) -> None:
        """Bring the manifest up to date, if enough has changed to be worth its cost."""
        ...

    async def finish(
        self,
        state: CrawlState,
        *,
        warnings: Sequence[RunWarning | Mapping[str, str | None]] = (),
        discovered: int | None = None,
        wire_bytes: int | None = None,
    ) -> dict[str, Any]:
        """The final manifest, written; also when the task that waits for it is cancelled.

        Shapes: `discovered` is None for as many as were attempted, `wire_bytes` for the sum of the bodies.
        """
        ...


class CorpusStore(Protocol):
    """Runs and their accepted documents.

    Raises: NotFound RUN_NOT_FOUND for what is not there, in the same words whatever was asked for;
    StoreFailed SNAPSHOT_CORRUPT for what is there and damaged, STORE_UNAVAILABLE, NO_SPACE.
    """

    async def begin_run(self, kind: RunKind, root_url: str, options: Mapping[str, Any]) -> RunWriter:
        """A new run with an id of its own. Cancelled, there is no such run."""
        ...

    async def reopen_run(self, run_id: str, *, given_up: Collection[Code] = ()) -> ReopenedRun:
        """A run that did not come to its end, to go on with; without the pages that ended with such a code.

        Raises: as all, and StoreFailed RUN_ACTIVE while somebody writes it.
        """
        ...

    async def list_runs(self, *, limit: int = 100) -> Sequence[RunSummary]:
        """The newest runs, newest first."""
        ...

    async def summarise_run(self, run_id: str) -> RunSummary:
        """One run as in the list; a damaged one too."""
        ...

    async def resolve_run(self, untrusted_name: str) -> str:
        """The run id that `@last`, an id, or a prefix of one id alone names."""
        ...

    async def read_manifest(self, run_id: str) -> dict[str, Any]:
        """The run's manifest; of one that was killed, with all that it had recorded."""
        ...

    async def read_metadata(self, run_id: str, number: int) -> dict[str, Any]:
        """What is known of one page of a run."""
        ...

    async def read_sources(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What a run asked for beside its pages, in the order in which it was recorded."""
        ...

    async def read_findings(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """What was found in a run's pages: of each that has any, its number, and ids and severities."""
        ...

    async def rescreen(self, run_id: str, pages: Sequence[Rescreening]) -> None:
        """Record new verdicts on accepted documents; what is no longer accepted leaves pages/.

        Raises: StoreFailed RUN_ACTIVE while the run is written.
        """
        ...

    async def read_document(self, run_id: str, number: int) -> StoredPage:
        """An accepted document, exactly as it was scanned; never one that was quarantined."""
        ...

    async def aclose(self) -> None:
        """Let go; a second call does nothing."""
        ...
