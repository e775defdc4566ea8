"""`mudroom crawl`: a site, page by page, within budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from mudroom.assembly import open_house
from mudroom.cli.console import print_json, print_jsonl
from mudroom.cli.manifest import judge_manifests, tell_manifest
from mudroom.cli.options import CommonOptions, NetworkOptions, common_options, network_options
from mudroom.cli.progress import CrawlProgress
from mudroom.cli.targets import complete_url
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.crawl import CrawlPolicy, CrawlScope, Discovery
from mudroom.model import CrawlState
from mudroom.settings import Settings

__all__ = ["command"]


@click.command("crawl", cls=TeachingCommand)
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
@click.option(
    "--discovery",
    type=click.Choice([discovery.value for discovery in Discovery]),
    help="Learn of pages from links, from sitemaps, or from both.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="Follow only URLs that match. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Do not follow URLs that match. Repeatable.")
@click.option(
    "--revalidate/--no-revalidate",
    default=None,
    help="Ask whether pages in the archive still hold, and read those again.",
)
@click.option("--no-robots", is_flag=True, help="Do not ask robots.txt; written into the manifest.")
@click.option("--json", "as_json", is_flag=True, help="The manifest as one JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="The pages, one JSON document a line.")
@network_options
@common_options
def command(
    *,
    urls: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    no_robots: bool,
    as_json: bool,
    as_jsonl: bool,
    **more: Any,
) -> int:
    """Take a site in: breadth first, politely, links from accepted pages only.

    mudroom crawl https://docs.example.org/ --max-pages 200
    mudroom crawl https://docs.example.org/guide/ --scope prefix
    mudroom crawl https://example.org/ --include '/blog/*' --exclude '*.pdf'
    mudroom crawl https://example.org/ --json > manifest.json

    Ctrl-C ends a crawl in good order: what was taken in stays, with a manifest.

    Exit status: 0 complete or a limit reached, 1 failed, 3 the seed was refused,
    130 cancelled. What became of each page stands in the manifest.
    """
    common = CommonOptions.current()
    options = NetworkOptions.read(**{key: more.pop(key) for key in _NETWORK_KEYS})
    voice = common.voice()
    seeds = [complete_url(url) for url in urls]
    for seed in seeds:
        if seed.is_completed:
            voice.say("note", "no scheme given, using https://")
    overrides = options.gather_overrides(seed.untrusted_url for seed in seeds)
    overrides |= {("crawl", key): value for key, value in more.items() if value is not None}
    overrides |= {("crawl", "robots"): "ignore"} if no_robots else {}
    settings = common.load(overrides)
    policy = replace(settings.crawl, include=include, exclude=exclude, seed_headers=options.headers)
    progress = CrawlProgress(voice)
    manifests = run_work(_crawl_all(settings, [seed.untrusted_url for seed in seeds], policy, progress))
    if as_json:
        print_json(manifests if len(urls) > 1 else manifests[0])
    for manifest in manifests:
        if as_jsonl:
            for page in manifest["pages"]:
                print_jsonl(page)
        tell_manifest(manifest, voice, settings.workspace, is_table_wanted=not (as_json or as_jsonl))
    return judge_manifests(manifests)


_NETWORK_KEYS = ("headers", "user_agent", "ca_file", "allow_origins")


async def _crawl_all(
    settings: Settings, seeds: list[str], policy: CrawlPolicy, progress: CrawlProgress
) -> list[dict[str, Any]]:
    """The manifests of one crawl a seed, one after the other; a cancelled one is the last."""
    manifests: list[dict[str, Any]] = []
    with progress:
        async with open_house(settings, observer=progress) as house:
            for seed in seeds:
                manifest = await house.crawl(seed, policy)
                manifests.append(manifest)
                if manifest["state"] == CrawlState.CANCELLED:
                    break
    return manifests
