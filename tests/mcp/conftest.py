"""A house for agents that is scripted: pages by URL, verdicts by text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from mudroom.address import AllowedOrigin, ExceptionScope
from mudroom.errors import Code, MudroomError
from mudroom.intake import Blocked, Failed, Outcome, PageFacts, Quarantined, Stored
from mudroom.mcp import AgentParts, ExcerptVerdict, McpOptions
from mudroom.model import (
    Decision,
    ExposedForm,
    ExposedText,
    ExtractedDocument,
    Finding,
    Initiator,
    Isolation,
    Provenance,
    ScanReport,
    SecurityText,
    UntrustedDocument,
    View,
)
from mudroom.screen import AcceptedDocument, ExposedPage, PolicyOptions, decide

SOURCE_REF = "mudroom-snapshot:page%3A%3Ahttps%3A%2F%2Fa.example%2F?url=https%3A%2F%2Fa.example%2F"


def make_page(markdown: str, *, title: str = "A title", url: str = "https://a.example/") -> ExposedPage:
    """An exposed page, made the only way there is: from a document that a scan accepted."""
    provenance = Provenance(
        document_id="open_1/000001",
        run_id="open_1",
        requested_url=url,
        final_url=url,
        hops=(),
        http_status=200,
        content_type="text/html",
        retrieved_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        source_ref=SOURCE_REF,
        sha256="0" * 64,
        size_bytes=1,
        initiator=Initiator.AGENT,
        isolation=Isolation.STRICT,
    )
    content = ExtractedDocument(
        media_type="text/html",
        charset="utf-8",
        title=title,
        views={View.MARKDOWN: markdown},
        links=(),
        base_url=url,
        security_text=SecurityText.from_pieces(()),
        visible_chars=1,
        hidden_chars=0,
        removed_chars=0,
        needs_render=False,
    )
    exposed = tuple(
        ExposedText(form=form, text=text)
        for form, text in (
            (ExposedForm.TITLE, title),
            (ExposedForm.SLUG, "a-title"),
            (ExposedForm.URL, url),
            (ExposedForm.MARKDOWN, markdown),
        )
    )
    accepted = decide(
        UntrustedDocument(provenance=provenance, content=content),
        exposed,
        ScanReport(findings=(), request_sha256="same", scanner_version="1"),
        PolicyOptions(),
        digest=lambda _: "same",
    )
    assert isinstance(accepted, AcceptedDocument)
    return accepted.expose()


@dataclass
class ScriptedOpener:
    """Pages by URL: a text is an accepted page, anything else is what came of it."""

    pages: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, Initiator, ExceptionScope]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    cancelled: int = 0
    is_running: asyncio.Event = field(default_factory=asyncio.Event)
    blocker: asyncio.Event | None = None

    async def open_page(self, untrusted_url: str, *, initiator: Initiator, scope: ExceptionScope) -> Outcome:
        self.asked.append((untrusted_url, initiator, scope))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.is_running.set()
        try:
            if self.blocker is not None:
                await self.blocker.wait()
            return self._end(untrusted_url)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    def _end(self, url: str) -> Outcome:
        end = self.pages[url]
        status = 404 if end is Code.HTTP_STATUS else None
        facts = PageFacts(
            number=1, document_id="open_1/000001", run_id="open_1", requested_url=url, http_status=status
        )
        if isinstance(end, MudroomError):
            raise end
        if isinstance(end, Finding):
            return Quarantined(facts=facts, findings=(end,))
        if end is Code.PROMPT_INJECTION:
            return Blocked(facts=facts, code=end, message="withheld: ROLE-004")
        if isinstance(end, Code):
            return Failed(facts=facts, code=end, message="secret words of the page", retryable=True)
        page = end if isinstance(end, ExposedPage) else make_page(end, url=url)
        return Stored(
            facts=facts,
            page=page,
            provenance=cast("Any", None),
            decision=page.decision,
            findings=(),
            text=None,
            links=(),
            base=None,
            link_scope=ExceptionScope.none(),
        )


@dataclass
class ScriptedScreen:
    """Verdicts by a mark in the text."""

    marks: Mapping[str, Decision | MudroomError] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)

    async def judge_excerpt(self, text: str, *, final_url: str, run_id: str) -> ExcerptVerdict:
        assert (final_url, run_id) == ("https://a.example/", "open_1")
        self.judged.append(text)
        for mark, verdict in self.marks.items():
            if mark in text:
                if isinstance(verdict, MudroomError):
                    raise verdict
                return ExcerptVerdict(decision=verdict, finding_ids=("ROLE-004",))
        return ExcerptVerdict(decision=Decision.SAFE, finding_ids=())


@dataclass
class AgentHouse:
    opener: ScriptedOpener
    screen: ScriptedScreen
    parts: AgentParts


@pytest.fixture
def house() -> Callable[..., AgentHouse]:
    def build(pages: Mapping[str, Any], *, allow: tuple[str, ...] = (), **options: Any) -> AgentHouse:
        opener, screen = ScriptedOpener(dict(pages)), ScriptedScreen()
        origins = tuple(AllowedOrigin.parse(text) for text in allow)
        parts = AgentParts(
            opener=opener,
            screen=screen,
            options=McpOptions(allow_origins=origins, **options),
            version="9.9.9",
        )
        return AgentHouse(opener, screen, parts)

    return build


@pytest.fixture
def finding() -> Finding:
    from mudroom.model import Channel, Hiding, Severity

    return Finding(
        id="ROLE-004",
        severity=Severity.MEDIUM,
        category="role",
        channel=Channel.TEXT,
        hiding=Hiding.NONE,
        line=1,
    )
