"""`mudroom rebuild`: the archive's index made again from its segments."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import click

from mudroom.assembly import rebuild_archive
from mudroom.cli.amounts import describe_count
from mudroom.cli.console import print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work

__all__ = ["command"]

_MAX_TOLD = 20
"""Runs that lost records."""


@click.command("rebuild", cls=TeachingCommand)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def command(*, as_json: bool) -> int:
    """Make the archive's index again from the WARC segments.

    mudroom rebuild                (reads every record, and says what is damaged)

    The index is made on its own where it is missing; use this where it is damaged, or to
    have every record read and checked. Segments are never changed; an index that cannot be
    read is kept as index.sqlite.old. Nothing else may be writing to the workspace.

    Exit status: 0 all is whole, 1 something is damaged or lost, or it could not be done.
    """
    common = CommonOptions.current()
    settings, voice = common.load(), common.voice()
    report = run_work(asyncio.to_thread(rebuild_archive, settings))
    if as_json:
        print_json(asdict(report))
    voice.say(
        "rebuilt",
        f"{describe_count(report.record_count, 'record')} in {describe_count(report.segment_count, 'segment')}",
    )
    if report.added_count:
        voice.say("found", f"{describe_count(report.added_count, 'record')} new to the index")
    if report.is_index_replaced:
        voice.say("note", "the old index could not be read; it is kept as index.sqlite.old")
    if report.lost_count:
        voice.insist(
            "lost",
            f"{describe_count(report.lost_count, 'record')} of the old index, in no segment or not whole",
        )
    for run_id, count in report.lost_by_run[:_MAX_TOLD]:
        told = f"of {run_id}; mudroom verify {run_id} names its page" if run_id else "that no run took in"
        voice.insist("", f"{describe_count(count, 'record')} {told}")
    if len(report.lost_by_run) > _MAX_TOLD:
        voice.say("", f"and of {len(report.lost_by_run) - _MAX_TOLD} runs more; all of them with --json")
    for name in report.damaged:
        voice.insist("damaged", f"{name} holds bytes that are no record; what is whole in it is indexed")
    return ExitStatus.FAILED if report.damaged or report.lost_count else ExitStatus.DONE
