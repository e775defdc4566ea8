"""`mudroom runs`: what this workspace holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from mudroom.assembly import build_reading_corpus
from mudroom.cli.console import print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.manifest import tell_manifest
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.settings import Settings

__all__ = ["command"]


@click.command("runs", cls=TeachingCommand)
@click.argument("run", required=False, metavar="[RUN]")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many of the newest runs are listed.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line.")
@common_options
def command(*, run: str | None, limit: int, as_json: bool, as_jsonl: bool) -> int:
    """List the runs of this workspace, newest first; with RUN, its pages.

    mudroom runs
    mudroom runs @last             (the pages of the newest run)
    mudroom runs 01KD --json       (the beginning of an id, while only one begins so)

    Exit status: 0 found, 1 nothing found.
    """
    common = CommonOptions.current()
    settings = common.load()
    runs = run_work(_read_runs(settings, run, limit))
    if as_json:
        print_json(runs[0] if run is not None else runs)
    elif as_jsonl:
        for each in runs:
            print_jsonl(each)
    elif run is not None:
        tell_manifest(runs[0], common.voice(), settings.workspace, is_table_wanted=True)
    elif runs:
        columns = ("run", "state", "started", "stored", "withheld", "failed", "root")
        print_table(columns, [_row(each) for each in runs], {"DAMAGED": "bold red"})
    if not runs:
        common.voice().say("nothing", f"no runs in {settings.workspace}")
        return ExitStatus.FAILED
    return ExitStatus.DONE


async def _read_runs(settings: Settings, run: str | None, limit: int) -> list[dict[str, Any]]:
    """The manifest of one run, or the summaries of the newest."""
    corpus = build_reading_corpus(settings)
    try:
        if run is not None:
            return [await corpus.read_manifest(await corpus.resolve_run(run))]
        return [
            {
                "run_id": summary.run_id,
                "kind": summary.kind.value,
                "state": summary.state.value if summary.state else None,
                "root_url": summary.root_url,
                "started_at": summary.started_at,
                "finished_at": summary.finished_at,
                "totals": dict(summary.totals),
            }
            for summary in await corpus.list_runs(limit=limit)
        ]
    finally:
        await corpus.aclose()


def _row(run: Mapping[str, Any]) -> tuple[str, ...]:
    totals = run["totals"]
    return (
        run["run_id"],
        run["state"] or "DAMAGED",
        (run["started_at"] or "")[:19],
        str(totals.get("stored", "")),
        str(totals["blocked"] + totals["quarantined"]) if totals else "",
        str(totals.get("failed", "")),
        run["root_url"],
    )
