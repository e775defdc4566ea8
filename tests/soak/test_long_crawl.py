"""Long rounds: a crawl of thousands of pages through the real jail leaves nothing behind and grows nowhere."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from mudroom.assembly import open_house
from mudroom.crawl import CrawlPolicy
from mudroom.settings import load_settings
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer

PAGES = 3000


def make_page(number: int) -> str:
    links = "".join(f'<a href="/{(number * 3 + step) % PAGES}">on</a> ' for step in range(1, 6))
    words = " ".join(f"word{(number * 7919 + step) % 5000}" for step in range(200))
    return f"<title>Page {number}</title><h1>Page {number}</h1><p>{words}</p><p>{links}</p>"


def resident_kib() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def count_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_thousands_of_pages_leave_no_process_descriptor_or_growth(tmp_path: Path) -> None:
    before = count_descriptors()
    routes = [Route(path=f"/{number}", body=make_page(number)) for number in range(PAGES)]
    async with SiteServer(*routes) as site:
        settings = load_settings(
            {}, workspace=tmp_path / "room", overrides={("egress", "allow_origins"): (site.origin,)}
        )
        policy = CrawlPolicy(max_pages=PAGES, max_depth=1000, max_duration_seconds=800.0, concurrency=16)
        async with open_house(settings) as house:
            few = await house.crawl(site.url("/0"), CrawlPolicy(max_pages=300, max_depth=1000))
            size = resident_kib()
            many = await house.crawl(site.url("/0"), policy)
            assert (few["totals"]["stored"], many["totals"]["stored"]) == (300, PAGES)
            assert resident_kib() < size * 1.3
    await asyncio.sleep(0)
    assert children() == []
    assert count_descriptors() <= before
