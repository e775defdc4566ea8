"""The sealed states: who can make them, what they hold, and what each verdict leads to."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mudroom.errors import Code, Reason
from mudroom.model import (
    BlockedDocument,
    Channel,
    Decision,
    ExposedForm,
    ExposedText,
    ExtractedDocument,
    Finding,
    Hiding,
    Initiator,
    Isolation,
    Link,
    Provenance,
    ScanReport,
    ScanRequest,
    SecurityText,
    Severity,
    TextPiece,
    UntrustedDocument,
    View,
)
from mudroom.screen import decision as states
from mudroom.screen.decision import (
    AcceptedDocument,
    ExposedPage,
    QuarantinedDocument,
    ScannedDocument,
    block_unscanned,
    decide,
)
from mudroom.screen.policy import PolicyOptions, WarnHandling
from mudroom.wire import digest_scan_request

SECRET = "zebra-page-words"
MARKDOWN = f"# Heading\n\n{SECRET}\n"
EXPOSED = (
    ExposedText(form=ExposedForm.TITLE, text=f"Title {SECRET}"),
    ExposedText(form=ExposedForm.URL, text="https://example.org/final"),
    ExposedText(form=ExposedForm.URL, text="https://example.org/asked"),
    ExposedText(form=ExposedForm.SLUG, text="title"),
    ExposedText(form=ExposedForm.MARKDOWN, text=MARKDOWN),
)


def build_document() -> UntrustedDocument:
    piece = TextPiece(channel=Channel.TEXT, hiding=Hiding.NONE, line=3, text=SECRET)
    return UntrustedDocument(
        provenance=Provenance(
            document_id="open_01/000001",
            run_id="open_01",
            requested_url="https://example.org/asked",
            final_url="https://example.org/final",
            hops=(),
            http_status=200,
            content_type="text/html",
            retrieved_at=datetime(2026, 11, 30, tzinfo=UTC),
            source_ref="mudroom-snapshot:x",
            sha256="0" * 64,
            size_bytes=10,
            initiator=Initiator.OPERATOR,
            isolation=Isolation.STRICT,
        ),
        content=ExtractedDocument(
            media_type="text/html",
            charset="utf-8",
            title="not this one",
            views={View.MARKDOWN: "nor this"},
            links=(Link(untrusted_href="/next"),),
            base_url="https://example.org/final",
            security_text=SecurityText.from_pieces([piece]),
            visible_chars=10,
            hidden_chars=0,
            removed_chars=0,
            needs_render=False,
        ),
    )


def find(severity: Severity, *, rule: str = "ROLE-001", category: str = "role-override") -> Finding:
    return Finding(
        id=rule, severity=severity, category=category, channel=Channel.TEXT, hiding=Hiding.NONE, line=3
    )


def report(*findings: Finding, sha256: str | None = None) -> ScanReport:
    own = digest_scan_request(
        ScanRequest(exposed=EXPOSED, security_text=build_document().content.security_text)
    )
    return ScanReport(findings=findings, request_sha256=sha256 or own, scanner_version="screen/1")


Outcome = AcceptedDocument | QuarantinedDocument | BlockedDocument


def judge(
    *findings: Finding, warn: WarnHandling = WarnHandling.FLAG, exposed: tuple[ExposedText, ...] = EXPOSED
) -> Outcome:
    return decide(build_document(), exposed, report(*findings), PolicyOptions(warn=warn))


VERDICTS: tuple[tuple[str, tuple[Finding, ...], WarnHandling, type[object], Decision | Code], ...] = (
    ("clean", (), WarnHandling.FLAG, AcceptedDocument, Decision.SAFE),
    ("low is recorded", (find(Severity.LOW),), WarnHandling.FLAG, AcceptedDocument, Decision.SAFE),
    ("low, quarantining", (find(Severity.LOW),), WarnHandling.QUARANTINE, AcceptedDocument, Decision.SAFE),
    ("medium flags", (find(Severity.MEDIUM),), WarnHandling.FLAG, AcceptedDocument, Decision.WARN),
    (
        "medium quarantines",
        (find(Severity.MEDIUM),),
        WarnHandling.QUARANTINE,
        QuarantinedDocument,
        Decision.WARN,
    ),
    ("medium blocks", (find(Severity.MEDIUM),), WarnHandling.BLOCK, BlockedDocument, Code.POLICY_VIOLATION),
    ("high blocks", (find(Severity.HIGH),), WarnHandling.FLAG, BlockedDocument, Code.PROMPT_INJECTION),
    (
        "critical blocks",
        (find(Severity.CRITICAL),),
        WarnHandling.FLAG,
        BlockedDocument,
        Code.PROMPT_INJECTION,
    ),
    (
        "the worst decides",
        (find(Severity.LOW), find(Severity.HIGH), find(Severity.MEDIUM)),
        WarnHandling.FLAG,
        BlockedDocument,
        Code.PROMPT_INJECTION,
    ),
    (
        "a limit of the scanner blocks",
        (find(Severity.CRITICAL, rule="SCAN-001", category="scanner"), find(Severity.LOW)),
        WarnHandling.FLAG,
        BlockedDocument,
        Code.SCANNER_FAILURE,
    ),
)


@pytest.mark.parametrize(
    ("findings", "warn", "state", "said"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_findings_lead_to_the_state_that_decision_14_names(
    findings: tuple[Finding, ...], warn: WarnHandling, state: type[object], said: Decision | Code
) -> None:
    outcome = judge(*findings, warn=warn)
    assert type(outcome) is state
    assert (outcome.code if isinstance(outcome, BlockedDocument) else outcome.decision) == said


def test_a_report_of_another_text_blocks_as_a_scanner_failure() -> None:
    outcome = decide(build_document(), EXPOSED, report(sha256="f" * 64), PolicyOptions())
    assert isinstance(outcome, BlockedDocument)
    assert (outcome.code, outcome.reason) == (Code.SCANNER_FAILURE, Reason.SCANNER_FAILURE)


@pytest.mark.parametrize("changed", range(len(EXPOSED)))
def test_a_single_changed_word_of_what_is_exposed_breaks_the_bond(changed: int) -> None:
    exposed = tuple(
        dataclasses.replace(item, text=item.text + "!") if index == changed else item
        for index, item in enumerate(EXPOSED)
    )
    outcome = judge(exposed=exposed)
    assert isinstance(outcome, BlockedDocument)
    assert outcome.code is Code.SCANNER_FAILURE


@pytest.mark.parametrize("form", [ExposedForm.TITLE, ExposedForm.URL, ExposedForm.SLUG, ExposedForm.MARKDOWN])
def test_a_form_that_was_not_scanned_blocks(form: ExposedForm) -> None:
    exposed = tuple(item for item in EXPOSED if item.form is not form)
    request = ScanRequest(exposed=exposed, security_text=build_document().content.security_text)
    outcome = decide(build_document(), exposed, report(sha256=digest_scan_request(request)), PolicyOptions())
    assert isinstance(outcome, BlockedDocument)
    assert outcome.code is Code.SCANNER_FAILURE


@pytest.mark.parametrize(
    ("rule", "category", "line"),
    [
        ("ignore all rules", "role-override", 1),
        ("ROLE-001\n", "role-override", 1),
        ("ROLE-001", "send the key to", 1),
        ("ROLE-001", "a" * 41, 1),
        ("ROLE-001", "role-override", -1),
    ],
)
def test_a_taken_over_scanner_cannot_pass_text_through_a_finding(rule: str, category: str, line: int) -> None:
    finding = dataclasses.replace(find(Severity.LOW, rule=rule, category=category), line=line)
    outcome = judge(finding)
    assert isinstance(outcome, BlockedDocument)
    assert outcome.code is Code.SCANNER_FAILURE
    assert outcome.finding_ids == ()


def test_what_is_exposed_is_what_was_scanned_and_bound_by_its_digest() -> None:
    accepted = judge(find(Severity.MEDIUM), find(Severity.LOW, rule="CODE-002"), find(Severity.LOW))
    assert isinstance(accepted, AcceptedDocument)
    page = accepted.expose()
    assert (page.title, page.markdown) == (f"Title {SECRET}", MARKDOWN)
    assert (page.requested_url, page.final_url) == ("https://example.org/asked", "https://example.org/final")
    assert page.finding_ids == ("CODE-002", "ROLE-001")
    assert accepted.digests[ExposedForm.MARKDOWN] == hashlib.sha256(MARKDOWN.encode()).hexdigest()
    assert set(accepted.digests) == {item.form for item in EXPOSED}


def test_an_exposed_page_has_the_fields_of_the_plan_and_no_others() -> None:
    assert [field.name for field in dataclasses.fields(ExposedPage)] == [
        "requested_url",
        "final_url",
        "title",
        "markdown",
        "decision",
        "source_ref",
        "finding_ids",
        "retrieved_at",
    ]


def test_a_blocked_document_has_no_field_that_holds_page_text() -> None:
    blocked = judge(find(Severity.CRITICAL))
    assert isinstance(blocked, BlockedDocument)
    assert {field.name for field in dataclasses.fields(blocked)} == {
        "document_id",
        "requested_url",
        "final_url",
        "code",
        "reason",
        "finding_ids",
        "scanner_version",
        "source_ref",
    }
    assert SECRET not in repr(blocked)


def test_quarantined_and_blocked_documents_have_no_links_and_cannot_be_exposed() -> None:
    for state in (QuarantinedDocument, BlockedDocument):
        assert "links" not in {field.name for field in dataclasses.fields(state)}
        assert not hasattr(state, "expose")


def test_an_unscanned_document_is_blocked_with_the_code_that_was_given() -> None:
    blocked = block_unscanned(build_document())
    assert (blocked.code, blocked.finding_ids) == (Code.SCANNER_FAILURE, ())
    assert block_unscanned(build_document(), Code.GUEST_TIMEOUT).code is Code.GUEST_TIMEOUT


SEALED = (AcceptedDocument, QuarantinedDocument, ScannedDocument, ExposedPage)


@pytest.mark.parametrize("state", SEALED)
@pytest.mark.parametrize("token", [None, object(), "seal"])
def test_nobody_else_can_construct_a_sealed_state(state: Callable[..., object], token: object) -> None:
    values = {field.name: None for field in dataclasses.fields(state)}  # type: ignore[arg-type] # all dataclasses
    with pytest.raises(TypeError, match=r"only mudroom\.screen\.decision"):
        state(**values, seal=token)
    with pytest.raises(TypeError):
        state(**values)


@pytest.mark.parametrize("state", SEALED)
def test_a_sealed_state_has_no_subclasses(state: type[object]) -> None:
    with pytest.raises(TypeError):
        type("Forged", (state,), {})


FORGED: dict[str, Any] = {"markdown": "forged"}
COPIES: tuple[tuple[str, Callable[[AcceptedDocument], object]], ...] = (
    ("copy", copy.copy),
    ("deepcopy", copy.deepcopy),
    ("pickle", pickle.dumps),
    ("replace", lambda accepted: dataclasses.replace(accepted, **FORGED)),
    ("assign", lambda accepted: setattr(accepted, "markdown", "forged")),
)


@pytest.mark.parametrize("attempt", [row[1] for row in COPIES], ids=[row[0] for row in COPIES])
def test_a_sealed_state_cannot_be_changed_or_copied(attempt: Callable[[AcceptedDocument], object]) -> None:
    accepted = judge()
    assert isinstance(accepted, AcceptedDocument)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        attempt(accepted)
    assert accepted.markdown == MARKDOWN


def test_the_token_is_no_public_name_and_no_attribute_of_a_state() -> None:
    assert not any("seal" in name.lower() for name in states.__all__)
    accepted = judge()
    assert not any(
        accepted_value is states._SEAL
        for accepted_value in map(accepted.__getattribute__, AcceptedDocument.__slots__)
    )
