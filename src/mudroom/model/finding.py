"""What a scanner says of a document: findings without any text of it."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.model.text import SecurityText
from mudroom.model.vocabulary import Channel, ExposedForm, Hiding, Severity

__all__ = ["ExposedText", "Finding", "ScanReport", "ScanRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sign of instruction: which rule, how bad, in which channel and line. Never the text."""

    id: str
    """The stable id of the rule, for example ROLE-004."""
    severity: Severity
    category: str
    channel: Channel
    hiding: Hiding
    line: int
    """1-based; 0 where it is not known."""
    is_decoded: bool = False
    """Found in a decoded or normalised view, not in the text as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedText:
    """A string that will be handed on, in exactly that form."""

    form: ExposedForm
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """All that is scanned of one document: everything exposed, and everything a model could see."""

    exposed: tuple[ExposedText, ...]
    security_text: SecurityText


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The answer to a scan request that was finished; a scan that was not raises instead."""

    findings: tuple[Finding, ...]
    request_sha256: str
    """Digest of the request as the scanner received it; the caller compares it with its own."""
    scanner_version: str
