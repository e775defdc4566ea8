"""The verdict of severities, and the version that names what decided."""

from __future__ import annotations

import dataclasses

import pytest

from mudroom.model import Channel, Decision, Finding, Hiding, Severity
from mudroom.screen.limits import ScanLimits
from mudroom.screen.policy import PolicyOptions, WarnHandling, compute_policy_version, judge_findings

RULES = "ab" * 32


@pytest.mark.parametrize(
    ("severities", "decision", "worst"),
    [
        ((), Decision.SAFE, None),
        ((Severity.LOW, Severity.LOW), Decision.SAFE, Severity.LOW),
        ((Severity.LOW, Severity.MEDIUM), Decision.WARN, Severity.MEDIUM),
        ((Severity.HIGH, Severity.LOW), Decision.BLOCK, Severity.HIGH),
        ((Severity.CRITICAL,), Decision.BLOCK, Severity.CRITICAL),
    ],
)
def test_the_worst_severity_is_the_verdict(
    severities: tuple[Severity, ...], decision: Decision, worst: Severity | None
) -> None:
    findings = [
        Finding(id="ROLE-001", severity=it, category="x", channel=Channel.TEXT, hiding=Hiding.NONE, line=1)
        for it in severities
    ]
    assert judge_findings(findings) == (decision, worst)


def test_every_screen_and_policy_option_and_the_rules_change_the_policy_version() -> None:
    versions = {compute_policy_version(ScanLimits(), PolicyOptions(), RULES)}
    for field in dataclasses.fields(ScanLimits):
        changed = dataclasses.replace(ScanLimits(), **{field.name: getattr(ScanLimits(), field.name) + 1})
        versions.add(compute_policy_version(changed, PolicyOptions(), RULES))
    for warn in (WarnHandling.QUARANTINE, WarnHandling.BLOCK):
        versions.add(compute_policy_version(ScanLimits(), PolicyOptions(warn=warn), RULES))
    versions.add(compute_policy_version(ScanLimits(), PolicyOptions(), "cd" * 32))
    assert len(versions) == 1 + len(dataclasses.fields(ScanLimits)) + 2 + 1


def test_the_same_options_give_the_same_policy_version() -> None:
    first = compute_policy_version(ScanLimits(), PolicyOptions(), RULES)
    assert first == compute_policy_version(ScanLimits(), PolicyOptions(warn=WarnHandling.FLAG), RULES)
    assert len(first) == 64
