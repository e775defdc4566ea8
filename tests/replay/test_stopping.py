"""A crawl that is stopped between a page's record and the end of its task is replayed as it was recorded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mudroom.assembly import House, open_house
from mudroom.assembly.build import build_operator_egress, describe_run
from mudroom.clock import SystemClock
from mudroom.corpus import RunWriter
from mudroom.crawl import Crawler, CrawlParts, SqliteShelf
from mudroom.intake import Intake, Outcome, PageRequest, Sitemaps
from mudroom.settings import Settings
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

from .conftest import ATTACK, page, reach, replay


@dataclass
class LingeringIntake:
    """The real way in, which does not come back from one page once that is recorded."""

    intake: Intake
    lingers_at: str
    is_recorded: asyncio.Event = field(default_factory=asyncio.Event)
    is_failing: bool = False

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        outcome = await self.intake.take_page(request, run)
        if request.untrusted_url.endswith(self.lingers_at):
            self.is_recorded.set()
            if self.is_failing:
                raise KeyError("a fault of ours")
            await asyncio.Event().wait()
        return outcome


def join(house: House, settings: Settings, intake: LingeringIntake) -> Crawler:
    return Crawler(
        CrawlParts(
            intake=intake,
            corpus=house.corpus,
            robots=house.robots,
            egress=build_operator_egress(settings.egress),
            clock=SystemClock(),
            sleep=asyncio.sleep,
            sitemaps=Sitemaps(house.fetcher, house.guests, house.archive, SystemClock()),
            options=describe_run(settings),
            frontiers=SqliteShelf(settings.workspace / "private" / "frontier"),
        )
    )


def routes_of(kind: str) -> tuple[Route, ...]:
    words = f"<span style='display:none'>{ATTACK}</span>" if kind == "BLOCKED" else ""
    return (page("/", "/1", "/2"), page("/1", "/3", "/4", words=words), page("/2"))


ENDINGS = [
    # the page that lingers, what became of it, how the crawl ends, how many URLs are known then
    ("/1", "STORED", "person", 5),
    ("/1", "STORED", "time", 5),
    ("/1", "BLOCKED", "person", 3),
    ("/", "STORED", "person", 3),
]


@pytest.mark.parametrize(
    ("path", "kind", "ending", "discovered"), ENDINGS, ids=[" ".join(row[:3]) for row in ENDINGS]
)
async def test_a_page_that_was_recorded_before_the_crawl_was_stopped_counts_as_recorded(
    settings: Settings, path: str, kind: str, ending: str, discovered: int
) -> None:
    async with SiteServer(*routes_of(kind)) as site:
        near = reach(settings, site)
        seconds = 1.5 if ending == "time" else 60.0
        policy = replace(near.crawl, concurrency=1, delay_seconds=0.0, max_duration_seconds=seconds)
        async with open_house(near, guests=UnjailedGuests()) as house:
            intake = LingeringIntake(house.intake, path)
            crawler = join(house, near, intake)
            work = asyncio.create_task(crawler.crawl_to_end(site.url("/"), policy))
            await intake.is_recorded.wait()
            if ending == "person":
                work.cancel()
            live = await work
    row = next(row for row in live["pages"] if row["url"] == site.url(path))
    assert (row["outcome"], live["state"]) == (kind, "LIMIT_REACHED" if ending == "time" else "CANCELLED")
    assert live["totals"]["discovered"] == discovered
    assert "NOTHING_STORED" not in [warning["code"] for warning in live["warnings"]]
    assert (await replay(settings, live["run_id"])).differences == ()


async def test_a_fault_of_ours_behind_the_record_of_a_page_takes_nothing_from_it(settings: Settings) -> None:
    async with SiteServer(*routes_of(""), page("/3"), page("/4")) as site:
        near = reach(settings, site)
        policy = replace(near.crawl, concurrency=1, delay_seconds=0.0)
        async with open_house(near, guests=UnjailedGuests()) as house:
            intake = LingeringIntake(house.intake, "/1", is_failing=True)
            live = await join(house, near, intake).crawl_to_end(site.url("/"), policy)
    assert [row["outcome"] for row in live["pages"]] == ["STORED"] * 5
    assert [warning["code"] for warning in live["warnings"]] == ["UNEXPECTED_ERROR"]
    assert [each.field for each in (await replay(settings, live["run_id"])).differences] == ["warning"]


async def test_a_crawl_that_was_stopped_so_goes_on_with_what_the_page_leads_to(settings: Settings) -> None:
    async with SiteServer(*routes_of(""), page("/3"), page("/4")) as site:
        near = reach(settings, site)
        policy = replace(near.crawl, concurrency=1, delay_seconds=0.0)
        async with open_house(near, guests=UnjailedGuests()) as house:
            intake = LingeringIntake(house.intake, "/1")
            work = asyncio.create_task(join(house, near, intake).crawl_to_end(site.url("/"), policy))
            await intake.is_recorded.wait()
            work.cancel()
            cut = await work
            live: dict[str, Any] = await house.resume(cut["run_id"])
    assert [row["outcome"] for row in live["pages"]] == ["STORED"] * 5
    assert live["totals"]["discovered"] == 5
    assert (await replay(settings, live["run_id"])).differences == ()
