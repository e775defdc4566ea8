"""Reports of text scans as JSON in the classic shape, as SARIF 2.1.0 and as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from mudroom.model import Severity
from mudroom.screen.rules import RuleSet
from mudroom.screen.textscan import TextMatch, TextReport

__all__ = ["format_report_json", "format_report_sarif", "format_report_text", "format_rules_json"]

_LEVELS = {
    Severity.CRITICAL: ("error", "9.0"),
    Severity.HIGH: ("error", "7.0"),
    Severity.MEDIUM: ("warning", "5.0"),
    Severity.LOW: ("note", "2.0"),
}


def format_report_json(reports: Sequence[TextReport]) -> str:
    """A JSON array, one object a text, with exactly the keys of the classic scanner.

    Source: facts of the classic scanner's output, repeated in tests/screen/test_report.py.
    """
    return json.dumps([_report_object(report) for report in reports], indent=2, ensure_ascii=False)


def _report_object(report: TextReport) -> dict[str, object]:
    groups = {
        "matches": report.matches,
        "suppressed": report.suppressed,
        "low_confidence": report.low_confidence,
        "baselined": report.baselined,
    }
    value: dict[str, object] = {"file": report.file}
    value |= {name: [_match_object(match, report.file) for match in group] for name, group in groups.items()}
    for severity in sorted(Severity, reverse=True):
        value[f"{severity.name.lower()}_count"] = sum(match.severity is severity for match in report.matches)
    return value


def _match_object(match: TextMatch, file: str) -> dict[str, object]:
    return {
        "pattern_id": match.rule.id,
        "pattern_name": match.rule.name,
        "severity": match.severity.name,
        "message": match.rule.message,
        "remediation": match.rule.remediation,
        "file": file,
        "line": match.line,
        "matched_text": match.untrusted_words,
        "context": match.context.value,
        "confidence": match.confidence,
    }


def format_rules_json(rules: RuleSet) -> str:
    """A JSON array of the rules, with the keys of the classic scanner's `rules`."""
    return json.dumps(
        [
            {
                "id": rule.id,
                "name": rule.name,
                "severity": rule.severity.name,
                "category": rule.category,
                "description": rule.message,
                "remediation": rule.remediation,
                "pattern": "|".join(pattern.source for pattern in rule.patterns),
                "tags": [rule.category],
            }
            for rule in rules.all_rules()
        ],
        indent=2,
        ensure_ascii=False,
    )


def format_report_sarif(reports: Sequence[TextReport], rules: RuleSet, version: str) -> str:
    """A SARIF 2.1.0 log of one run; what was suppressed is there, marked as such."""
    results = [result for report in reports for result in _sarif_results(report)]
    driver = {
        "name": "mudroom",
        "version": version,
        "rules": [
            {
                "id": rule.id,
                "name": rule.name,
                "shortDescription": {"text": rule.message},
                "help": {"text": rule.remediation},
                "properties": {"security-severity": _LEVELS[rule.severity][1], "tags": [rule.category]},
            }
            for rule in rules.all_rules()
        ],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _sarif_results(report: TextReport) -> Iterable[dict[str, object]]:
    for match in report.matches:
        yield _sarif_result(match, report.file)
    for match in report.suppressed:
        yield _sarif_result(match, report.file) | {"suppressions": [{"kind": "inSource"}]}


def _sarif_result(match: TextMatch, file: str) -> dict[str, object]:
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": match.line}}
    return {
        "ruleId": match.rule.id,
        "level": _LEVELS[match.severity][0],
        "message": {"text": match.rule.message},
        "locations": [{"physicalLocation": place}],
        "properties": {"confidence": match.confidence, "context": match.context.value},
    }


def format_report_text(reports: Sequence[TextReport]) -> str:
    """Lines for people, worst first; words of the text with every control character made visible."""
    lines: list[str] = []
    for report in reports:
        if not report.matches:
            lines.append(f"{_make_inert(report.file)}: no findings (known patterns only)")
        for match in sorted(report.matches, key=lambda item: (-item.severity, item.line)):
            words = _make_inert(" ".join(match.untrusted_words.split())[:80])
            lines.append(
                f"{_make_inert(report.file)}:{match.line}: {match.severity.name} {match.rule.id} {match.rule.name}"
            )
            lines.append(f"    {words}")
        lines += [
            f"{_make_inert(report.file)}: {len(group)} more {name}"
            for name, group in (
                ("suppressed", report.suppressed),
                ("with low confidence", report.low_confidence),
            )
            if group
        ]
    return "\n".join(lines)


def _make_inert(untrusted_text: str) -> str:
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in untrusted_text)
