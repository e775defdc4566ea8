"""An outcome as the JSON that programs read: the schema mudroom.outcome/1."""

from __future__ import annotations

from collections.abc import Mapping

from mudroom.clock import format_time
from mudroom.intake.outcome import Blocked, Failed, Outcome, Quarantined, Stored
from mudroom.model import Finding

__all__ = ["describe_findings", "describe_outcome"]


def describe_outcome(outcome: Outcome, versions: Mapping[str, str]) -> dict[str, object]:
    """The outcome as one JSON object; `markdown` and `title` are absent unless it was stored."""
    facts = outcome.facts
    report: dict[str, object] = {
        "outcome": outcome.kind.value,
        "decision": None if isinstance(outcome, Failed) else outcome.decision.value,
        "code": None,
        "reason": None,
        "message": None,
        "retryable": False,
        "requested_url": facts.requested_url,
        "final_url": facts.final_url,
        "http_status": facts.http_status,
        "source_ref": facts.source_ref,
        "document_id": facts.document_id or None,
        "run_id": facts.run_id or None,
        "path": facts.path,
        "retrieved_at": facts.retrieved_at,
        "findings": [],
        "warnings": [warning.value for warning in facts.warnings],
        "versions": dict(versions),
        "isolation": facts.isolation.value if facts.isolation else None,
    }
    if isinstance(outcome, Blocked | Failed):
        report |= {
            "code": outcome.code.value,
            "reason": outcome.reason.value,
            "message": outcome.message,
            "retryable": outcome.retryable,
        }
    if isinstance(outcome, Stored | Quarantined | Blocked):
        report["findings"] = describe_findings(outcome.findings)
    if isinstance(outcome, Stored):
        page = outcome.page
        report |= {
            "title": page.title,
            "markdown": page.markdown,
            "source_ref": page.source_ref,
            "retrieved_at": format_time(page.retrieved_at),
        }
    return report


def describe_findings(findings: tuple[Finding, ...]) -> list[dict[str, str]]:
    """Findings as records hold them: no text, each combination once, worst first."""
    ordered = sorted(findings, key=lambda finding: (-finding.severity, finding.id, finding.channel))
    described = [
        {
            "id": finding.id,
            "severity": finding.severity.name,
            "category": finding.category,
            "channel": finding.channel.name.lower(),
        }
        for finding in ordered
    ]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(item.items()) for item in described)]
