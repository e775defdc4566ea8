"""The writer that one attempt is given: what a page leaves behind is kept before its outcome is recorded.

So a page that the run has recorded has its links in the frontier, whenever the program is killed. A failure is
recorded when no further try follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mudroom.address import parse_url
from mudroom.corpus import FailedRecord, PageNote, RunWarning, RunWriter, SourceRecord, StoredDocument
from mudroom.crawl.attempt import Attempt, Kept
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Frontier
from mudroom.errors import CODES, Code
from mudroom.intake import Failed, Outcome, PageFacts, Stored
from mudroom.model import BlockedDocument, CrawlState, Hop, OutcomeKind, format_document_id
from mudroom.screen import AcceptedDocument, QuarantinedDocument

__all__ = ["AttemptWriter", "describe_failed", "leave"]

_NOTE = PageNote()


def leave(
    attempt: Attempt, outcome: Outcome | None = None, hops: tuple[Hop, ...] = (), wire_bytes: int = 0
) -> EndedPage:
    """What a page leaves behind: its links, if it was accepted.

    Shapes: `hops` and `wire_bytes` are those of the last try, where there is no outcome yet.
    """
    if outcome is not None:
        hops, wire_bytes = outcome.facts.hops, outcome.facts.wire_bytes
    bare = EndedPage(
        number=attempt.number,
        depth=attempt.entry.depth,
        url=attempt.entry.url,
        retries=tuple(attempt.retries),
        wire_bytes=attempt.spent_bytes + wire_bytes,
        hops=hops if attempt.is_seed else (),
    )
    if not isinstance(outcome, Stored):
        return bare
    return replace(
        bare,
        final_url=outcome.facts.final_url,
        sha256=outcome.facts.sha256,
        links=outcome.links,
        base=outcome.base,
        link_scope=outcome.link_scope,
    )


def describe_failed(run_id: str, failed: FailedRecord) -> Failed:
    """The outcome of a page that its task ended without one."""
    facts = PageFacts(
        number=failed.number,
        document_id=format_document_id(run_id, failed.number),
        run_id=run_id,
        requested_url=failed.requested_url,
        depth=failed.depth,
    )
    retryable = CODES[failed.code].retryable
    return Failed(facts=facts, code=failed.code, message=failed.message, retryable=retryable)


class AttemptWriter:
    """Writes one page of a run, once."""

    def __init__(self, run: RunWriter, frontier: Frontier, attempt: Attempt) -> None:
        self._run = run
        self._frontier = frontier
        self._attempt = attempt
        self._failed: FailedRecord | None = None
        self.held: EndedPage | None = None
        """What was kept last."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run.run_id

    def next_number(self) -> int:
        """Of a page that no crawl numbers."""
        return self._run.next_number()

    async def store(self, document: AcceptedDocument, note: PageNote = _NOTE) -> StoredDocument:
        """Keep an accepted document in pages/, its links in the frontier."""
        provenance = document.provenance
        page = replace(
            leave(self._attempt, hops=provenance.hops, wire_bytes=note.wire_bytes),
            final_url=provenance.final_url,
            sha256=provenance.sha256,
            links=document.links,
            base=parse_url(note.links_base),
            link_scope=note.link_scope,
        )
        self._keep(page, OutcomeKind.STORED)
        return await self._run.store(document, self._charge(note))

    async def quarantine(self, document: QuarantinedDocument, note: PageNote = _NOTE) -> StoredDocument:
        """Keep a document with a warning in quarantine/."""
        self._keep(leave(self._attempt, wire_bytes=note.wire_bytes), OutcomeKind.QUARANTINED)
        return await self._run.quarantine(document, self._charge(note))

    async def record_blocked(self, document: BlockedDocument, note: PageNote = _NOTE) -> None:
        """Record a withheld document."""
        page = leave(self._attempt, wire_bytes=note.wire_bytes)
        self._keep(page, OutcomeKind.BLOCKED, document.code)
        await self._run.record_blocked(document, self._charge(note))

    async def record_failed(self, failed: FailedRecord) -> None:
        """Remember a failure; `settle` records it."""
        self._failed = failed

    async def settle(self) -> None:
        """Record the failure of the last try, if it was one. Raises: StoreFailed."""
        failed, self._failed = self._failed, None
        if failed is not None:
            page = leave(self._attempt, hops=failed.hops, wire_bytes=failed.wire_bytes)
            kind = OutcomeKind.BLOCKED if failed.is_blocked else OutcomeKind.FAILED
            self._keep(page, kind, failed.code)
            wire_bytes = failed.wire_bytes + self._attempt.spent_bytes
            await self._run.record_failed(replace(failed, wire_bytes=wire_bytes))

    def forget(self) -> None:
        """Another try follows: that one failed is not recorded."""
        self._failed = None

    def _charge(self, note: PageNote) -> PageNote:
        """What the page cost, with the tries before the last."""
        return replace(note, wire_bytes=note.wire_bytes + self._attempt.spent_bytes)

    def _keep(self, page: EndedPage, outcome: OutcomeKind, code: Code | None = None) -> None:
        """Before the page is recorded so: whoever cancels it meanwhile finds what to go on with."""
        self.hold(page)
        self._attempt.kept = Kept(outcome=outcome, code=code, page=page)

    def hold(self, page: EndedPage) -> None:
        """Keep what the page leaves behind, unless just that is kept."""
        if page != self.held:
            self._frontier.hold(page)
            self.held = page

    async def record_source(self, source: SourceRecord) -> None:
        """Record what was asked for beside pages."""
        await self._run.record_source(source)

    async def checkpoint(self) -> None:
        """Bring the manifest up to date."""
        await self._run.checkpoint()

    async def finish(
        self,
        state: CrawlState,
        *,
        warnings: Sequence[RunWarning | Mapping[str, str | None]] = (),
        discovered: int | None = None,
        wire_bytes: int | None = None,
    ) -> dict[str, Any]:
        """The final manifest."""
        return await self._run.finish(state, warnings=warnings, discovered=discovered, wire_bytes=wire_bytes)
