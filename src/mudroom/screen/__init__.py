"""Signs of instruction hidden in text, and the policy that turns findings into a verdict."""

from mudroom.screen.decision import (
    AcceptedDocument,
    ExposedPage,
    QuarantinedDocument,
    ScannedDocument,
    block_unscanned,
    decide,
)
from mudroom.screen.limits import ScanLimits
from mudroom.screen.policy import PolicyOptions, WarnHandling, compute_policy_version, judge_findings
from mudroom.screen.rules import Rule, RuleSet, load_rules, parse_rules
from mudroom.screen.scanner import SCANNER_VERSION, Scanner

__all__ = [
    "SCANNER_VERSION",
    "AcceptedDocument",
    "ExposedPage",
    "PolicyOptions",
    "QuarantinedDocument",
    "Rule",
    "RuleSet",
    "ScanLimits",
    "ScannedDocument",
    "Scanner",
    "WarnHandling",
    "block_unscanned",
    "compute_policy_version",
    "decide",
    "judge_findings",
    "load_rules",
    "parse_rules",
]
