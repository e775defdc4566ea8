"""The parts of the agents' server: a way in for one page, and a judge of what is shown of it."""

from __future__ import annotations

from dataclasses import replace

from mudroom import __version__
from mudroom.address import ExceptionScope
from mudroom.assembly.house import House, open_house
from mudroom.intake import Outcome
from mudroom.mcp.excerpts import GuestExcerptScreen
from mudroom.mcp.options import McpOptions
from mudroom.mcp.ports import AgentParts
from mudroom.mcp.server import serve
from mudroom.model import Initiator, Isolation
from mudroom.settings import Settings

__all__ = ["serve_agents"]


async def serve_agents(settings: Settings) -> None:
    """The MCP server on standard input and output, until its client goes.

    Of the operator's exceptions only those in mcp.allow_origins are open to agents; guests that are held by
    limits alone read for them only where jail.isolation says so (decision 10).
    Raises: GuestFailed with JAIL_UNAVAILABLE.
    """
    mcp = settings.mcp
    egress = replace(settings.egress, allow_origins=mcp.allow_origins, allow_networks=())
    policy = replace(settings.policy, warn=mcp.warn)
    options = McpOptions(allow_origins=mcp.allow_origins, warn=mcp.warn, max_calls=mcp.max_calls)
    guarded = replace(settings, egress=egress)
    async with open_house(guarded, policy=policy, floor=Isolation.CONFINED) as house:
        screen = GuestExcerptScreen(house.guests)
        await serve(
            AgentParts(opener=_AgentHouse(house), screen=screen, options=options, version=__version__)
        )


class _AgentHouse:
    """The house as an agent's tools may use it."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def open_page(self, untrusted_url: str, *, initiator: Initiator, scope: ExceptionScope) -> Outcome:
        """The page through the whole path; robots.txt is asked first."""
        return await self._house.open_url(untrusted_url, initiator=initiator, scope=scope)
