"""`mudroom runs`: what this workspace holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from mudroom.assembly import build_reading_corpus
from mudroom.cli.console import print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.manifest import tell_manifest
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.corpus import RunSummary
from mudroom.intake import IMPORTED_OPTION
from mudroom.model import CrawlState
from mudroom.replay import REPLAY_OPTION
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

    RUNNING is a run that somebody writes at this moment; INTERRUPTED one whose program
    was killed: what it had taken in is there. A replay is a run too, and @last may be one:
    its kind is "replay of RUN", and that of an archive's import is "imported".

    The demo keeps its runs apart, in the folder demo of your workspace:
    mudroom runs --workspace <workspace>/demo

    Exit status: 0 found, 1 nothing found.
    """
    common = CommonOptions.current()
    settings = common.load()
    if run is not None:
        manifest, summary = run_work(_read_run(settings, run))
        if as_json or as_jsonl:
            (print_json if as_json else print_jsonl)(manifest)
        else:
            if origin := _name_origin(summary):
                common.voice().say("kind", origin)
            tell_manifest(
                manifest, common.voice(), settings.workspace, is_table_wanted=True, state=_name_state(summary)
            )
        return ExitStatus.DONE
    runs = run_work(_list_runs(settings, limit))
    if as_json:
        print_json([_describe(each) for each in runs])
    elif as_jsonl:
        for each in runs:
            print_jsonl(_describe(each))
    elif runs:
        columns = ("run", "state", "started", "stored", "withheld", "failed", "kind", "root")
        print_table(columns, [_row(each) for each in runs], _STYLES)
    if not runs:
        common.voice().say("nothing", f"no runs in {settings.workspace}")
        return ExitStatus.FAILED
    return ExitStatus.DONE


_STYLES = {"DAMAGED": "bold red", "INTERRUPTED": "yellow"}


async def _read_run(settings: Settings, run: str) -> tuple[dict[str, Any], RunSummary]:
    """The manifest of one run, and how it stands in the list."""
    corpus = build_reading_corpus(settings)
    try:
        run_id = await corpus.resolve_run(run)
        return await corpus.read_manifest(run_id), await corpus.summarise_run(run_id)
    finally:
        await corpus.aclose()


async def _list_runs(settings: Settings, limit: int) -> Sequence[RunSummary]:
    corpus = build_reading_corpus(settings)
    try:
        return await corpus.list_runs(limit=limit)
    finally:
        await corpus.aclose()


def _describe(run: RunSummary) -> dict[str, Any]:
    """A run of the list as one JSON object."""
    return {
        "run_id": run.run_id,
        "kind": run.kind.value,
        "replay_of": _read_option(run, REPLAY_OPTION),
        "imported_from": _read_option(run, IMPORTED_OPTION),
        "state": run.state.value if run.state else None,
        "is_live": run.is_live,
        "root_url": run.root_url,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "totals": dict(run.totals),
    }


def _name_state(run: RunSummary) -> str:
    """The state for a person: a run that nobody writes any more does not run, whatever its manifest says."""
    if run.state is None:
        return "DAMAGED"
    return "INTERRUPTED" if run.state is CrawlState.RUNNING and not run.is_live else run.state.value


def _read_option(run: RunSummary, name: str) -> str | None:
    """A text among what a run was begun with."""
    value = run.options.get(name)
    return value if isinstance(value, str) else None


def _name_origin(run: RunSummary) -> str | None:
    """Where a run comes from that asked no site; None for every other."""
    if replayed := _read_option(run, REPLAY_OPTION):
        return f"replay of {replayed}"
    return "imported" if _read_option(run, IMPORTED_OPTION) else None


def _row(run: RunSummary) -> tuple[str, ...]:
    totals = run.totals
    return (
        run.run_id,
        _name_state(run),
        (run.started_at or "")[:19],
        str(totals.get("stored", "")),
        str(totals["blocked"] + totals["quarantined"]) if totals else "",
        str(totals.get("failed", "")),
        _name_origin(run) or run.kind.value,
        run.root_url,
    )
