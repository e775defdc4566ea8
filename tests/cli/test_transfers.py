"""Transfers: so many at a time, none left when they are cancelled."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mudroom.cli.saving import FileDestination
from mudroom.cli.transfers import Order, Report, TransferOptions, Transfers
from mudroom.settings import Settings, load_settings
from mudroom.testing.routes import Route, Stall
from mudroom.testing.server import SiteServer


@dataclass
class Watcher:
    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def on_begin(self, report: Report) -> None:
        self.reports.append(report)
        self.began.append(report.order.number)

    def on_end(self, report: Report) -> None:
        self.ended.append(report.order.number)


def settings_for(site: SiteServer) -> Settings:
    return load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})


def orders_for(site: SiteServer, folder: Path, count: int, *, is_continued: bool = False) -> list[Order]:
    return [
        Order(
            number=number,
            untrusted_url=site.url(f"/{number}"),
            destination=FileDestination(folder / str(number)),
            is_continued=is_continued,
        )
        for number in range(count)
    ]


async def test_no_more_run_at_a_time_than_are_wanted_and_all_come_in_order(tmp_path: Path) -> None:
    gate, watcher = asyncio.Event(), Watcher()
    async with SiteServer(Route(path="/*", body="x", gate=gate)) as site:
        transfers = Transfers(settings_for(site), TransferOptions(concurrency=2), watcher)
        work = asyncio.ensure_future(transfers.run(orders_for(site, tmp_path, 5)))
        await site.wait_for_requests(2)
        assert (watcher.began, watcher.ended) == ([0, 1], [])
        gate.set()
        reports = await work
    assert [report.order.number for report in reports] == [0, 1, 2, 3, 4]
    assert sorted(watcher.ended) == [0, 1, 2, 3, 4]
    assert [report.error for report in reports] == [None] * 5


@pytest.mark.parametrize("is_continued", [False, True])
async def test_cancelling_leaves_no_file_but_what_can_be_gone_on_with(
    tmp_path: Path, *, is_continued: bool
) -> None:
    tagged = (("ETag", '"v1"'),)
    route = Route(path="/*", headers=tagged, body=(b"half", Stall()), content_length=9)
    async with SiteServer(route) as site:
        watcher = Watcher()
        orders = orders_for(site, tmp_path, 3, is_continued=is_continued)
        transfers = Transfers(settings_for(site), TransferOptions(), watcher)
        work = asyncio.ensure_future(transfers.run(orders))
        # Bytes that are counted tell nobody that they came.
        while sum(report.size for report in watcher.reports) < 3 * len("half"):  # noqa: ASYNC110
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await site.wait_for_close()
    kept = sorted(os.listdir(tmp_path))  # noqa: PTH208 - names alone
    assert kept == (
        [name for number in range(3) for name in (f".{number}.part", f".{number}.part.json")]
        if is_continued
        else []
    )
