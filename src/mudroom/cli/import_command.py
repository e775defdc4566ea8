"""`mudroom import`: the pages of somebody's WARC or WACZ file, taken in the whole path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mudroom.assembly import open_house
from mudroom.cli.console import print_json, print_jsonl
from mudroom.cli.manifest import judge_manifests, tell_manifest
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.progress import CrawlProgress
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.settings import Settings

__all__ = ["command"]


@click.command("import", cls=TeachingCommand)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The manifest as one JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="The pages, one JSON document a line.")
@common_options
def command(*, path: Path, as_json: bool, as_jsonl: bool) -> int:
    """Take the pages of a WARC or WACZ file in: kept, read in the jail, scanned, decided.

    mudroom import site.warc.gz
    mudroom import site.wacz --json > manifest.json

    URLs, dates and answers are what the file says. Each document of the run is marked with
    the time of its import, and is kept apart from what mudroom itself retrieved.

    Exit status: 0 complete or a limit reached, 1 failed, 130 cancelled. What became of
    each page stands in the manifest.
    """
    common = CommonOptions.current()
    settings = common.load()
    voice = common.voice()
    manifest = run_work(_import(settings, path, CrawlProgress(voice)))
    if as_json:
        print_json(manifest)
    if as_jsonl:
        for page in manifest["pages"]:
            print_jsonl(page)
    tell_manifest(manifest, voice, settings.workspace, is_table_wanted=not (as_json or as_jsonl))
    return judge_manifests([manifest])


async def _import(settings: Settings, path: Path, progress: CrawlProgress) -> dict[str, Any]:
    with progress:
        async with open_house(settings, observer=progress) as house:
            return await house.import_archive(path)
