"""Calls that are cancelled leave nothing open, and no run without its record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from mcp.client import Client

from mudroom.address import AllowedOrigin, ExceptionScope
from mudroom.assembly import House, open_house
from mudroom.intake import Outcome
from mudroom.mcp import AgentParts, McpOptions, build_server
from mudroom.mcp.excerpts import GuestExcerptScreen
from mudroom.model import CrawlState, Initiator
from mudroom.settings import load_settings
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

CALLS = 50


class Opener:
    def __init__(self, house: House) -> None:
        self._house = house

    async def open_page(self, untrusted_url: str, *, initiator: Initiator, scope: ExceptionScope) -> Outcome:
        return await self._house.open_url(untrusted_url, initiator=initiator, scope=scope)


def open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def count_runs(workspace: Path) -> int:
    return len(list(workspace.glob("runs/*")))


@pytest.mark.parametrize("begun", [0, 1, 10, 40])
async def test_calls_cancelled_all_at_once_leave_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    before = open_count()
    async with SiteServer(Route(path="/", body="late", gate=asyncio.Event())) as site:
        origins = (AllowedOrigin.parse(site.origin),)
        settings = load_settings({}, config=Path("/dev/null"), workspace=tmp_path / "workspace")
        settings = replace(settings, egress=replace(settings.egress, allow_origins=origins))
        async with open_house(settings, guests=UnjailedGuests()) as house:
            parts = AgentParts(
                opener=Opener(house),
                screen=GuestExcerptScreen(house.guests),
                options=McpOptions(allow_origins=origins, max_calls=CALLS),
                version="1",
            )
            async with Client(build_server(parts), mode="legacy") as client:
                calls = [
                    asyncio.create_task(client.call_tool("web_open", {"url": site.url("/")}))
                    for _ in range(CALLS)
                ]
                while count_runs(settings.workspace) < begun:  # noqa: ASYNC110 - it comes to be on disk
                    await asyncio.sleep(0)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
            states = {summary.state for summary in await house.corpus.list_runs()}
    assert states <= {CrawlState.CANCELLED}
    assert open_count() == before
