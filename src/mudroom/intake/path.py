"""The whole path of one page or one file, told once.

    url ─▶ judge ─▶ fetch ─▶ snapshot ─▶ jail{extract} ─▶ jail{scan} ─▶ policy ─▶ corpus ─▶ Outcome
    file ──────────────────▶ ┘

Read `take_page` and `_read` from top to bottom: each line is a stage, and each stage lives on a floor of
its own. A stage that cannot go on raises a `MudroomError`; it becomes one typed outcome in `_end`, and
nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mudroom.address import AllowedUrl, judge_url, parse_url
from mudroom.clock import format_time
from mudroom.corpus import FailedRecord, PageNote, RunWriter
from mudroom.errors import (
    Code,
    ContentRefused,
    CrawlStopped,
    EgressRefused,
    FetchFailed,
    MudroomError,
    StoreFailed,
)
from mudroom.fetch import Fetched, FetchRequest, condition_headers, find_retry_after
from mudroom.intake.answers import NOT_MODIFIED, judge_answer, may_be_read
from mudroom.intake.arrival import (
    Arrival,
    receive_file,
    receive_page,
    snapshot_file,
    snapshot_page,
    trace_arrival,
)
from mudroom.intake.exposure import list_exposed
from mudroom.intake.outcome import Blocked, Failed, Outcome, PageFacts, Quarantined, Stored, classify_failure
from mudroom.intake.ports import Parts
from mudroom.intake.priors import Prior
from mudroom.intake.recall import Recalled
from mudroom.intake.records import recall_record, receive_record, snapshot_record
from mudroom.intake.request import FileRequest, PageRequest, RecordRequest
from mudroom.intake.trail import Trail
from mudroom.jail import ExtractRequest
from mudroom.model import (
    BlockedDocument,
    ExtractedDocument,
    Link,
    PageState,
    Provenance,
    ScanReport,
    ScanRequest,
    UntrustedDocument,
    WarningCode,
)
from mudroom.screen import AcceptedDocument, QuarantinedDocument, block_unscanned, decide
from mudroom.snapshot import KeepRule, PreparedSnapshot, SnapshotInput
from mudroom.wire import encode_once

__all__ = ["Intake"]


class Intake:
    """The one way in, for a page and for a file."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        """One URL through the whole path. Every failure is an outcome; only cancellation is raised."""
        trail = Trail.begin(
            request.untrusted_url, request.number, run, self._parts.observer, depth=request.depth
        )
        try:
            trail.enter(PageState.VALIDATING)
            judged = await self._judge(request, trail)
            trail.enter(PageState.FETCHING)
            fetched = await self._fetch(request, judged, trail)
            arrival = await self._receive(request, fetched, trail)
            return await self._read(arrival, trail, run)
        except MudroomError as error:
            return await self._end(error, trail, run)

    async def take_file(self, request: FileRequest, run: RunWriter) -> Outcome:
        """One file through the same path, from the snapshot on."""
        trail = Trail.begin(request.url or request.name, request.number, run, self._parts.observer)
        now = self._parts.clock.now()
        if request.retrieved_at is not None:
            trail.add(imported_at=format_time(now))
        try:
            snapshot = snapshot_file(request, trail.facts, request.retrieved_at or now)
            prepared = await self._keep(snapshot, trail)
            arrival = receive_file(request, snapshot, prepared, trail.facts)
            return await self._read(arrival, trail, run)
        except MudroomError as error:
            return await self._end(error, trail, run)

    async def take_record(self, request: RecordRequest, run: RunWriter) -> Outcome:
        """A page out of somebody's archive through the same path, from the snapshot on."""
        trail = Trail.begin(request.url, request.number, run, self._parts.observer)
        trail.add(imported_at=format_time(self._parts.clock.now()), http_status=request.status)
        try:
            if request.refusal is not None:
                raise request.refusal
            fetched = recall_record(request, self._parts.extract_limits.max_body_bytes)
            trail.add(final_url=fetched.final.href)
            prepared = await self._keep(snapshot_record(request, fetched, trail.facts), trail)
            self._judge_answer(fetched)
            arrival = receive_record(request, fetched, prepared)
            return await self._read(arrival, trail, run)
        except MudroomError as error:
            return await self._end(error, trail, run)

    async def refuse_file(self, error: MudroomError, name: str, number: int, run: RunWriter) -> Outcome:
        """The outcome of a file that could not even be read, from its place or from the archive."""
        return await self._end(error, Trail.begin(name, number, run, self._parts.observer), run)

    async def _read(self, arrival: Arrival, trail: Trail, run: RunWriter) -> Outcome:
        """From bytes to an outcome: where a page and a file have become the same thing."""
        trail.enter(PageState.EXTRACTING)
        content = await self._extract(arrival, trail)
        document = UntrustedDocument(provenance=self._trace(arrival, trail.facts), content=content)
        trail.enter(PageState.SCANNING)
        verdict, report = await self._screen(document, arrival, trail)
        match verdict:
            case AcceptedDocument():
                return await self._store(verdict, content.base_url, arrival, trail, run)
            case QuarantinedDocument():
                return await self._quarantine(verdict, arrival, trail, run)
            case BlockedDocument():
                return await self._block(verdict, report, document.provenance, trail, run)

    # The stages, in order.

    async def _judge(self, request: PageRequest, trail: Trail) -> AllowedUrl:
        egress = self._parts.egress
        await egress.refresh()
        verdict = judge_url(request.untrusted_url, egress.current(), request.scope, base=request.base)
        if not isinstance(verdict, AllowedUrl):
            raise EgressRefused(verdict.code, verdict.message)
        trail.add(requested_url=verdict.url.href)
        return verdict

    async def _fetch(self, request: PageRequest, judged: AllowedUrl, trail: Trail) -> Fetched | Recalled:
        prior = await self._find_prior(request, judged, trail)
        conditions = condition_headers(prior.validators) if prior is not None else ()
        fetch = FetchRequest(
            "GET",
            judged,
            headers=(*request.headers, *conditions),
            redirects=request.redirects,
            hop_check=request.gate,
            accept_types=may_be_read,
            max_body_bytes=request.max_body_bytes,
        )
        try:
            answer = await self._parts.fetcher.fetch(fetch)
            if prior is not None:
                answer = self._recall(prior, answer)
        except ContentRefused as error:
            _note_failure(error, trail)
            if request.is_reserved and error.code is Code.BODY_TOO_LARGE:
                raise _exceed_budget(trail) from error
            raise
        except MudroomError as error:
            _note_failure(error, trail)
            if error.code is Code.HTTP_STATUS and error.hops:
                trail.add(http_status=error.hops[-1].status)
            raise
        fetched = answer.fetched if isinstance(answer, Recalled) else answer
        trail.add(
            final_url=fetched.final.href,
            http_status=fetched.status,
            hops=fetched.hops,
            wire_bytes=fetched.wire_bytes,
            duration_seconds=fetched.duration_seconds,
            retry_after_seconds=find_retry_after(fetched.headers, self._parts.clock.now()),
        )
        return answer

    async def _find_prior(self, request: PageRequest, judged: AllowedUrl, trail: Trail) -> Prior | None:
        """What the site may be asked about in place of all of the page."""
        priors = self._parts.priors
        if priors is None or not request.may_revalidate or request.headers:
            return None
        try:
            return await priors.find(trail.facts.requested_url, judged.url)
        except StoreFailed:
            trail.add(warnings=(*trail.facts.warnings, WarningCode.PRIOR_UNREADABLE))
            return None

    def _recall(self, prior: Prior, answer: Fetched | Recalled) -> Fetched | Recalled:
        """The earlier snapshot, where the site says that it still holds."""
        if self._parts.priors is None or isinstance(answer, Recalled) or answer.status != NOT_MODIFIED:
            return answer
        return self._parts.priors.recall(prior, answer, self._parts.clock.now())

    async def _receive(self, request: PageRequest, answer: Fetched | Recalled, trail: Trail) -> Arrival:
        """The answer ready to be read, its raw bytes in the archive before anything reads them."""
        if isinstance(answer, Recalled):
            _note_recalled(answer, trail)
            self._judge_answer(answer.fetched)
            moment = datetime.fromisoformat(answer.snapshot.envelope.fetched_at)
            return receive_page(request, answer.fetched, moment, None)
        snapshot = snapshot_page(answer, trail.facts, self._parts.clock.now())
        prepared = await self._keep(snapshot, trail)
        self._judge_answer(answer)
        return receive_page(request, answer, snapshot.fetched_at, prepared)

    async def _keep(self, snapshot: SnapshotInput, trail: Trail) -> PreparedSnapshot:
        """The raw bytes into the archive."""
        prepared = await self._parts.archive.prepare(snapshot)
        trail.add(
            retrieved_at=prepared.envelope.fetched_at,
            sha256=prepared.envelope.sha256,
            size_bytes=len(snapshot.body),
        )
        if self._parts.keep is KeepRule.ALL:
            await self._parts.archive.commit(prepared)
            trail.add(source_ref=prepared.source_ref)
        return prepared

    def _judge_answer(self, fetched: Fetched) -> None:
        code = judge_answer(fetched)
        if code is not None:
            raise FetchFailed(code, f"{fetched.final.host} answered with status {fetched.status}")

    async def _extract(self, arrival: Arrival, trail: Trail) -> ExtractedDocument:
        trail.add(isolation=self._parts.guests.isolation)
        request = ExtractRequest(
            body=arrival.untrusted_body, source=arrival.source, limits=self._parts.extract_limits
        )
        content = await self._parts.guests.extract(request, site=arrival.site, run_id=trail.facts.run_id)
        is_empty = not arrival.untrusted_body
        noticed = (*content.warnings, *((WarningCode.EMPTY_BODY,) if is_empty else ()))
        trail.add(warnings=(*trail.facts.warnings, *noticed))
        if content.needs_render:
            raise FetchFailed(Code.NEEDS_RENDER, _describe_shell(content))
        return content

    def _trace(self, arrival: Arrival, facts: PageFacts) -> Provenance:
        source_ref = facts.source_ref
        if self._parts.keep is KeepRule.ACCEPTED and arrival.prepared is not None:
            source_ref = arrival.prepared.source_ref
        return trace_arrival(arrival, facts, self._parts.guests.isolation, source_ref)

    async def _screen(
        self, document: UntrustedDocument, arrival: Arrival, trail: Trail
    ) -> tuple[AcceptedDocument | QuarantinedDocument | BlockedDocument, ScanReport | None]:
        """The verdict. A scan that does not finish blocks, whatever the reason (decision 1)."""
        exposed = list_exposed(document)
        request = encode_once(ScanRequest(exposed=exposed, security_text=document.content.security_text))
        try:
            report = await self._parts.guests.scan(request, site=arrival.site, run_id=trail.facts.run_id)
        except MudroomError:
            return block_unscanned(document), None
        verdict = decide(document, exposed, report, self._parts.policy, digest=request.digest)
        return verdict, report

    async def _keep_late(self, arrival: Arrival, trail: Trail) -> None:
        """The bytes of a document that is kept, where only those are (archive.keep = accepted)."""
        if self._parts.keep is KeepRule.ACCEPTED and arrival.prepared is not None:
            await self._parts.archive.commit(arrival.prepared)
            trail.add(source_ref=arrival.prepared.source_ref)

    async def _store(
        self, accepted: AcceptedDocument, base_url: str, arrival: Arrival, trail: Trail, run: RunWriter
    ) -> Stored:
        await self._keep_late(arrival, trail)
        note = replace(_note(trail), links_base=base_url, link_scope=arrival.link_scope)
        stored = await run.store(accepted, note)
        trail.add(path=stored.path)
        trail.enter(PageState.STORED)
        return Stored(
            facts=trail.facts,
            page=accepted.expose(),
            text=accepted.text,
            provenance=accepted.provenance,
            decision=accepted.decision,
            findings=accepted.findings,
            links=_mark(accepted.links, arrival),
            base=parse_url(base_url),
            link_scope=arrival.link_scope,
        )

    async def _quarantine(
        self, kept: QuarantinedDocument, arrival: Arrival, trail: Trail, run: RunWriter
    ) -> Quarantined:
        await self._keep_late(arrival, trail)
        stored = await run.quarantine(kept, _note(trail))
        trail.add(path=stored.path)
        trail.enter(PageState.QUARANTINED)
        return Quarantined(facts=trail.facts, findings=kept.findings)

    async def _block(
        self,
        blocked: BlockedDocument,
        report: ScanReport | None,
        provenance: Provenance,
        trail: Trail,
        run: RunWriter,
    ) -> Blocked:
        findings = report.findings if report else ()
        # With archive.keep = accepted the reference was only prepared: nothing of a withheld page is kept.
        provenance = replace(provenance, source_ref=trail.facts.source_ref)
        blocked = replace(blocked, source_ref=trail.facts.source_ref)
        await run.record_blocked(blocked, replace(_note(trail), findings=findings, provenance=provenance))
        trail.enter(PageState.BLOCKED, blocked.code)
        return Blocked(
            facts=trail.facts,
            code=blocked.code,
            message=_describe_block(blocked),
            findings=findings,
        )

    async def _end(self, error: MudroomError, trail: Trail, run: RunWriter) -> Blocked | Failed:
        """The one place where a failure becomes an outcome."""
        outcome = classify_failure(error, trail.facts)
        try:
            await run.record_failed(_describe_failure(outcome, trail.facts))
        except StoreFailed as store_error:
            outcome = classify_failure(store_error, trail.facts)
        trail.enter(PageState(outcome.kind.value), outcome.code)
        return outcome


