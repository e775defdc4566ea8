"""The policy that turns findings into a verdict, and the version that names it.

LOW is recorded, MEDIUM warns, HIGH and CRITICAL block (decision 14). What a warning leads to is the
operator's choice; what blocks is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum, unique

from mudroom.model import Decision, Finding, Severity
from mudroom.screen.limits import ScanLimits

__all__ = ["PolicyOptions", "WarnHandling", "compute_policy_version", "judge_findings"]


@unique
class WarnHandling(StrEnum):
    """What becomes of a document whose worst finding is MEDIUM."""

    FLAG = "flag"
    """Stored and handed on, with the verdict WARN beside it."""
    QUARANTINE = "quarantine"
    """Kept for a person in a folder that agents never see; its links are not followed."""
    BLOCK = "block"
    """Withheld like anything worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """What the operator decides about verdicts: the section `policy` of the settings."""

    warn: WarnHandling = WarnHandling.FLAG
    """flag, quarantine or block documents with a warning."""


def judge_findings(findings: Iterable[Finding]) -> tuple[Decision, Severity | None]:
    """The verdict that findings give, and the worst severity among them (None: there are none)."""
    worst = max((finding.severity for finding in findings), default=None)
    if worst is None or worst is Severity.LOW:
        return Decision.SAFE, worst
    return (Decision.WARN if worst is Severity.MEDIUM else Decision.BLOCK), worst


def compute_policy_version(
    screen_options: ScanLimits, policy_options: PolicyOptions, rules_digest: str
) -> str:
    """The version of what decides: 64 hex digits that change with any screen or policy option or rule.

    Why: documents accepted under other options or rules are re-screened before they are served again.
    Source: decision 14; row 72 of the tables that tests/screen/test_policy.py repeats.
    """
    parts = {"policy": asdict(policy_options), "rules": rules_digest, "screen": asdict(screen_options)}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
