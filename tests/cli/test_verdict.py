"""What people read of an outcome, and which status it gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.exits import ExitStatus
from mudroom.cli.manifest import judge_manifests, tell_manifest
from mudroom.cli.verdict import describe_decision, describe_size, judge_outcomes, tell_outcome
from mudroom.errors import Code
from mudroom.intake import Blocked, Failed, PageFacts, Quarantined
from mudroom.model import Channel, Decision, Finding, Hiding, Severity

FACTS = PageFacts(number=1, document_id="open_X/000001", run_id="open_X", requested_url="invoice.html")


def finding(identifier: str, severity: Severity, line: int = 0, hiding: Hiding = Hiding.NONE) -> Finding:
    return Finding(
        id=identifier,
        severity=severity,
        category="role-override",
        channel=Channel.COMMENT,
        hiding=hiding,
        line=line,
    )


BLOCKED = Blocked(facts=FACTS, code=Code.PROMPT_INJECTION, message="withheld: ROLE-004")
QUARANTINED = Quarantined(facts=FACTS, findings=())
GONE = Failed(facts=FACTS, code=Code.DNS_FAILURE, message="no such name", retryable=True)
REFUSED = Failed(facts=FACTS, code=Code.DENIED_ADDRESS, message="not public", retryable=False)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((), ExitStatus.DONE),
        ((BLOCKED,), ExitStatus.NEGATIVE),
        ((QUARANTINED,), ExitStatus.NEGATIVE),
        ((GONE,), ExitStatus.FAILED),
        ((REFUSED,), ExitStatus.NEGATIVE),
        ((GONE, BLOCKED), ExitStatus.NEGATIVE),
        ((GONE, REFUSED), ExitStatus.NEGATIVE),
    ],
)
def test_a_negative_verdict_outweighs_a_failure(outcomes: tuple[Failed, ...], status: ExitStatus) -> None:
    assert judge_outcomes(outcomes) is status


def test_the_status_of_an_answer_that_is_an_error_stands_in_the_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = replace(FACTS, http_status=404)
    for code, line in ((Code.HTTP_STATUS, "HTTP_STATUS 404\n"), (Code.BOT_WALL, "BOT_WALL\n")):
        tell_outcome(Failed(facts=facts, code=code, message="m", retryable=False), Voice(), Path("/nowhere"))
        assert f"invoice.html  {line}" in capsys.readouterr().err


def test_a_block_is_told_worst_first_with_place_and_hiding(capsys: pytest.CaptureFixture[str]) -> None:
    findings = (
        finding("EXFIL-002", Severity.HIGH, 88),
        finding("ROLE-004", Severity.CRITICAL, 41, Hiding.FONT_SIZE),
        finding("EXFIL-002", Severity.HIGH, 88),
    )
    outcome = Blocked(facts=FACTS, code=Code.PROMPT_INJECTION, message="", findings=findings)
    tell_outcome(outcome, Voice(), Path("/nowhere"))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "BLOCKED    invoice.html  PROMPT_INJECTION",
        "  CRITICAL ROLE-004     line 41, comment, text hidden by font-size",
        "  HIGH     EXFIL-002    line 88, comment",
        "withheld   nothing was printed or given to agents",
    ]


def test_a_flood_of_findings_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    findings = tuple(finding("ROLE-001", Severity.HIGH, line) for line in range(1, 100))
    tell_outcome(
        Blocked(facts=FACTS, code=Code.PROMPT_INJECTION, message="", findings=findings), Voice(), Path("/n")
    )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 15
    assert lines[13].strip() == "and 87 more"


def test_a_failure_says_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    tell_outcome(GONE, Voice(), Path("/nowhere"))
    assert capsys.readouterr().err.splitlines() == [
        "FAILED     invoice.html  DNS_FAILURE",
        "because    no such name",
        "help       Check the name and this machine's resolver.",
    ]


@pytest.mark.parametrize("hiding", Hiding)
def test_every_way_of_hiding_has_words(hiding: Hiding, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Blocked(
        facts=FACTS,
        code=Code.PROMPT_INJECTION,
        message="",
        findings=(finding("ROLE-001", Severity.LOW, hiding=hiding),),
    )
    tell_outcome(outcome, Voice(), Path("/nowhere"))
    assert "ROLE-001" in capsys.readouterr().err


def test_safe_is_said_as_what_was_looked_for() -> None:
    assert describe_decision(Decision.SAFE, ()) == "no findings (known patterns only)"
    low = (finding("ENC-001", Severity.LOW),)
    assert describe_decision(Decision.SAFE, low) == "nothing above LOW (1 recorded; known patterns only)"
    warned = (finding("ROLE-002", Severity.MEDIUM), finding("ROLE-001", Severity.MEDIUM))
    assert describe_decision(Decision.WARN, warned) == "WARN: ROLE-001, ROLE-002"


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (34_400, "34 KB"), (2_340_000, "2.3 MB")]
)
def test_a_size_is_told_in_its_unit(size: int, words: str) -> None:
    assert describe_size(size) == words


def manifest(state: str, *codes: str | None) -> dict[str, object]:
    return {
        "state": state,
        "run_id": None,
        "warnings": [],
        "pages": [
            {
                "n": n,
                "outcome": "FAILED" if code else "STORED",
                "decision": None,
                "code": code,
                "url": "http://x/\x1b",
            }
            for n, code in enumerate(codes, 1)
        ],
        "totals": dict.fromkeys(("stored", "warned", "quarantined", "blocked", "failed", "discovered"), 0),
    }


@pytest.mark.parametrize(
    ("manifests", "status"),
    [
        ((manifest("COMPLETE", None),), 0),
        ((manifest("LIMIT_REACHED", None, "DNS_FAILURE"),), 0),
        ((manifest("FAILED", "DNS_FAILURE"),), 1),
        ((manifest("FAILED"),), 1),
        ((manifest("FAILED", "DENIED_ADDRESS"),), 3),
        ((manifest("FAILED", "DENIED_ADDRESS"), manifest("COMPLETE", None)), 3),
        ((manifest("COMPLETE", None), manifest("CANCELLED", None)), 130),
        ((), 130),
    ],
)
def test_a_crawl_is_judged_by_its_end(manifests: tuple[dict[str, object], ...], status: int) -> None:
    assert judge_manifests(manifests) == status


def test_a_crawl_without_a_record_is_told_without_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    tell_manifest(manifest("FAILED", "DNS_FAILURE"), Voice(), Path("/w"), is_table_wanted=True)
    said = capsys.readouterr()
    assert "\x1b" not in said.out
    assert "kept" not in said.err
    assert "help       Check the name" in said.err
