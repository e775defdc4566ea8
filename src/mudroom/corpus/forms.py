"""The two forms in which a page goes to disk: a row of the manifest, and its metadata.

Neither holds text of a page, save the title of an accepted document, which was scanned.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mudroom.clock import format_time
from mudroom.corpus.records import FailedRecord, PageNote, PageRecord, SourceRecord
from mudroom.errors import CODES, Code, StoreFailed
from mudroom.model import (
    BlockedDocument,
    Decision,
    ExposedForm,
    Finding,
    Hop,
    OutcomeKind,
    Provenance,
    RobotsState,
)
from mudroom.screen import AcceptedDocument, QuarantinedDocument

__all__ = ["record_accepted", "record_blocked", "record_failed", "record_quarantined", "source_line"]

_DOCUMENT_SCHEMA = "mudroom.document/1"
_SAFE_SLUG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where a page came from, as far as it is known."""

    requested_url: str
    final_url: str | None
    http_status: int | None = None
    source_ref: str | None = None
    sha256: str | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """What became of it."""

    outcome: OutcomeKind
    decision: Decision | None
    code: Code | None = None
    retryable: bool | None = None
    path: str | None = None


def record_accepted(
    number: int, document: AcceptedDocument, note: PageNote, versions: Mapping[str, str]
) -> PageRecord:
    """An accepted document: its Markdown goes to pages/, byte for byte what was scanned.

    Raises: TypeError for anything else, whatever it looks like; StoreFailed SNAPSHOT_MISMATCH when the text
    is not the one that the verdict is bound to.
    """
    if type(document) is not AcceptedDocument:
        raise TypeError("only an accepted document is stored")
    content = document.markdown.encode()
    digest = _digest(content)
    if document.digests[ExposedForm.MARKDOWN] != digest:
        raise StoreFailed(Code.SNAPSHOT_MISMATCH, f"{document.document_id} is not the text that was scanned")
    slug = f"-{document.slug}" if _SAFE_SLUG.fullmatch(document.slug) else ""
    path = f"pages/{number:06d}{slug}.md"
    end = _End(outcome=OutcomeKind.STORED, decision=document.decision, path=path)
    digests = {form.value: sha256 for form, sha256 in sorted(document.digests.items())}
    extra = {"title": document.title, "markdown_sha256": digest, "exposed_sha256": digests}
    return _record_text(number, document, content, note, end, versions, extra)


def record_quarantined(
    number: int, document: QuarantinedDocument, note: PageNote, versions: Mapping[str, str]
) -> PageRecord:
    """A quarantined document: its Markdown goes where no agent reads, its title nowhere.

    Raises: TypeError for anything else.
    """
    if type(document) is not QuarantinedDocument:
        raise TypeError("only a quarantined document is quarantined")
    path = f"quarantine/{number:06d}.md"
    end = _End(outcome=OutcomeKind.QUARANTINED, decision=document.decision, path=path)
    content = document.markdown.encode()
    extra = {"markdown_sha256": _digest(content)}
    return _record_text(number, document, content, note, end, versions, extra)


def record_blocked(
    number: int, document: BlockedDocument, note: PageNote, versions: Mapping[str, str]
) -> PageRecord:
    """A withheld document: its code and the ids of what was found."""
    origin = _Origin(
        requested_url=document.requested_url,
        final_url=document.final_url,
        http_status=note.provenance.http_status if note.provenance else None,
        source_ref=document.source_ref,
        sha256=note.provenance.sha256 if note.provenance else None,
        size_bytes=note.provenance.size_bytes if note.provenance else 0,
    )
    end = _End(outcome=OutcomeKind.BLOCKED, decision=Decision.BLOCK, code=document.code)
    row = _row(number, note, origin, end)
    more = _provenance_fields(note.provenance) if note.provenance else {}
    rules = sorted(document.finding_ids)
    metadata = _metadata(document.document_id, row, note, versions, {**more, "finding_ids": rules})
    findings = _findings(note.findings) or tuple(
        {"id": rule, "severity": None, "category": None, "channel": None} for rule in rules
    )
    return PageRecord(number=number, row=row, metadata=metadata, findings=findings)


