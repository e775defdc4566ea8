"""How the way in ended: Stored | Quarantined | Blocked | Failed.

Only `Stored` has a page and links. What the other three hold is ids, codes and origins: enough for a
person to look further, nothing of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.errors import CODES, Code, MudroomError, Reason
from mudroom.intake.answers import may_retry_status
from mudroom.model import Decision, Finding, Hop, Isolation, Link, OutcomeKind, Provenance, WarningCode
from mudroom.screen import ExposedPage

__all__ = ["Blocked", "Failed", "Outcome", "PageFacts", "Quarantined", "Stored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What is known of a page whatever became of it; nothing here was written by the page but its URLs."""

    number: int
    document_id: str
    run_id: str
    requested_url: str
    final_url: str | None = None
    depth: int = 0
    """Links away from the seed of its crawl."""
    http_status: int | None = None
    retry_after_seconds: float | None = None
    """How long the answer asks to be left alone."""
    hops: tuple[Hop, ...] = ()
    source_ref: str | None = None
    sha256: str | None = None
    size_bytes: int = 0
    """Bytes of the body as received."""
    stopped_at: str | None = None
    """The URL at which a chain of requests failed."""
    wire_bytes: int = 0
    """Bytes that the budget of a run is charged with: every hop's body as received."""
    duration_seconds: float | None = None
    """From the first name looked up to the last byte of the body; None for a file."""
    retrieved_at: str | None = None
    revalidated_at: str | None = None
    """When the site said that the bytes of `retrieved_at` are still the same."""
    imported_at: str | None = None
    """When bytes came in that somebody else says to have retrieved at `retrieved_at`."""
    isolation: Isolation | None = None
    warnings: tuple[WarningCode, ...] = ()
    path: str | None = None
    """Where the document lies, relative to its run's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An accepted document, SAFE or flagged WARN."""

    facts: PageFacts
    page: ExposedPage
    provenance: Provenance
    decision: Decision
    findings: tuple[Finding, ...]
    links: tuple[Link, ...]
    base: ParsedUrl | None
    """What the links are relative to; None for a file without a URL."""
    link_scope: ExceptionScope
    """The exceptions that this page's links may use: those it was itself dialled in."""
    text: str | None = None
    """The text view, when it was asked for; scanned like the Markdown."""
    kind: OutcomeKind = OutcomeKind.STORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A WARN document that policy keeps apart for a person."""

    facts: PageFacts
    findings: tuple[Finding, ...]
    decision: Decision = Decision.WARN
    kind: OutcomeKind = OutcomeKind.QUARANTINED


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A document withheld by a scan, by policy, or for a violation met on the way."""

    facts: PageFacts
    code: Code
    message: str
    findings: tuple[Finding, ...] = ()
    decision: Decision = Decision.BLOCK
    retryable: bool = False
    kind: OutcomeKind = OutcomeKind.BLOCKED

    @property
    def reason(self) -> Reason:
        """The class of the code."""
        return CODES[self.code].reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A page that could not be had, or a URL that may not be asked for."""

    facts: PageFacts
    code: Code
    message: str
    retryable: bool
    kind: OutcomeKind = OutcomeKind.FAILED

    @property
    def reason(self) -> Reason:
        """The class of the code."""
        return CODES[self.code].reason


Outcome = Stored | Quarantined | Blocked | Failed

_BLOCKING = frozenset(
    {
        Reason.REDIRECT_VIOLATION,
        Reason.CONTENT_TOO_LARGE,
        Reason.UNSUPPORTED_CONTENT_TYPE,
        Reason.SCANNER_FAILURE,
        Reason.PROMPT_INJECTION,
        Reason.POLICY_VIOLATION,
    }
)

_REFUSING = frozenset({Reason.SSRF, Reason.UNSUPPORTED_SCHEME, Reason.INVALID_INPUT})
"""Classes of a URL that may not be asked for; behind a redirect it is a violation."""


def classify_failure(error: MudroomError, facts: PageFacts) -> Blocked | Failed:
    """The outcome of an error: Blocked for a violation met on the way, else Failed.

    A refused URL that was asked for is Failed; the same refusal behind a redirect is a violation.
    Source: decision 1 of the design; ADR-016 of the guarded reader.
    """
    # To ask https in place of http is no redirect of a site.
    is_behind = any(hop.address for hop in facts.hops)
    is_violation = error.reason in _BLOCKING or (error.reason in _REFUSING and is_behind)
    if is_violation:
        return Blocked(facts=facts, code=error.code, message=error.message)
    retryable = error.retryable
    if error.code is Code.HTTP_STATUS and facts.http_status is not None:
        retryable = may_retry_status(facts.http_status)
    return Failed(facts=facts, code=error.code, message=error.message, retryable=retryable)
