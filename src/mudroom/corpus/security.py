"""What was found in a run, by rule and severity: never a word of the text in which it was found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mudroom.corpus.manifest import join_lines
from mudroom.corpus.records import PageRecord
from mudroom.model import Decision, Severity

__all__ = ["SUMMARY_SCHEMA", "SecurityTally", "findings_line", "render_findings"]

FINDINGS_SCHEMA = "mudroom.findings/1"
SUMMARY_SCHEMA = "mudroom.security-summary/1"


class SecurityTally:
    """The counts of security/summary.json. Bounded: by the number of rules, not of pages."""

    def __init__(self) -> None:
        self._decisions: Counter[str] = Counter()
        self._severities: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()

    def count(self, decision: str | None, findings: Iterable[Mapping[str, Any]]) -> None:
        """Count one page."""
        if decision is not None:
            self._decisions[decision] += 1
        for finding in findings:
            self._rules[finding["id"]] += 1
            if finding["severity"] is not None:
                self._severities[finding["severity"]] += 1

    def render(self, run_id: str, versions: Mapping[str, str]) -> bytes:
        """The summary as JSON."""
        value = {
            "schema": SUMMARY_SCHEMA,
            "run_id": run_id,
            "versions": dict(versions),
            "decisions": {decision.value: self._decisions[decision.value] for decision in Decision},
            "severities": {severity.name: self._severities[severity.name] for severity in Severity},
            "rules": dict(sorted(self._rules.items())),
        }
        return json.dumps(value, indent=2).encode() + b"\n"


def findings_line(record: PageRecord) -> dict[str, Any] | None:
    """One page in security/findings.json; None when nothing was found in it."""
    if not record.findings:
        return None
    return {
        "n": record.number,
        "document_id": record.metadata["document_id"],
        "outcome": record.row["outcome"],
        "decision": record.row["decision"],
        "findings": list(record.findings),
    }


def render_findings(run_id: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The findings of a run as JSON, in pieces."""
    head = json.dumps({"schema": FINDINGS_SCHEMA, "run_id": run_id}, indent=2).removesuffix("\n}")
    yield head.encode() + b',\n  "documents": ['
    yield from join_lines(lines)
    yield b"]\n}\n"
