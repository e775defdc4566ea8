"""The parts of the agents' server: a way in for one page, and a judge of what is shown of it."""

from __future__ import annotations

from dataclasses import replace

from mudroom import __version__
from mudroom.address import ExceptionScope, parse_url, site_of
from mudroom.assembly.house import House, open_house
from mudroom.errors import Code, GuestFailed
from mudroom.intake import Outcome
from mudroom.mcp.options import McpOptions
from mudroom.mcp.ports import AgentParts, ExcerptVerdict
from mudroom.mcp.server import serve
from mudroom.model import ExposedForm, ExposedText, Initiator, ScanRequest, SecurityText
from mudroom.screen import judge_findings
from mudroom.settings import Settings
from mudroom.wire import digest_scan_request

__all__ = ["serve_agents"]

_NO_TEXT = SecurityText.from_pieces(())


async def serve_agents(settings: Settings) -> None:
    """The MCP server on standard input and output, until its client goes.

    Of the operator's exceptions only those in mcp.allow_origins are open to agents.
    """
    mcp = settings.mcp
    egress = replace(settings.egress, allow_origins=mcp.allow_origins, allow_networks=())
    policy = replace(settings.policy, warn=mcp.warn)
    options = McpOptions(allow_origins=mcp.allow_origins, warn=mcp.warn, max_calls=mcp.max_calls)
    async with open_house(replace(settings, egress=egress), policy=policy) as house:
        agent = _AgentHouse(house)
        await serve(AgentParts(opener=agent, screen=agent, options=options, version=__version__))


class _AgentHouse:
    """The house as an agent's tools may use it."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def open_page(self, untrusted_url: str, *, initiator: Initiator, scope: ExceptionScope) -> Outcome:
        """The page through the whole path; robots.txt is asked first."""
        return await self._house.open_url(untrusted_url, initiator=initiator, scope=scope)

    async def judge_excerpt(self, text: str, *, final_url: str, run_id: str) -> ExcerptVerdict:
        """The verdict on exactly this text. Raises GuestFailed when the scan did not finish."""
        request = ScanRequest(
            exposed=(ExposedText(form=ExposedForm.MARKDOWN, text=text),), security_text=_NO_TEXT
        )
        url = parse_url(final_url)
        site = site_of(url) if url is not None else final_url
        report = await self._house.guests.scan(request, site=site, run_id=run_id)
        if report.request_sha256 != digest_scan_request(request):
            raise GuestFailed(Code.GUEST_PROTOCOL, "the scanner answered for another text")
        decision, _ = judge_findings(report.findings)
        return ExcerptVerdict(
            decision=decision, finding_ids=tuple(sorted({finding.id for finding in report.findings}))
        )
