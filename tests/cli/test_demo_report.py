"""The demo told to a person: what differs is named, and never buried."""

from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.demo_report import DemoResult, describe_demo, show_demo
from mudroom.errors import Code
from mudroom.intake import Blocked, Failed, Outcome, PageFacts
from mudroom.testing.sample_site import NEVER_REQUESTED, SAMPLE_EXPECTATIONS

ORIGIN = "http://127.0.0.1:8000"
FACTS = PageFacts(number=1, document_id="", run_id="file_X", requested_url="invoice.html")
INVOICE = Blocked(facts=FACTS, code=Code.PROMPT_INJECTION, message="withheld")


def row(n: int, path: str, changes: dict[str, object]) -> dict[str, object]:
    expected = SAMPLE_EXPECTATIONS[path]
    is_stored = not expected.codes
    return {
        "n": n,
        "url": ORIGIN + path,
        "outcome": expected.outcome.value,
        "decision": "SAFE" if is_stored else None,
        "code": min(expected.codes).value if expected.codes else None,
        "path": f"pages/{n:06d}-slug.md" if is_stored else None,
        "source_ref": f"mudroom-snapshot:x?record={n:064x}",
    } | changes


def make(
    *, invoice: Outcome = INVOICE, requested: tuple[str, ...] = (), **changed: dict[str, object]
) -> DemoResult:
    pages = [row(n, path, changed.get(path, {})) for n, path in enumerate(SAMPLE_EXPECTATIONS, 1)]
    return DemoResult(
        origin=ORIGIN,
        workspace=Path("/w/demo"),
        manifest={
            "run_id": "crawl_X",
            "state": "COMPLETE",
            "pages": pages,
            "totals": {"stored": 1, "blocked": 1, "failed": 1},
        },
        invoice=invoice,
        versions={},
        requested=frozenset(requested),
    )


def test_nothing_differs_when_every_page_is_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    result = make()
    assert result.differences == ()
    assert describe_demo(result)["differences"] == []
    show_demo(result, Voice())
    said = capsys.readouterr()
    for path in SAMPLE_EXPECTATIONS:
        assert f"\n{path} " in said.out
    assert "ended as they should" in said.err
    assert "kept       /w/demo/runs/crawl_X/" in said.err


def test_a_demo_that_was_cancelled_is_said_to_be_so_and_differs_in_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = make(**{"/faq.html": {"outcome": "FAILED", "code": "CANCELLED"}})
    pages = list(result.pages)[:20]
    result = replace(result, manifest={**result.manifest, "state": "CANCELLED", "pages": pages})
    assert result.differences == ()
    assert describe_demo(result)["differences"] == []
    show_demo(result, Voice())
    said = capsys.readouterr().err
    assert "DIFFERENT" not in said
    assert "as they should" not in said
    assert "cancelled  before every page was met" in said


def test_the_numbers_at_the_end_are_those_of_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    result = make()
    more = [{**result.pages[0], "url": f"{ORIGIN}/hostile/calendar/{month}.html"} for month in range(2)]
    show_demo(replace(result, manifest={**result.manifest, "pages": [*result.pages, *more]}), Voice())
    said = capsys.readouterr()
    rows = sum(line.startswith("/") for line in said.out.splitlines())
    assert rows == len(SAMPLE_EXPECTATIONS) + 2
    assert f"all {len(SAMPLE_EXPECTATIONS)} pages and the file ended as they should; 2 more of" in said.err


def test_each_difference_is_one_sentence() -> None:
    changed = {
        "/hostile/comment.html": {"outcome": "STORED", "code": None, "path": "pages/1-x.md"},
        "/hostile/bomb.html": {"code": "BODY_TOO_LARGE"},
        "/faq.html": {"url": f"{ORIGIN}/elsewhere"},
    }
    invoice = Failed(facts=FACTS, code=Code.NO_SPACE, message="full", retryable=True)
    result = make(invoice=invoice, requested=NEVER_REQUESTED[:1], **changed)
    assert sorted(result.differences) == sorted(
        [
            "/hostile/comment.html is STORED; expected BLOCKED PROMPT_INJECTION",
            "/hostile/bomb.html is BLOCKED BODY_TOO_LARGE; expected BLOCKED DECODED_TOO_LARGE",
            "/faq.html was not met; expected STORED",
            f"{NEVER_REQUESTED[0]} was requested; expected that it never is",
            "invoice.html is FAILED; expected BLOCKED PROMPT_INJECTION",
        ]
    )


def test_when_nothing_worked_the_reason_comes_first_and_the_rest_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    invoice = Failed(facts=FACTS, code=Code.NO_SPACE, message="there is no room", retryable=True)
    changed = {path: {"url": f"{ORIGIN}/x"} for path in SAMPLE_EXPECTATIONS}
    show_demo(make(invoice=invoice, **changed), Voice())
    said = capsys.readouterr().err
    assert said.index("there is no room") < said.index("DIFFERENT")
    assert said.count("DIFFERENT") == 12
    assert f"and {len(SAMPLE_EXPECTATIONS) + 1 - 12} more" in said
