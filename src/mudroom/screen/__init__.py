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
from mudroom.screen.report import (
    format_report_json,
    format_report_sarif,
    format_report_text,
    format_rules_json,
)
from mudroom.screen.rules import Rule, RuleSet, digest_rules, load_rules, parse_rules
from mudroom.screen.scanner import SCANNER_VERSION, Scanner
from mudroom.screen.textscan import TextMatch, TextOptions, TextReport, scan_text

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
    "TextMatch",
    "TextOptions",
    "TextReport",
    "WarnHandling",
    "block_unscanned",
    "compute_policy_version",
    "decide",
    "digest_rules",
    "format_report_json",
    "format_report_sarif",
    "format_report_text",
    "format_rules_json",
    "judge_findings",
    "load_rules",
    "parse_rules",
    "scan_text",
]
