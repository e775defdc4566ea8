"""A manifest told to a person: a table of pages, totals, warnings, where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mudroom.cli.console import VERDICT_STYLES, Voice, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import shorten
from mudroom.cli.verdict import REFUSALS
from mudroom.errors import CODES, Code
from mudroom.model import CrawlState

__all__ = ["judge_manifests", "tell_manifest"]

_URL_WIDTH = 200
_STATUSES = {
    CrawlState.CREATED: ExitStatus.FAILED,
    CrawlState.RUNNING: ExitStatus.FAILED,
    CrawlState.COMPLETE: ExitStatus.DONE,
    CrawlState.LIMIT_REACHED: ExitStatus.DONE,
    CrawlState.CANCELLED: ExitStatus.CANCELLED,
    CrawlState.FAILED: ExitStatus.FAILED,
}


def judge_manifests(manifests: Iterable[Mapping[str, Any]]) -> ExitStatus:
    """The status of several crawls: the highest, so that a cancelled one is told before all."""
    return max((_judge(manifest) for manifest in manifests), default=ExitStatus.CANCELLED)


def _judge(manifest: Mapping[str, Any]) -> ExitStatus:
    status = _STATUSES[CrawlState(manifest["state"])]
    codes = {page["code"] for page in manifest["pages"]}
    if status is ExitStatus.FAILED and codes and codes <= {code.value for code in REFUSALS}:
        return ExitStatus.NEGATIVE
    return status


def tell_manifest(
    manifest: Mapping[str, Any],
    voice: Voice,
    workspace: Path,
    *,
    is_table_wanted: bool,
    state: str | None = None,
) -> None:
    """What became of a run: a table of its pages on stdout, the rest on stderr.

    Shapes: `state` is what people read in place of the manifest's.
    """
    pages = manifest["pages"]
    if is_table_wanted and pages:
        rows = [
            (
                str(page["n"]),
                page["outcome"],
                page["decision"] or "",
                page["code"] or "",
                shorten(page["url"], _URL_WIDTH),
            )
            for page in pages
        ]
        print_table(("n", "outcome", "decision", "code", "url"), rows, VERDICT_STYLES)
    for warning in manifest["warnings"]:
        voice.say("warning", f"{warning['code']}  {warning['message']}")
    totals = manifest["totals"]
    voice.say(state or manifest["state"], _sum_up(totals))
    if manifest["state"] == CrawlState.FAILED and pages and pages[0]["code"]:
        voice.say("help", CODES[Code(pages[0]["code"])].advice)
    if manifest["run_id"] is not None:
        voice.say("kept", str(workspace / "runs" / manifest["run_id"]))


def _sum_up(totals: Mapping[str, int]) -> str:
    warned, discovered = totals["warned"], totals["discovered"]
    stored = f"{totals['stored']} stored" + (f" ({warned} with a warning)" if warned else "")
    urls = "1 URL" if discovered == 1 else f"{discovered} URLs"
    return (
        f"{stored}, {totals['quarantined']} quarantined, {totals['blocked']} blocked, "
        f"{totals['failed']} failed; {urls} discovered"
    )
