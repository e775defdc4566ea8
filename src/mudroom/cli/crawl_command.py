"""`mudroom crawl`: a site, page by page, within budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from mudroom.address import parse_url
from mudroom.assembly import open_house
from mudroom.cli.console import Voice, print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import (
    CommonOptions,
    common_options,
    gather_overrides,
    network_options,
    parse_headers,
)
from mudroom.cli.progress import CrawlProgress
from mudroom.cli.work import run_work
from mudroom.crawl import CrawlPolicy, CrawlScope
from mudroom.model import CrawlState
from mudroom.settings import Settings

__all__ = ["command", "crawl_sites", "tell_manifest"]

_STATE_STATUSES = {
    CrawlState.COMPLETE: ExitStatus.DONE,
    CrawlState.LIMIT_REACHED: ExitStatus.DONE,
    CrawlState.CANCELLED: ExitStatus.CANCELLED,
    CrawlState.FAILED: ExitStatus.FAILED,
}
_VERDICT_STYLES = {
    "BLOCKED": "bold red",
    "FAILED": "bold yellow",
    "QUARANTINED": "bold magenta",
    "STORED": "green",
    "WARN": "yellow",
}


@click.command("crawl")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--max-pages", type=int, metavar="N", help="Pages to attempt, failures included.")
@click.option("--max-depth", type=int, metavar="N", help="Links away from the seed; 0 is the seed alone.")
@click.option("--max-bytes", "max_total_bytes", type=int, metavar="N", help="Bytes to read in all.")
@click.option(
    "--max-time",
    "max_duration_seconds",
    type=float,
    metavar="SECONDS",
    help="Then stop, and keep what there is.",
)
@click.option("--delay", "delay_seconds", type=float, metavar="SECONDS", help="Between requests to one host.")
@click.option("--concurrency", type=int, metavar="N", help="Pages in the works at once.")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in CrawlScope]),
    help="How far from the seed links are followed.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="Follow only URLs that match. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Do not follow URLs that match. Repeatable.")
@click.option("--no-robots", is_flag=True, help="Do not ask robots.txt; written into the manifest.")
@click.option("--json", "as_json", is_flag=True, help="The manifest as one JSON document.")
@click.option(
    "--jsonl", "as_jsonl", is_flag=True, help="The pages, one JSON document a line, then nothing else."
)
@network_options
@common_options
def command(  # noqa: PLR0913 - one parameter an option
    *,
    urls: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    scope: str | None,
    no_robots: bool,
    as_json: bool,
    as_jsonl: bool,
    headers: tuple[str, ...],
    user_agent: str | None,
    ca_file: str | None,
    allow_origins: tuple[str, ...],
    **budgets: float | None,
) -> None:
    r"""Take a site in: breadth first, politely, links from accepted pages only.

    \b
    mudroom crawl https://docs.example.org/ --max-pages 200
    mudroom crawl https://docs.example.org/guide/ --scope prefix
    mudroom crawl https://example.org/ --json > manifest.json

    Ctrl-C ends a crawl in good order: what was taken in stays, with a manifest.

    Exit status: 0 complete or a limit reached, 1 failed, 130 cancelled. What became of each
    page stands in the manifest.
    """
    common = CommonOptions.current()
    hosts = frozenset(parsed.host for url in urls if (parsed := parse_url(url)) is not None)
    overrides = gather_overrides(
        user_agent=user_agent, ca_file=ca_file, ca_hosts=hosts, allow_origins=allow_origins
    )
    overrides |= {("crawl", key): value for key, value in budgets.items() if value is not None}
    overrides |= {("crawl", "scope"): scope} if scope else {}
    overrides |= {("crawl", "robots"): "ignore"} if no_robots else {}
    settings = common.load(overrides)
    policy = replace(settings.crawl, include=include, exclude=exclude, seed_headers=parse_headers(headers))
    voice = common.voice()
    manifests = run_work(crawl_sites(settings, urls, policy, voice))
    if as_json:
        print_json(manifests[0] if len(manifests) == 1 else manifests)
    for manifest in manifests:
        if as_jsonl:
            for page in manifest["pages"]:
                print_jsonl(page)
        tell_manifest(manifest, voice, settings, is_table_wanted=not (as_json or as_jsonl))
    raise click.exceptions.Exit(max(_STATE_STATUSES[CrawlState(manifest["state"])] for manifest in manifests))


async def crawl_sites(
    settings: Settings, urls: tuple[str, ...], policy: CrawlPolicy, voice: Voice
) -> list[dict[str, Any]]:
    """The manifests of one crawl a seed, one after the other; a cancelled one is the last."""
    progress = CrawlProgress(voice)
    manifests: list[dict[str, Any]] = []
    try:
        async with open_house(settings, observer=progress) as house:
            for url in urls:
                manifest = await house.crawl(url, policy)
                manifests.append(manifest)
                if manifest["state"] == CrawlState.CANCELLED.value:
                    break
    finally:
        progress.close()
    return manifests


def tell_manifest(
    manifest: Mapping[str, Any], voice: Voice, settings: Settings, *, is_table_wanted: bool
) -> None:
    """What became of a crawl: a table of pages, totals, warnings, where it lies."""
    if is_table_wanted:
        rows = [
            (str(page["n"]), page["outcome"], page["decision"] or "", page["code"] or "", page["url"])
            for page in manifest["pages"]
        ]
        print_table(("n", "outcome", "decision", "code", "url"), rows, _VERDICT_STYLES)
    for warning in manifest["warnings"]:
        voice.say("warning", f"{warning['code']}  {warning['message']}")
    totals = manifest["totals"]
    voice.say(
        manifest["state"],
        f"{totals['stored']} stored, {totals['warned']} of them with a warning, {totals['quarantined']} quarantined, "
        f"{totals['blocked']} blocked, {totals['failed']} failed; {totals['discovered']} URLs discovered",
    )
    voice.say("kept", str(settings.workspace / "runs" / manifest["run_id"]))
