"""`mudroom replay`: a crawl again from the archive, without a network."""

from __future__ import annotations

from typing import Any

import click

from mudroom.assembly import open_study
from mudroom.cli.amounts import describe_count
from mudroom.cli.console import Voice, print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.progress import CrawlProgress
from mudroom.cli.proofs import describe_difference, describe_versions, tell_differences, tell_versions
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.replay import ReplayReport
from mudroom.settings import Settings

__all__ = ["command", "tell_report"]

_MAX_TOLD = 20
"""Pages that cannot be read."""


@click.command("replay", cls=TeachingCommand)
@click.argument("run", metavar="RUN")
@click.option(
    "--json", "as_json", is_flag=True, help="What differs, and the replay's manifest, as one JSON document."
)
@common_options
def command(*, run: str, as_json: bool) -> int:
    """Crawl a site again as a run recorded it, from the archive, without a network.

    mudroom replay @last
    mudroom replay 01KD --json     (the beginning of an id, while only one begins so)

    Pages, robots.txt and sitemaps are read from the bytes that the run kept, by its own references,
    in the order that it recorded; what failed fails again. They go the whole way in: extraction, scan
    and decision are done anew. The replay is a run of its own, with replay_of among its options.

    Exit status: 0 equal field by field, 3 something differs, 1 could not be done, 2 this run cannot
    be replayed.
    """
    common = CommonOptions.current()
    settings = common.load()
    voice = common.voice()
    progress = CrawlProgress(voice, is_naming=common.is_verbose)
    report = run_work(_replay(settings, run, progress))
    if as_json:
        print_json(_describe(report))
    tell_report(report, voice, settings)
    return ExitStatus.DONE if report.is_equal else ExitStatus.NEGATIVE


async def _replay(settings: Settings, name: str, progress: CrawlProgress) -> ReplayReport:
    with progress:
        async with open_study(settings, observer=progress) as study:
            return await study.replayer.replay(await study.corpus.resolve_run(name))


def _describe(report: ReplayReport) -> dict[str, Any]:
    return {
        "schema": "mudroom.replay/1",
        "replay_of": report.replay_of,
        "run_id": report.manifest["run_id"],
        "is_equal": report.is_equal,
        "differences": [describe_difference(each) for each in report.differences],
        "versions": describe_versions(report.versions),
        "unreadable": [
            {"n": number, "code": error.code.value, "message": error.message}
            for number, error in report.unreadable
        ],
        "missing": list(report.missing),
        "manifest": dict(report.manifest),
    }


def tell_report(report: ReplayReport, voice: Voice, settings: Settings) -> None:
    """What came of a replay, in few lines however much differs."""
    shown = report.unreadable if voice.is_verbose else report.unreadable[:_MAX_TOLD]
    for number, error in shown:
        voice.insist(error.code.value, f"page {number} of {report.replay_of}: {error.message}")
    if len(shown) < len(report.unreadable):
        voice.say("", f"and {len(report.unreadable) - len(shown)} more; all of them with --json or --verbose")
    if report.missing:
        others = len(report.missing) - 1
        more = f" and {describe_count(others, 'page')} more" if others else ""
        voice.say("missing", f"nothing led to page {report.missing[0]} of {report.replay_of}{more} this time")
    tell_versions(report.versions, voice)
    tell_differences(report.differences, voice)
    pages = len(report.manifest["pages"])
    noun = "page" if pages == 1 else "pages"
    if report.is_equal:
        voice.say("equal", f"{report.replay_of}: {pages} {noun}, field by field, from the archive alone")
    else:
        voice.insist(
            "DIFFERS", f"{report.replay_of}: {len(report.differences)} fields of {pages} {noun} and their run"
        )
        voice.say(
            "look", f"mudroom verify {report.replay_of}  (names the first stage at which each page differs)"
        )
    run_id = report.manifest["run_id"]
    if run_id is not None:
        voice.say("kept", str(settings.workspace / "runs" / run_id))
