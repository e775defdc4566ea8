"""`mudroom demo`: the sample site that ships with mudroom, taken in page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from mudroom.address import AllowedOrigin
from mudroom.assembly import open_house
from mudroom.cli.console import print_json
from mudroom.cli.demo_report import DemoResult, describe_demo, show_demo
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.progress import CrawlProgress
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.crawl import CrawlScope
from mudroom.intake import RobotsMode
from mudroom.settings import Settings
from mudroom.testing.sample_site import SAMPLE_FILE, sample_routes
from mudroom.testing.server import SiteServer

__all__ = ["command"]

_MIB = 1024 * 1024


@click.command("demo", cls=TeachingCommand)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def command(*, as_json: bool) -> int:
    """See mudroom at work on a site that ships with it; nothing leaves this machine.

    The site is served on loopback: some thirty honest pages (articles, tables, code, a
    listing, old charsets) and some twenty that are up to something (hidden instructions
    in several carriers, redirects inside, a decompression bomb, a trap). It is crawled,
    one file is opened, and each verdict is compared with the one that is expected.

    What was taken in stays in the folder demo of your workspace, apart from your own runs:
    mudroom runs --workspace <workspace>/demo

    Exit status: 0 every verdict as expected, 1 one or more differ, 130 cancelled.
    """
    common = CommonOptions.current()
    settings = common.load()
    settings = replace(settings, workspace=settings.workspace / "demo")
    voice = common.voice()
    if not as_json:
        voice.say("demo", "a small site with a bad neighbourhood, crawled on loopback")
    result = run_work(_take_in(settings, CrawlProgress(voice, is_naming=False)))
    if as_json:
        print_json(describe_demo(result))
    else:
        show_demo(result, voice)
    if result.is_cancelled:
        return ExitStatus.CANCELLED
    return ExitStatus.FAILED if result.differences else ExitStatus.DONE


async def _take_in(settings: Settings, progress: CrawlProgress) -> DemoResult:
    """The site crawled and the file opened, in this process and on its loop."""
    async with SiteServer(*sample_routes()) as site:
        settings = _open_site(settings, site.origin)
        with progress:
            async with open_house(settings, observer=progress) as house:
                manifest: dict[str, Any] = await house.crawl(site.url("/"), settings.crawl)
                invoice = await house.open_file(SAMPLE_FILE, None)
        return DemoResult(
            origin=site.origin,
            workspace=settings.workspace,
            manifest=manifest,
            invoice=invoice,
            versions=house.versions.as_record(),
            requested=frozenset(path for _, path in site.hits),
        )


def _open_site(settings: Settings, origin: str) -> Settings:
    """Settings that reach this one loopback origin, with budgets that a small site needs.

    The calendar has no end, so the depth ends it; the endless body meets the page limit.
    """
    egress = replace(settings.egress, allow_origins=(AllowedOrigin.parse(origin),), allow_networks=())
    crawl = replace(
        settings.crawl,
        max_pages=100,
        max_depth=2,
        max_page_bytes=2 * _MIB,
        max_total_bytes=200 * _MIB,
        max_duration_seconds=300.0,
        scope=CrawlScope.HOST,
        robots=RobotsMode.OBEY,
    )
    return replace(settings, egress=egress, crawl=crawl)
