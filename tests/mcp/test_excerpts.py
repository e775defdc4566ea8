from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from mudroom.errors import GuestFailed
from mudroom.mcp import GuestExcerptScreen
from mudroom.model import Channel, Decision, ExposedForm, Finding, Hiding, ScanReport, ScanRequest, Severity
from mudroom.wire import digest_scan_request


@dataclass
class ScriptedScanner:
    findings: tuple[Finding, ...] = ()
    digest: str | None = None
    asked: list[tuple[ScanRequest, str, str]] = field(default_factory=list)

    async def scan(self, request: ScanRequest, *, site: str, run_id: str) -> ScanReport:
        self.asked.append((request, site, run_id))
        return ScanReport(
            findings=self.findings,
            request_sha256=self.digest or digest_scan_request(request),
            scanner_version="1",
        )


def finding(severity: Severity) -> Finding:
    return Finding(
        id="EXFIL-002",
        severity=severity,
        category="exfil",
        channel=Channel.EXPOSED,
        hiding=Hiding.NONE,
        line=1,
    )


async def judge(scanner: ScriptedScanner) -> Any:
    screen = GuestExcerptScreen(cast("Any", scanner))
    return await screen.judge_excerpt("the words", final_url="https://www.a.example/x", run_id="open_1")


async def test_a_part_is_scanned_as_the_markdown_that_is_handed_on() -> None:
    scanner = ScriptedScanner()
    verdict = await judge(scanner)
    assert (verdict.decision, verdict.finding_ids) == (Decision.SAFE, ())
    ((request, site, run_id),) = scanner.asked
    assert [(item.form, item.text) for item in request.exposed] == [(ExposedForm.MARKDOWN, "the words")]
    assert (site, run_id) == ("https://a.example", "open_1")


@pytest.mark.parametrize(
    ("severity", "decision"),
    [
        (Severity.LOW, Decision.SAFE),
        (Severity.MEDIUM, Decision.WARN),
        (Severity.HIGH, Decision.BLOCK),
        (Severity.CRITICAL, Decision.BLOCK),
    ],
)
async def test_findings_in_a_part_are_judged_like_any(severity: Severity, decision: Decision) -> None:
    verdict = await judge(ScriptedScanner(findings=(finding(severity), finding(severity))))
    assert (verdict.decision, verdict.finding_ids) == (decision, ("EXFIL-002",))


async def test_a_report_of_another_text_is_no_report() -> None:
    with pytest.raises(GuestFailed):
        await judge(ScriptedScanner(digest="0" * 64))
