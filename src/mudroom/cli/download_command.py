"""`mudroom download`: guarded bytes, unscreened."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from mudroom.address import ExceptionScope, parse_url
from mudroom.assembly import open_fetcher
from mudroom.cli.console import Voice, print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import make_inert
from mudroom.cli.options import CommonOptions, NetworkOptions, common_options, network_options
from mudroom.cli.saving import Destination, FileDestination, StreamDestination
from mudroom.cli.targets import UrlTarget, complete_url
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.verdict import REFUSALS, describe_size, tell_failure
from mudroom.cli.work import run_work
from mudroom.errors import Code, FetchFailed, MudroomError
from mudroom.extract import make_slug
from mudroom.fetch import Fetcher, FetchRequest
from mudroom.settings import Settings

__all__ = ["command"]

_FIRST_ERROR_STATUS = 400
_AT_ONCE = 8
_MAX_SUFFIX = 8


@click.command("download", cls=TeachingCommand)
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("-o", "--output", "output", metavar="FILE", help="Write to FILE; - is standard output.")
@click.option(
    "-O",
    "--remote-name",
    "is_remote_name",
    is_flag=True,
    help="Write to a file named after the URL, in this folder.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give up on a body larger than N, instead of fetch.max_body_bytes.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document about all transfers.")
@network_options
@common_options
def command(
    *,
    urls: tuple[str, ...],
    output: str | None,
    is_remote_name: bool,
    max_bytes: int | None,
    as_json: bool,
    **network: Any,
) -> int:
    """Fetch bytes through the guard. They are neither read, nor scanned, nor archived.

    mudroom download https://example.org/data.csv -O
    mudroom download https://example.org/data.csv -o table.csv
    mudroom download https://example.org/data.csv -o - | wc -c

    A file appears under its name only when it is whole, and replaces one that exists;
    devices and pipes are written through. Nothing is written to a terminal.

    Exit status: 0 all came, 1 one or more did not, 3 one or more were refused.
    """
    if (output is None) == (not is_remote_name):
        raise click.UsageError("say where the bytes go: -o FILE, -o - or -O")
    if output is not None and len(urls) > 1:
        raise click.UsageError("-o takes one URL; use -O for several")
    if output == "-" and as_json:
        raise click.UsageError("--json and -o - both want standard output")
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError(
            "standard output is a terminal, which would obey what stands in the bytes; "
            "name a file with -o FILE, or pipe them"
        )
    common = CommonOptions.current()
    options = NetworkOptions.read(**network)
    targets = [complete_url(url) for url in urls]
    destinations = _choose_destinations(targets, output)
    settings = common.load(options.gather_overrides(target.untrusted_url for target in targets))
    work = _Download(common.voice(), options.headers, max_bytes)
    reports = run_work(work.run(settings, list(zip(targets, destinations, strict=True))))
    if as_json:
        print_json(reports)
    codes = {Code(str(report["code"])) for report in reports if report["code"]}
    if codes & REFUSALS:
        return ExitStatus.NEGATIVE
    return ExitStatus.FAILED if codes else ExitStatus.DONE


def _choose_destinations(targets: list[UrlTarget], output: str | None) -> list[Destination]:
    """Where each goes. Raises click.UsageError when two would be written to one file."""
    if output == "-":
        return [StreamDestination()]
    names = [output] if output is not None else [_name_file(target.untrusted_url) for target in targets]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise click.UsageError(f"two of the URLs would be written to {twice}; fetch one of them with -o")
    return [FileDestination(Path(name)) for name in names]


def _name_file(untrusted_url: str) -> str:
    """A file name from the last part of a URL's path: no folders, nothing hidden, nothing reserved."""
    parsed = parse_url(untrusted_url)
    last = parsed.path.rstrip("/").rpartition("/")[2] if parsed is not None else ""
    stem, dot, suffix = last.rpartition(".")
    slug = make_slug(stem if dot else last, untrusted_url)
    is_plain = bool(dot) and suffix.isascii() and suffix.isalnum() and len(suffix) <= _MAX_SUFFIX
    return f"{slug}.{suffix}" if is_plain else slug


class _Download:
    """The transfers of one call."""

    def __init__(self, voice: Voice, headers: tuple[tuple[str, str], ...], max_bytes: int | None) -> None:
        self._voice = voice
        self._headers = headers
        self._max_bytes = max_bytes

    async def run(
        self, settings: Settings, jobs: list[tuple[UrlTarget, Destination]]
    ) -> list[dict[str, object]]:
        """A report a job, in order. A job that is cancelled, or fails otherwise, ends the others too."""
        gate = asyncio.Semaphore(_AT_ONCE)
        async with open_fetcher(settings) as fetcher:

            async def one(target: UrlTarget, destination: Destination) -> dict[str, object]:
                async with gate:
                    return await self._transfer(fetcher, target, destination)

            tasks = [asyncio.ensure_future(one(*job)) for job in jobs]
            try:
                return list(await asyncio.gather(*tasks))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _transfer(
        self, fetcher: Fetcher, target: UrlTarget, destination: Destination
    ) -> dict[str, object]:
        url = target.untrusted_url
        if target.is_completed:
            self._voice.say("note", "no scheme given, using https://")
        report: dict[str, object] = {"url": url, "path": None, "bytes": 0, "code": None, "message": None}
        try:
            size = await self._stream(fetcher, url, destination)
        except MudroomError as error:
            tell_failure(url, error.code, error.message, self._voice)
            return report | {"code": error.code.value, "message": make_inert(error.message)}
        self._voice.say("came", f"{destination.name}, {describe_size(size)}, guarded, not screened")
        return report | {"path": destination.path, "bytes": size}

    async def _stream(self, fetcher: Fetcher, url: str, destination: Destination) -> int:
        request = FetchRequest(
            "GET",
            url,
            headers=self._headers,
            initiator_scope=ExceptionScope.operator(),
            max_body_bytes=self._max_bytes,
            max_decoded_bytes=self._max_bytes,
        )
        async with fetcher.stream(request) as answer:
            if answer.status >= _FIRST_ERROR_STATUS:
                raise FetchFailed(
                    Code.HTTP_STATUS, f"{answer.final.host} answered with status {answer.status}"
                )
            return await destination.take(answer.chunks())
