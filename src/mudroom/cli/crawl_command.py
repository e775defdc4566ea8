"""`mudroom crawl`: a site, page by page, within budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from mudroom.assembly import build_reading_corpus, open_house
from mudroom.cli.console import Voice, print_json, print_jsonl
from mudroom.cli.crawl_preview import explain as explain_url
from mudroom.cli.crawl_preview import preview
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
@click.argument("urls", nargs=-1, metavar="URL...")
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
@click.option("--retries", type=int, metavar="N", help="Further tries of a page that failed for now.")
@click.option("--resume", metavar="RUN", help="Go on with a crawl that was killed or stopped.")
@click.option("--dry-run", is_flag=True, help="Only say how it would begin; asks for robots.txt alone.")
@click.option("--explain", metavar="URL", help="Only say why this URL would be in the crawl or not.")
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
    resume: str | None,
    dry_run: bool,
    explain: str | None,
    **more: Any,
) -> int:
    """Take a site in: breadth first, politely, links from accepted pages only.

    mudroom crawl https://docs.example.org/ --max-pages 200
    mudroom crawl https://docs.example.org/guide/ --scope prefix
    mudroom crawl https://example.org/ --include '/blog/*' --exclude '*.pdf'
    mudroom crawl https://example.org/ --json > manifest.json

    mudroom crawl --resume @last                   (under the policy that the run has)
    mudroom crawl https://example.org/ --explain https://example.org/?page=9

    Ctrl-C ends a crawl in good order: what was taken in stays, with a manifest, and
    --resume goes on from there; also after a power cut or a kill.

    Exit status: 0 complete or a limit reached, 1 failed, 3 the seed was refused,
    130 cancelled. What became of each page stands in the manifest.
    """
    common = CommonOptions.current()
    show = {name: more.pop(name) for name in ("as_json", "as_jsonl")}
    if bool(urls) == (resume is not None):
        raise click.UsageError("name one or more URLs, or a run with --resume")
    if explain is not None and len(urls) > 1:
        raise click.UsageError("--explain takes one seed")
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
    if resume is not None:
        return _resume(settings, resume, explain, options, voice, _find_policy_options(), show)
    policy = replace(settings.crawl, include=include, exclude=exclude, seed_headers=options.headers)
    targets = [seed.untrusted_url for seed in seeds]
    if explain is not None:
        return explain_url(settings, targets[0], policy, explain, run=None, **show)
    if dry_run:
        return preview(settings, targets, policy, voice, **show)
    progress = CrawlProgress(voice)
    manifests = run_work(_crawl_all(settings, targets, policy, progress))
    return _show_manifests(manifests, settings, voice, is_single=len(urls) == 1, **show)


def _resume(
    settings: Settings,
    run: str,
    explain: str | None,
    options: NetworkOptions,
    voice: Voice,
    given: Sequence[str],
    show: Mapping[str, bool],
) -> int:
    """Go on with a run under its own policy, or explain a URL by it."""
    if given:
        raise click.UsageError(f"--resume goes on under the policy of the run; leave {', '.join(given)} out")
    if explain is not None:
        seed, policy = run_work(_read_policy(settings, run, options.headers))
        return explain_url(settings, seed, policy, explain, run=run, **show)
    progress = CrawlProgress(voice)
    manifest = run_work(_resume_one(settings, run, options.headers, progress))
    return _show_manifests([manifest], settings, voice, is_single=True, **show)


def _find_policy_options() -> Sequence[str]:
    """The options of this call that say how to crawl, as they were written."""
    context = click.get_current_context()
    return [
        option.opts[-1]
        for option in context.command.params
        if option.name not in _BESIDE_POLICY
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]


def _show_manifests(
    manifests: Sequence[dict[str, Any]],
    settings: Settings,
    voice: Voice,
    *,
    is_single: bool,
    as_json: bool,
    as_jsonl: bool,
) -> int:
    if as_json:
        print_json(manifests[0] if is_single else manifests)
    for manifest in manifests:
        if as_jsonl:
            for page in manifest["pages"]:
                print_jsonl(page)
        tell_manifest(manifest, voice, settings.workspace, is_table_wanted=not (as_json or as_jsonl))
        if manifest["state"] == CrawlState.CANCELLED:
            voice.say("go on", f"mudroom crawl --resume {manifest['run_id']}")
    return judge_manifests(manifests)


_NETWORK_KEYS = ("headers", "user_agent", "ca_file", "allow_origins")
_BESIDE_POLICY = frozenset(
    {*_NETWORK_KEYS, "urls", "resume", "explain", "as_json", "as_jsonl", "config", "workspace"}
    | {"is_quiet", "is_verbose"}
)


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


async def _resume_one(
    settings: Settings, run: str, headers: tuple[tuple[str, str], ...], progress: CrawlProgress
) -> dict[str, Any]:
    with progress:
        async with open_house(settings, observer=progress) as house:
            return await house.resume(run, headers=headers)


async def _read_policy(
    settings: Settings, run: str, headers: tuple[tuple[str, str], ...]
) -> tuple[str, CrawlPolicy]:
    """The seed and the policy of a run."""
    corpus = build_reading_corpus(settings)
    try:
        summary = await corpus.summarise_run(await corpus.resolve_run(run))
    finally:
        await corpus.aclose()
    return summary.root_url, CrawlPolicy.from_options(summary.options, seed_headers=headers)
