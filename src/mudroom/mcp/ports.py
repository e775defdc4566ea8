"""What the agent's tools need of the house: a way in for one page, and a judge of what is shown of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mudroom.address import ExceptionScope
from mudroom.intake import Outcome
from mudroom.mcp.options import McpOptions
from mudroom.model import Decision, Initiator

__all__ = ["AgentParts", "ExcerptScreen", "ExcerptVerdict", "PageOpener"]


class PageOpener(Protocol):
    """One page in a run of its own."""

    async def open_page(self, untrusted_url: str, *, initiator: Initiator, scope: ExceptionScope) -> Outcome:
        """The page through the whole path; robots.txt is asked first, for whoever the initiator is.

        A document whose scan warns is treated as `mcp.warn` says. Cancelling it ends the fetch.
        Raises: MudroomError only when the run itself cannot be recorded.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptVerdict:
    """What a scan says of one page of a document."""

    decision: Decision
    finding_ids: tuple[str, ...]


class ExcerptScreen(Protocol):
    """Judges a part of an accepted document in the form in which it is handed on (decision 13)."""

    async def judge_excerpt(self, text: str, *, final_url: str, run_id: str) -> ExcerptVerdict:
        """The verdict on exactly this text. Raises MudroomError when the scan did not finish."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentParts:
    """The floors joined: what the tools are made of."""

    opener: PageOpener
    screen: ExcerptScreen
    options: McpOptions
    version: str
    """Of mudroom, for the handshake."""
