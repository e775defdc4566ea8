"""The sealed states of a document that was scanned, and the only functions that make them.

    UntrustedDocument ──decide──▶ AcceptedDocument      ──expose──▶ ExposedPage
                        │         QuarantinedDocument   (a person may look; nothing is exposed)
                        ╰───────▶ BlockedDocument       (no field can hold text of the page)

A state is sealed: its constructor asks for a token that only this module holds, and no other way of
making one in Python (replace, copy, unpickle, subclass) is left open. Text of an accepted document is
taken from what was scanned, never rendered again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NoReturn, final

from mudroom.errors import CODES, Code
from mudroom.model import (
    BlockedDocument,
    Decision,
    ExposedForm,
    ExposedText,
    Finding,
    Link,
    Provenance,
    ScanReport,
    ScanRequest,
    Severity,
    UntrustedDocument,
)
from mudroom.screen.policy import PolicyOptions, WarnHandling, judge_findings
from mudroom.wire import digest_scan_request

__all__ = [
    "SCANNER_CATEGORY",
    "AcceptedDocument",
    "ExposedPage",
    "QuarantinedDocument",
    "ScannedDocument",
    "block_unscanned",
    "decide",
]

SCANNER_CATEGORY = "scanner"
"""The category of findings by which the scanner says that it could not finish."""

_SEAL = object()
_FINDING_ID = re.compile(r"[A-Z]{2,12}-[0-9]{3}")
_CATEGORY = re.compile(r"[a-z]+(?:-[a-z]+){0,3}")
_MAX_URLS = 2
_MAX_CATEGORY = 40


class _Sealed:
    """What every sealed state shares: no subclass, no copy, no pickle."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if any(base is not _Sealed for base in cls.__bases__):
            raise TypeError("a sealed state has no subclasses")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is neither copied nor pickled")


