"""`mudroom export`: a run as a WARC or WACZ file that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from mudroom.assembly import ship_run
from mudroom.cli.console import print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.saving import FileDestination
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.exchange import ExportRule, ExportSummary

__all__ = ["command"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("export", cls=TeachingCommand)
@click.argument("run", metavar="RUN")
@click.option("--warc", "warc", type=_FILE, metavar="FILE", help="Write a WARC file, gzip a record.")
@click.option("--wacz", "wacz", type=_FILE, metavar="FILE", help="Write a WACZ file: WARC, index and pages.")
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Withheld and failed pages, robots.txt files and sitemaps too, whatever is in them.",
)
@click.option("--with-cookies", is_flag=True, help="Keep Set-Cookie fields.")
@click.option("--json", "as_json", is_flag=True, help="What was written, as one JSON document.")
@common_options
def command(
    *, run: str, warc: Path | None, wacz: Path | None, is_all: bool, with_cookies: bool, as_json: bool
) -> int:
    """Write the accepted pages of a run into a file for other programs.

    mudroom export @last --warc site.warc.gz
    mudroom export crawl_01KD --wacz site.wacz
    mudroom export @last --warc everything.warc.gz --all

    The file holds the bytes as they were received, and the answers' headers but Set-Cookie;
    what was sent in requests was never kept. It appears under its name only when it is whole,
    and replaces a file that exists, as download -o does; that one was replaced is said.

    Exit status: 0 written, 1 could not be written, or there is nothing to write.
    """
    target = wacz if warc is None else warc
    if target is None or (warc is not None and wacz is not None):
        raise click.UsageError("name one file: --warc FILE or --wacz FILE")
    common = CommonOptions.current()
    settings = common.load()
    rule, summary = ExportRule(is_all=is_all, with_cookies=with_cookies), ExportSummary()
    chunks = ship_run(settings, run, rule, is_wacz=wacz is not None, summary=summary)
    is_replaced = target.is_file()
    size = run_work(FileDestination(target).take(chunks))
    report = {"path": str(target), "bytes": size, "pages": summary.pages, "others": summary.others}
    if as_json:
        print_json(report)
    if is_replaced:
        common.voice().say("note", f"{target} was there before, and was replaced")
    others = f", {summary.others} other records" if summary.others else ""
    common.voice().say("written", f"{target}  {summary.pages} pages{others}, {size:,} bytes")
    return ExitStatus.DONE
