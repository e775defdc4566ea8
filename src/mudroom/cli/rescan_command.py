"""`mudroom rescan`: which decisions a new policy or rule set would change, before they do."""

from __future__ import annotations

from typing import Any

import click

from mudroom.assembly import open_study
from mudroom.cli.console import VERDICT_STYLES, Voice, print_json, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import shorten
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.proofs import describe_versions, tell_versions
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.replay import RescanReport, VerdictChange
from mudroom.settings import Settings

__all__ = ["command"]

_WIDTH = 200


@click.command("rescan", cls=TeachingCommand)
@click.argument("run", metavar="RUN")
@click.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Let it hold: what is no longer accepted leaves pages/; noted in each page's metadata.",
)
@click.option("--json", "as_json", is_flag=True, help="Every change as one JSON document.")
@common_options
def command(*, run: str, is_applied: bool, as_json: bool) -> int:
    """Show which decisions of a run the rules and the policy of now would change.

    mudroom rescan @last
    mudroom rescan @last --config strict.toml     (what another policy would decide)
    mudroom rescan @last --apply

    The bytes in the archive are read and scanned again; nothing is fetched. Without --apply
    nothing is changed. With it, accepted documents that would be withheld now leave pages/, and
    the others are noted as accepted under the versions of now. What was withheld stays
    withheld.

    Exit status: 0 no decision changes, 3 some do, 1 could not be done.
    """
    common = CommonOptions.current()
    report = run_work(_rescan(common.load(), run, is_applied=is_applied))
    if as_json:
        print_json(_describe(report))
    _tell(report, common.voice(), is_table_wanted=not as_json)
    if report.changes:
        return ExitStatus.NEGATIVE
    return ExitStatus.FAILED if report.unreadable else ExitStatus.DONE


async def _rescan(settings: Settings, name: str, *, is_applied: bool) -> RescanReport:
    async with open_study(settings) as study:
        run_id = await study.corpus.resolve_run(name)
        return await study.rescanner.rescan(run_id, is_applied=is_applied)


def _describe(report: RescanReport) -> dict[str, Any]:
    return {
        "schema": "mudroom.rescan/1",
        "run_id": report.run_id,
        "checked": report.checked,
        "is_applied": report.is_applied,
        "rescreened": report.rescreened,
        "versions": describe_versions(report.versions),
        "changes": [_describe_change(change) for change in report.changes],
        "reread": list(report.reread),
        "unreadable": [
            {"n": number, "code": error.code.value, "message": error.message}
            for number, error in report.unreadable
        ],
    }


def _describe_change(change: VerdictChange) -> dict[str, Any]:
    keys = ("outcome", "decision", "code")
    return {
        "n": change.number,
        "url": change.url,
        "source_ref": change.source_ref,
        "recorded": dict(zip(keys, change.recorded, strict=True)),
        "now": dict(zip(keys, change.current, strict=True)),
        "findings_gone": list(change.findings_gone),
        "findings_new": list(change.findings_new),
    }


def _tell(report: RescanReport, voice: Voice, *, is_table_wanted: bool) -> None:
    if is_table_wanted and report.changes:
        rows = [
            (
                str(change.number),
                _name(change.recorded),
                _name(change.current),
                " ".join(
                    [
                        *(f"+{rule}" for rule in change.findings_new),
                        *(f"-{rule}" for rule in change.findings_gone),
                    ]
                ),
                shorten(change.url, _WIDTH),
            )
            for change in report.changes
        ]
        print_table(("n", "recorded", "now", "findings", "url"), rows, VERDICT_STYLES)
    for number, error in report.unreadable:
        voice.insist(error.code.value, f"page {number} of {report.run_id} was not scanned: {error.message}")
    for number in report.reread:
        voice.say(
            "note", f"page {number} of {report.run_id} reads otherwise now; its text stays as accepted then"
        )
    tell_versions(report.versions, voice)
    withdrawn = sum(change.is_withdrawn for change in report.changes)
    pages = "1 page" if report.checked == 1 else f"{report.checked} pages"
    told = (
        f"{report.run_id}: {len(report.changes)} of {pages} decided otherwise, {withdrawn} no longer accepted"
    )
    voice.say("applied" if report.is_applied else "would be", told)
    if report.changes and not report.is_applied:
        voice.say("help", f"let it hold with: mudroom rescan {report.run_id} --apply")


def _name(verdict: tuple[str, str | None, str | None]) -> str:
    outcome, decision, code = verdict
    return f"{outcome} {code or decision or ''}".strip()
