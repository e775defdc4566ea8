"""web_open: one page for an agent, or why there is none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult

from mudroom.address import ExceptionScope, parse_url
from mudroom.crawl import describe_fault
from mudroom.errors import Code, InvalidConfig, MudroomError
from mudroom.intake import Blocked, Failed, Quarantined, Stored
from mudroom.mcp.answers import tell_accepted, tell_refused_arguments, tell_withheld
from mudroom.mcp.arguments import OpenArguments, read_open_arguments
from mudroom.mcp.pages import split_pages
from mudroom.mcp.ports import AgentParts
from mudroom.mcp.shelf import KeptDocument, Shelf
from mudroom.model import Decision, Initiator, OutcomeKind
from mudroom.screen import WarnHandling

__all__ = ["WebOpen"]

_log = logging.getLogger(__name__)


class WebOpen:
    """The tool, for one session: its cursors belong to it and to no other."""

    def __init__(self, parts: AgentParts) -> None:
        self._parts = parts
        options = parts.options
        self._slots = asyncio.Semaphore(options.max_calls)
        self._shelf = Shelf(options.max_kept_documents, options.max_kept_chars)
        self._at_work: set[asyncio.Task[CallToolResult]] = set()

    async def call(self, untrusted_arguments: Mapping[str, Any]) -> CallToolResult:
        """The answer to a call.

        An error that nobody foresaw is told in the log and is a failed page for the agent, who must not get
        its text. Raises: asyncio.CancelledError, with which the fetch ends too; the record of its run may
        take a moment longer.
        """
        work = asyncio.ensure_future(self._call(untrusted_arguments))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            return work.result()
        _log.error("web_open: unexpected %s", describe_fault(error))
        return tell_withheld(OutcomeKind.FAILED, Code.INTERNAL_ERROR, "")

    async def aclose(self) -> None:
        """Nothing of this session is at work any more: no call, and no run of one that was cancelled."""
        for work in self._at_work:
            work.cancel()
        while self._at_work:
            await asyncio.wait(self._at_work)

    async def _call(self, untrusted_arguments: Mapping[str, Any]) -> CallToolResult:
        try:
            arguments = read_open_arguments(untrusted_arguments)
        except InvalidConfig as error:
            return tell_refused_arguments(error.faults)
        try:
            async with self._slots:
                return await self._answer(arguments)
        except MudroomError as error:
            return tell_withheld(OutcomeKind.FAILED, error.code, arguments.untrusted_url)

    async def _answer(self, arguments: OpenArguments) -> CallToolResult:
        if arguments.untrusted_cursor is not None:
            document, index = self._shelf.find(arguments.untrusted_url, arguments.untrusted_cursor)
            return await self._show(document, index)
        outcome = await self._parts.opener.open_page(
            arguments.untrusted_url,
            initiator=Initiator.AGENT,
            scope=self._choose_scope(arguments.untrusted_url),
        )
        if not isinstance(outcome, Stored):
            return self._tell_outcome(outcome, arguments.untrusted_url)
        pages = split_pages(outcome.page.markdown, arguments.max_chars)
        document = self._shelf.keep(arguments.untrusted_url, outcome.page, outcome.facts.run_id, pages)
        return await self._show(document, 0)

    def _choose_scope(self, untrusted_url: str) -> ExceptionScope:
        """The operator's exceptions inside mcp.allow_origins, none anywhere else (decision 4)."""
        url = parse_url(untrusted_url)
        is_named = url is not None and any(
            (origin.scheme, origin.address, origin.port) == (url.scheme, url.address, url.port)
            for origin in self._parts.options.allow_origins
        )
        return ExceptionScope.operator() if is_named else ExceptionScope.none()

    def _tell_outcome(self, outcome: Quarantined | Blocked | Failed, untrusted_url: str) -> CallToolResult:
        code = None if isinstance(outcome, Quarantined) else outcome.code
        return tell_withheld(
            outcome.kind,
            code,
            untrusted_url,
            number=outcome.facts.number,
            review=self._name_review(outcome.facts.run_id),
            retryable=False if isinstance(outcome, Quarantined) else outcome.retryable,
            http_status=outcome.facts.http_status if code is Code.HTTP_STATUS else None,
        )

    async def _show(self, document: KeptDocument, index: int) -> CallToolResult:
        """One part, if it passes by itself; the whole document passed already."""
        page = document.page
        decision, finding_ids = page.decision, page.finding_ids
        if len(document.pages) > 1:
            try:
                verdict = await self._parts.screen.judge_excerpt(
                    document.pages[index], final_url=page.final_url, run_id=document.run_id
                )
            except MudroomError:
                return self._withhold(document, index, OutcomeKind.BLOCKED, Code.SCANNER_FAILURE)
            if verdict.decision is Decision.BLOCK:
                return self._withhold(document, index, OutcomeKind.BLOCKED, Code.PROMPT_INJECTION)
            if verdict.decision is Decision.WARN and self._parts.options.warn is not WarnHandling.FLAG:
                return self._withhold(document, index, OutcomeKind.QUARANTINED, None)
            decision = Decision.WARN if Decision.WARN in (decision, verdict.decision) else Decision.SAFE
            finding_ids = tuple(sorted({*finding_ids, *verdict.finding_ids}))
        return tell_accepted(document, index, decision=decision, finding_ids=finding_ids)

    def _withhold(
        self, document: KeptDocument, index: int, kind: OutcomeKind, code: Code | None
    ) -> CallToolResult:
        is_last = index + 1 == len(document.pages)
        return tell_withheld(
            kind,
            code,
            document.untrusted_url,
            review=self._name_review(document.run_id),
            next_cursor=None if is_last else document.cursors[index + 1],
        )

    def _name_review(self, run_id: str) -> str:
        return self._parts.options.review_command.format(run_id=run_id)
