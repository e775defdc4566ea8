"""What a crawl would do, with the network and without the house: no guest is started, nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mudroom.assembly.house import Network, open_network
from mudroom.clock import SystemClock
from mudroom.crawl import Explainer
from mudroom.intake import RobotsGates
from mudroom.settings import Settings

__all__ = ["open_explainer"]


@asynccontextmanager
async def open_explainer(settings: Settings, network: Network | None = None) -> AsyncIterator[Explainer]:
    """Explains URLs; of the network it asks for robots.txt files and for nothing else."""
    clock = SystemClock()
    async with open_network(settings, network or Network(), clock) as (fetcher, egress):
        yield Explainer(RobotsGates(fetcher, None, clock, asyncio.sleep), egress, clock)