def _check_seal(seal: object) -> None:
    if seal is not _SEAL:
        raise TypeError("only mudroom.screen.decision makes this state")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedPage(_Sealed):
    """All that a surface may show of a page: text that was scanned in this form, and its verdict."""

    requested_url: str
    final_url: str
    title: str
    markdown: str
    decision: Decision
    source_ref: str | None
    finding_ids: tuple[str, ...]
    """Sorted, each once."""
    retrieved_at: datetime
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        _check_seal(seal)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedDocument(_Sealed):
    """A document whose scan is known to be a scan of exactly this text."""

    document: UntrustedDocument
    texts: Mapping[ExposedForm, tuple[str, ...]]
    findings: tuple[Finding, ...]
    scanner_version: str
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        _check_seal(seal)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedDocument(_Sealed):
    """A document that may be stored and handed on; SAFE, or WARN and flagged.

    Shapes: every text is byte for byte what was scanned. `digests` holds the SHA-256 of each form (hex,
    of its UTF-8), the verdict's bond to it. `text` is None where that view was not asked for.
    """

    document_id: str
    requested_url: str
    final_url: str
    title: str
    slug: str
    markdown: str
    text: str | None
    links: tuple[Link, ...]
    decision: Decision
    findings: tuple[Finding, ...]
    provenance: Provenance
    digests: Mapping[ExposedForm, str]
    scanner_version: str
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        _check_seal(seal)

    def expose(self) -> ExposedPage:
        """What a surface may show of this document."""
        return ExposedPage(
            requested_url=self.requested_url,
            final_url=self.final_url,
            title=self.title,
            markdown=self.markdown,
            decision=self.decision,
            source_ref=self.provenance.source_ref,
            finding_ids=_list_ids(self.findings),
            retrieved_at=self.provenance.retrieved_at,
            seal=_SEAL,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedDocument(_Sealed):
    """A document with a warning, kept for a person. It has no links, and nothing of it is exposed."""

    document_id: str
    final_url: str
    title: str
    slug: str
    markdown: str
    decision: Decision
    findings: tuple[Finding, ...]
    provenance: Provenance
    scanner_version: str
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        _check_seal(seal)


def decide(
    document: UntrustedDocument,
    exposed: tuple[ExposedText, ...],
    report: ScanReport,
    policy: PolicyOptions,
    *,
    digest: Callable[[ScanRequest], str] = digest_scan_request,
) -> AcceptedDocument | QuarantinedDocument | BlockedDocument:
    """The state that a finished scan leads to.

    Shapes: `exposed` holds title, slug and Markdown once each, text at most once, and the URL once (final
    and requested are the same) or twice (final, then requested).
    Raises: nothing. A report of another text, a report that says what no scanner of ours says, and
    missing forms block with SCANNER_FAILURE.
    Source: decisions 12, 13 and 14.
    """
    scanned = _bind(document, exposed, report, digest)
    if scanned is None:
        return block_unscanned(document)
    decision, _ = judge_findings(scanned.findings)
    if decision is Decision.BLOCK:
        return _block(scanned, _name_block(scanned.findings))
    if decision is Decision.WARN and policy.warn is WarnHandling.BLOCK:
        return _block(scanned, Code.POLICY_VIOLATION)
    if decision is Decision.WARN and policy.warn is WarnHandling.QUARANTINE:
        return _quarantine(scanned)
    return _accept(scanned, decision)


def block_unscanned(document: UntrustedDocument, code: Code = Code.SCANNER_FAILURE) -> BlockedDocument:
    """A document that is withheld because no scan of it can be trusted, or because `code` says so."""
    return BlockedDocument(
        document_id=document.provenance.document_id,
        requested_url=document.provenance.requested_url,
        final_url=document.provenance.final_url,
        code=code,
        reason=CODES[code].reason,
        source_ref=document.provenance.source_ref,
    )


def _bind(
    document: UntrustedDocument,
    exposed: tuple[ExposedText, ...],
    report: ScanReport,
    digest: Callable[[ScanRequest], str],
) -> ScannedDocument | None:
    own = digest(ScanRequest(exposed=exposed, security_text=document.content.security_text))
    texts = _group_forms(exposed)
    if report.request_sha256 != own or texts is None or not all(map(_is_credible, report.findings)):
        return None
    return ScannedDocument(
        document=document,
        texts=texts,
        findings=report.findings,
        scanner_version=report.scanner_version,
        seal=_SEAL,
    )


def _group_forms(exposed: tuple[ExposedText, ...]) -> Mapping[ExposedForm, tuple[str, ...]] | None:
    """The texts by form, or None when one is missing or stands there too often."""
    texts = {form: tuple(item.text for item in exposed if item.form is form) for form in ExposedForm}
    once = (ExposedForm.TITLE, ExposedForm.SLUG, ExposedForm.MARKDOWN)
    if any(len(texts[form]) != 1 for form in once) or len(texts[ExposedForm.TEXT]) > 1:
        return None
    return texts if 1 <= len(texts[ExposedForm.URL]) <= _MAX_URLS else None


def _is_credible(finding: Finding) -> bool:
    """Whether a finding has the shape of ours: a taken-over scanner must not pass text through an id."""
    return (
        _FINDING_ID.fullmatch(finding.id) is not None
        and len(finding.category) <= _MAX_CATEGORY
        and _CATEGORY.fullmatch(finding.category) is not None
        and finding.line >= 0
    )


def _name_block(findings: tuple[Finding, ...]) -> Code:
    """PROMPT_INJECTION when a rule blocks; SCANNER_FAILURE when only the scanner's own limits do."""
    blocking = [finding for finding in findings if finding.severity >= Severity.HIGH]
    is_failure = all(finding.category == SCANNER_CATEGORY for finding in blocking)
    return Code.SCANNER_FAILURE if is_failure else Code.PROMPT_INJECTION


def _list_ids(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    return tuple(sorted({finding.id for finding in findings}))


def _block(scanned: ScannedDocument, code: Code) -> BlockedDocument:
    provenance = scanned.document.provenance
    return BlockedDocument(
        document_id=provenance.document_id,
        requested_url=provenance.requested_url,
        final_url=provenance.final_url,
        code=code,
        reason=CODES[code].reason,
        finding_ids=_list_ids(scanned.findings),
        scanner_version=scanned.scanner_version,
        source_ref=provenance.source_ref,
    )


def _quarantine(scanned: ScannedDocument) -> QuarantinedDocument:
    texts = scanned.texts
    return QuarantinedDocument(
        document_id=scanned.document.provenance.document_id,
        final_url=texts[ExposedForm.URL][0],
        title=texts[ExposedForm.TITLE][0],
        slug=texts[ExposedForm.SLUG][0],
        markdown=texts[ExposedForm.MARKDOWN][0],
        decision=Decision.WARN,
        findings=scanned.findings,
        provenance=scanned.document.provenance,
        scanner_version=scanned.scanner_version,
        seal=_SEAL,
    )


def _accept(scanned: ScannedDocument, decision: Decision) -> AcceptedDocument:
    texts = scanned.texts
    views = texts[ExposedForm.TEXT]
    digests = {
        form: hashlib.sha256(values[0].encode()).hexdigest() for form, values in texts.items() if values
    }
    return AcceptedDocument(
        document_id=scanned.document.provenance.document_id,
        requested_url=texts[ExposedForm.URL][-1],
        final_url=texts[ExposedForm.URL][0],
        title=texts[ExposedForm.TITLE][0],
        slug=texts[ExposedForm.SLUG][0],
        markdown=texts[ExposedForm.MARKDOWN][0],
        text=views[0] if views else None,
        links=scanned.document.content.links,
        decision=decision,
        findings=scanned.findings,
        provenance=scanned.document.provenance,
        digests=MappingProxyType(digests),
        scanner_version=scanned.scanner_version,
        seal=_SEAL,
    )