def _mark(links: tuple[Link, ...], arrival: Arrival) -> tuple[Link, ...]:
    """Links as the page's own words and its headers together have them."""
    return tuple(link._replace(is_nofollow=True) for link in links) if arrival.is_nofollow else links


def _note(trail: Trail) -> PageNote:
    facts = trail.facts
    return PageNote(
        depth=facts.depth,
        warnings=facts.warnings,
        wire_bytes=facts.wire_bytes,
        revalidated_at=facts.revalidated_at,
        imported_at=facts.imported_at,
    )


def _note_failure(error: MudroomError, trail: Trail) -> None:
    """How far a fetch came that failed."""
    trail.add(hops=error.hops, wire_bytes=error.wire_bytes, stopped_at=error.stopped_at)
    if error.code is Code.HTTP_STATUS and error.hops:
        trail.add(http_status=error.hops[-1].status)


def _note_recalled(answer: Recalled, trail: Trail) -> None:
    """What is known of bytes that the archive held before: all of it stands there."""
    envelope = answer.snapshot.envelope
    trail.add(
        retrieved_at=envelope.fetched_at,
        sha256=envelope.sha256,
        size_bytes=len(answer.snapshot.body),
        source_ref=answer.snapshot.source_ref,
        revalidated_at=answer.revalidated_at,
    )
    if answer.revalidated_at is not None:
        trail.add(warnings=(*trail.facts.warnings, WarningCode.NOT_MODIFIED))


