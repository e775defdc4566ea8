"""`mudroom download`: guarded bytes, unscreened."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mudroom.cli.console import print_json, print_jsonl
from mudroom.cli.download_names import name_files
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import make_inert
from mudroom.cli.options import CommonOptions, NetworkOptions, common_options, network_options
from mudroom.cli.saving import Destination, FileDestination, StreamDestination
from mudroom.cli.targets import UrlTarget, read_urls
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.transfer_progress import TransferProgress
from mudroom.cli.transfers import Order, Report, TransferOptions, Transfers
from mudroom.cli.verdict import REFUSALS
from mudroom.cli.work import run_work
from mudroom.clock import SystemClock

__all__ = ["command"]

_MAX_AT_ONCE = 32
_DAY_SECONDS = 24 * 3600
_OF_RANGES = frozenset({"range", "if-range", "accept-encoding"})


@click.command("download", cls=TeachingCommand)
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option(
    "-i",
    "--input",
    "list_file",
    metavar="LIST",
    help="Read URLs from LIST, one a line; - is standard input.",
)
@click.option("-o", "--output", "output", metavar="FILE", help="Write to FILE; - is standard output.")
@click.option(
    "-O",
    "--remote-name",
    "is_remote_name",
    is_flag=True,
    help="Write to a file named after the URL, in this folder.",
)
@click.option(
    "-C",
    "--continue",
    "is_continued",
    is_flag=True,
    help="Go on with what an earlier -C left of a file, where it is still the same; leave what breaks off.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give up on a body larger than N, instead of fetch.max_body_bytes.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(min=0.1, max=_DAY_SECONDS),
    metavar="SECONDS",
    help="Give up on a transfer that takes longer, instead of fetch.total_timeout_seconds.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=_MAX_AT_ONCE),
    default=8,
    show_default=True,
    metavar="N",
    help="Transfers at the same time; of one host, as many as its slots allow.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document about all transfers.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line, for each as it ends.")
@network_options
@common_options
def command(  # noqa: PLR0913 - one parameter an option
    *,
    urls: tuple[str, ...],
    list_file: str | None,
    output: str | None,
    is_remote_name: bool,
    is_continued: bool,
    max_bytes: int | None,
    max_time: float | None,
    concurrency: int,
    as_json: bool,
    as_jsonl: bool,
    **network: Any,
) -> int:
    """Fetch bytes through the guard. They are neither read, nor scanned, nor archived.

    mudroom download https://example.org/data.csv -O
    mudroom download https://example.org/data.csv -o table.csv
    mudroom download https://example.org/data.csv -o - | wc -c
    mudroom download -O -C -i urls.txt                   (again, until all have come)

    A file appears under its name only when it is whole, and replaces one that exists;
    devices and pipes that -o names are written through. Nothing is written to a terminal. With -C what
    has come of a file that breaks off stays beside it (.NAME.part and .NAME.part.json),
    and the next -C goes on with it where the server shows that it is still the same.

    Exit status: 0 all came, 1 one or more did not, 3 one or more were refused.
    """
    _check_output(output, is_remote_name=is_remote_name, is_told=as_json or as_jsonl)
    if is_continued and output == "-":
        raise click.UsageError("-C goes on with a file; what went to standard output is gone")
    targets = read_urls(urls, list_file)
    if output is not None and len(targets) > 1:
        raise click.UsageError("-o takes one URL; use -O for several")
    common = CommonOptions.current()
    network_given = NetworkOptions.read(**network)
    if is_continued and any(name.lower() in _OF_RANGES for name, _ in network_given.headers):
        raise click.UsageError(
            "-C asks for ranges itself; give no Range, If-Range or Accept-Encoding with it"
        )
    overrides = network_given.gather_overrides(target.untrusted_url for target in targets)
    if max_time is not None:
        overrides["fetch", "total_timeout_seconds"] = max_time
    settings = common.load(overrides)
    options = TransferOptions(
        headers=network_given.headers, concurrency=concurrency, max_bytes=max_bytes, max_seconds=max_time
    )
    orders = _make_orders(targets, _choose_destinations(targets, output), is_continued=is_continued)
    voice = common.voice()
    if any(target.is_completed for target in targets):
        voice.say("note", "no scheme given, using https://")
    tell = _tell_line if as_jsonl else None
    with TransferProgress(voice, SystemClock(), len(orders), tell) as progress:
        reports = run_work(Transfers(settings, options, progress).run(orders))
    if as_json:
        print_json([_describe(report) for report in reports])
    return _judge(reports)


def _check_output(output: str | None, *, is_remote_name: bool, is_told: bool) -> None:
    """Raises click.UsageError where it is not said where bytes go, or they would meet something else there."""
    if (output is None) == (not is_remote_name):
        raise click.UsageError("say where the bytes go: -o FILE, -o - or -O")
    if output == "-" and is_told:
        raise click.UsageError("--json, --jsonl and -o - all want standard output")
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError(
            "standard output is a terminal, which would obey what stands in the bytes; "
            "name a file with -o FILE, or pipe them"
        )


def _choose_destinations(targets: Sequence[UrlTarget], output: str | None) -> list[Destination]:
    """Where each goes. Raises click.UsageError where two would be written to one file."""
    if output == "-":
        return [StreamDestination()]
    if output is not None:
        return [FileDestination(Path(output))]
    try:
        names = name_files([target.untrusted_url for target in targets])
    except ValueError as error:
        raise click.UsageError(
            f"two of the URLs would be written to {error}; fetch one of them with -o"
        ) from error
    return [FileDestination(Path(name), is_named=False) for name in names]


def _make_orders(
    targets: Sequence[UrlTarget], destinations: Sequence[Destination], *, is_continued: bool
) -> list[Order]:
    return [
        Order(
            number=number,
            untrusted_url=target.untrusted_url,
            destination=destination,
            is_continued=is_continued,
        )
        for number, (target, destination) in enumerate(zip(targets, destinations, strict=True))
    ]


def _tell_line(report: Report) -> None:
    print_jsonl(_describe(report))


def _describe(report: Report) -> dict[str, object]:
    error = report.error
    return {
        "url": report.order.untrusted_url,
        "path": report.order.destination.path if error is None else None,
        "bytes": report.size if error is None else 0,
        "continued_from": report.continued_from,
        "kept_bytes": report.kept_bytes,
        "code": None if error is None else error.code.value,
        "message": None if error is None else make_inert(error.message),
    }


def _judge(reports: Sequence[Report]) -> ExitStatus:
    """A refusal outweighs a failure, a failure outweighs success."""
    codes = {report.error.code for report in reports if report.error is not None}
    if codes & REFUSALS:
        return ExitStatus.NEGATIVE
    return ExitStatus.FAILED if codes else ExitStatus.DONE