def record_failed(document_id: str, failed: FailedRecord, versions: Mapping[str, str]) -> PageRecord:
    """A page without a document."""
    note = PageNote(
        depth=failed.depth,
        rendered=failed.rendered,
        warnings=failed.warnings,
        wire_bytes=failed.wire_bytes,
        revalidated_at=failed.revalidated_at,
        imported_at=failed.imported_at,
    )
    origin = _Origin(
        requested_url=failed.requested_url,
        final_url=failed.final_url,
        http_status=failed.http_status,
        source_ref=failed.source_ref,
        sha256=failed.sha256,
        size_bytes=failed.size_bytes,
    )
    end = _End(
        outcome=OutcomeKind.BLOCKED if failed.is_blocked else OutcomeKind.FAILED,
        decision=Decision.BLOCK if failed.is_blocked else None,
        code=failed.code,
        retryable=failed.retryable,
    )
    row = _row(failed.number, note, origin, end)
    more = {
        "message": failed.message,
        "hops": _hops(failed.hops),
        "stopped_at": failed.stopped_at,
        "robots": failed.robots.value,
        "retrieved_at": failed.retrieved_at,
        "isolation": failed.isolation.value if failed.isolation else None,
    }
    metadata = _metadata(document_id, row, note, versions, more)
    return PageRecord(number=failed.number, row=row, metadata=metadata, findings=())


def _record_text(
    number: int,
    document: AcceptedDocument | QuarantinedDocument,
    content: bytes,
    note: PageNote,
    end: _End,
    versions: Mapping[str, str],
    extra: Mapping[str, Any],
) -> PageRecord:
    provenance = document.provenance
    origin = _Origin(
        requested_url=provenance.requested_url,
        final_url=provenance.final_url,
        http_status=provenance.http_status,
        source_ref=provenance.source_ref,
        sha256=provenance.sha256,
        size_bytes=provenance.size_bytes,
    )
    row = _row(number, note, origin, end)
    more = {
        **_provenance_fields(provenance),
        **extra,
        "finding_ids": sorted({finding.id for finding in document.findings}),
    }
    return PageRecord(
        number=number,
        row=row,
        metadata=_metadata(document.document_id, row, note, versions, more),
        findings=_findings(document.findings),
        path=end.path,
        content=content,
    )


def source_line(source: SourceRecord) -> dict[str, Any]:
    """What was asked for beside pages, as sources.json holds it."""
    return {
        "kind": source.kind,
        "url": source.url,
        "final_url": source.final_url,
        "http_status": source.http_status,
        "source_ref": source.source_ref,
        "code": source.code.value if source.code else None,
        "message": source.message,
        "hops": _hops(source.hops),
        "wire_bytes": source.wire_bytes,
        "retrieved_at": source.retrieved_at,
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _row(number: int, note: PageNote, origin: _Origin, end: _End) -> dict[str, Any]:
    """A page in a manifest."""
    facts = CODES[end.code] if end.code else None
    return {
        "n": number,
        "url": origin.requested_url,
        "final_url": origin.final_url,
        "depth": note.depth,
        "http_status": origin.http_status,
        "outcome": end.outcome.value,
        "decision": end.decision.value if end.decision else None,
        "code": end.code.value if end.code else None,
        "reason": facts.reason.value if facts else None,
        "retryable": end.retryable if end.retryable is not None else bool(facts and facts.retryable),
        "path": end.path,
        "source_ref": origin.source_ref,
        "sha256": origin.sha256,
        "bytes": origin.size_bytes,
        "rendered": note.rendered,
        "warnings": [warning.value for warning in note.warnings],
    }


def _metadata(
    document_id: str,
    row: Mapping[str, Any],
    note: PageNote,
    versions: Mapping[str, str],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """A page in its own file: the row, and what only one page is asked about."""
    fields: dict[str, Any] = {
        "schema": _DOCUMENT_SCHEMA,
        "document_id": document_id,
        "message": None,
        "content_type": None,
        "retrieved_at": None,
        "revalidated_at": note.revalidated_at,
        "imported_at": note.imported_at,
        "wire_bytes": note.wire_bytes,
        "stopped_at": None,
        "initiator": None,
        "isolation": None,
        "robots": RobotsState.NOT_CHECKED.value,
        "hops": [],
        "markdown_sha256": None,
        "exposed_sha256": {},
        "rescreened": [],
        "finding_ids": [],
    }
    return {**fields, **row, **more, "versions": dict(versions)}


def _provenance_fields(provenance: Provenance) -> dict[str, Any]:
    return {
        "content_type": provenance.content_type,
        "retrieved_at": format_time(provenance.retrieved_at),
        "initiator": provenance.initiator.value,
        "isolation": provenance.isolation.value,
        "robots": provenance.robots.value,
        "hops": _hops(provenance.hops),
    }


def _hops(hops: tuple[Hop, ...]) -> list[dict[str, Any]]:
    return [
        {
            "url": hop.url,
            "address": hop.address,
            "status": hop.status,
            "protocol": hop.protocol,
            "exception": hop.exception,
        }
        for hop in hops
    ]


def _findings(findings: tuple[Finding, ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {
            "id": finding.id,
            "severity": finding.severity.name,
            "category": finding.category,
            "channel": finding.channel.name.lower(),
        }
        for finding in findings
    )