def _describe_failure(outcome: Blocked | Failed, facts: PageFacts) -> FailedRecord:
    return FailedRecord(
        number=facts.number,
        requested_url=facts.requested_url,
        code=outcome.code,
        message=outcome.message,
        is_blocked=isinstance(outcome, Blocked),
        retryable=outcome.retryable,
        final_url=facts.final_url,
        depth=facts.depth,
        http_status=facts.http_status,
        hops=facts.hops,
        source_ref=facts.source_ref,
        sha256=facts.sha256,
        size_bytes=facts.size_bytes,
        retrieved_at=facts.retrieved_at,
        isolation=facts.isolation,
        warnings=facts.warnings,
        wire_bytes=facts.wire_bytes,
        revalidated_at=facts.revalidated_at,
        imported_at=facts.imported_at,
        stopped_at=facts.stopped_at,
    )


def _exceed_budget(trail: Trail) -> CrawlStopped:
    return CrawlStopped(
        Code.CRAWL_LIMIT_REACHED,
        f"the bytes left in this crawl's budget did not suffice for page {trail.facts.number}",
    )


def _describe_shell(content: ExtractedDocument) -> str:
    shown, hidden = content.visible_chars, content.hidden_chars
    share = round(100 * shown / (shown + hidden)) if shown + hidden else 0
    return f"visible {share} %, hidden {100 - share} %: the page shows nothing until its scripts have run"


def _describe_block(blocked: BlockedDocument) -> str:
    if blocked.code is Code.SCANNER_FAILURE:
        return "the scan did not finish, so the document is withheld"
    return "withheld: " + ", ".join(blocked.finding_ids)
