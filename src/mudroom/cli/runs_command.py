"""`mudroom runs`: what this workspace holds."""

from __future__ import annotations

import click

from mudroom.assembly import build_corpus
from mudroom.cli.console import print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options

__all__ = ["command"]


@click.command("runs")
@click.argument("run", required=False, metavar="[RUN]")
@click.option("--limit", default=20, show_default=True, metavar="N", help="Newest runs to list; 0 lists all.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line.")
@common_options
def command(*, run: str | None, limit: int, as_json: bool, as_jsonl: bool) -> None:
    """List the runs of this workspace, newest first; with RUN, its manifest.

    \b
    mudroom runs
    mudroom runs @last --json
    mudroom runs crawl_01KD        (the beginning of an id, while only one begins so)

    Exit status: 0 found, 1 nothing found.
    """
    settings = CommonOptions.current().load()
    corpus = build_corpus(settings)
    if run is not None:
        manifests = [corpus.read_manifest(corpus.resolve_run(run))]
    else:
        ids = corpus.list_runs()
        manifests = [corpus.read_manifest(run_id) for run_id in (ids[:limit] if limit else ids)]
    if as_json:
        print_json(manifests[0] if run is not None else manifests)
    elif as_jsonl:
        for manifest in manifests:
            print_jsonl(manifest)
    else:
        rows = [
            (
                manifest["run_id"],
                manifest["state"],
                (manifest["started_at"] or "")[:19],
                str(manifest["totals"]["stored"]),
                str(manifest["totals"]["blocked"] + manifest["totals"]["quarantined"]),
                str(manifest["totals"]["failed"]),
                manifest["root_url"],
            )
            for manifest in manifests
        ]
        print_table(("run", "state", "started", "stored", "withheld", "failed", "root"), rows, {})
    if not manifests:
        CommonOptions.current().voice().say("nothing", f"no runs in {settings.workspace}")
        raise click.exceptions.Exit(ExitStatus.FAILED)
