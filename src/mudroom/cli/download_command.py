"""`mudroom download`: guarded bytes, unscreened."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import click

from mudroom.address import ExceptionScope, parse_url
from mudroom.assembly import House, open_house
from mudroom.cli.console import Voice, print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import (
    CommonOptions,
    common_options,
    gather_overrides,
    network_options,
    parse_headers,
)
from mudroom.cli.verdict import describe_size
from mudroom.cli.work import run_work
from mudroom.errors import CODES, Code, FetchFailed, MudroomError, StoreFailed
from mudroom.extract import make_slug
from mudroom.fetch import FetchRequest

__all__ = ["command"]

_FIRST_ERROR_STATUS = 400
_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    r"""One URL and where its bytes go; None is standard output."""

    untrusted_url: str
    target: Path | None


@click.command("download")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("-o", "--output", "output", metavar="FILE", help="Write to FILE; - is standard output.")
@click.option(
    "-O",
    "--remote-name",
    "is_remote_name",
    is_flag=True,
    help="Write to a file named after the URL, in this folder.",
)
@click.option("--max-bytes", type=int, metavar="N", help="Give up on a body larger than N.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document about all transfers.")
@network_options
@common_options
def command(  # noqa: PLR0913 - one parameter an option
    *,
    urls: tuple[str, ...],
    output: str | None,
    is_remote_name: bool,
    max_bytes: int | None,
    as_json: bool,
    headers: tuple[str, ...],
    user_agent: str | None,
    ca_file: str | None,
    allow_origins: tuple[str, ...],
) -> None:
    r"""Fetch bytes through the guard. They are neither read, nor scanned, nor archived.

    \b
    mudroom download https://example.org/data.csv -O
    mudroom download https://example.org/data.csv -o - | wc -c

    A file appears under its name only when it is whole. Files that exist are replaced.
    Exit status: 0 all came, 1 one or more did not.
    """
    if (output is None) == (not is_remote_name):
        raise click.UsageError("say where the bytes go: -o FILE, -o - or -O")
    if output is not None and len(urls) > 1:
        raise click.UsageError("-o takes one URL; use -O for several")
    if output == "-" and as_json:
        raise click.UsageError("--json and -o - both want standard output")
    common = CommonOptions.current()
    hosts = frozenset(parsed.host for url in urls if (parsed := parse_url(url)) is not None)
    settings = common.load(
        gather_overrides(user_agent=user_agent, ca_file=ca_file, ca_hosts=hosts, allow_origins=allow_origins)
    )
    jobs = [_Job(untrusted_url=url, target=_choose_target(url, output)) for url in urls]
    work = _Download(common.voice(), parse_headers(headers), max_bytes)
    reports = run_work(work.run(lambda: open_house(settings), jobs))
    if as_json:
        print_json(reports)
    if any(report["code"] for report in reports):
        raise click.exceptions.Exit(ExitStatus.FAILED)


def _choose_target(url: str, output: str | None) -> Path | None:
    if output == "-":
        return None
    return Path(output) if output is not None else Path(_name_file(url))


def _name_file(untrusted_url: str) -> str:
    """A file name from the last part of a URL's path: no folders, nothing hidden, nothing reserved."""
    parsed = parse_url(untrusted_url)
    last = parsed.path.rstrip("/").rpartition("/")[2] if parsed is not None else ""
    stem, dot, suffix = last.rpartition(".")
    slug = make_slug(stem if dot else last, untrusted_url)
    is_plain = dot and suffix.isascii() and suffix.isalnum() and len(suffix) <= 8  # noqa: PLR2004 - longer is no suffix
    return f"{slug}.{suffix}" if is_plain else slug


class _Download:
    """The transfers of one call."""

    def __init__(self, voice: Voice, headers: tuple[tuple[str, str], ...], max_bytes: int | None) -> None:
        self._voice = voice
        self._headers = headers
        self._max_bytes = max_bytes

    async def run(
        self, open_parts: Callable[[], AbstractAsyncContextManager[House]], jobs: list[_Job]
    ) -> list[dict[str, object]]:
        """A report a job, in order."""
        gate = asyncio.Semaphore(_AT_ONCE)
        async with open_parts() as house:

            async def one(job: _Job) -> dict[str, object]:
                async with gate:
                    return await self._transfer(house, job)

            return list(await asyncio.gather(*(one(job) for job in jobs)))

    async def _transfer(self, house: House, job: _Job) -> dict[str, object]:
        report: dict[str, object] = {"url": job.untrusted_url, "path": None, "bytes": 0, "code": None}
        try:
            size = await self._stream(house, job)
        except MudroomError as error:
            self._voice.insist("FAILED", f"{job.untrusted_url}  {error.code.value}")
            self._voice.say("because", error.message)
            self._voice.say("help", CODES[error.code].advice)
            return report | {"code": error.code.value}
        self._voice.say(
            "came", f"{job.target or 'standard output'}, {describe_size(size)}, guarded, not screened"
        )
        return report | {"path": str(job.target) if job.target else None, "bytes": size}

    async def _stream(self, house: House, job: _Job) -> int:
        request = FetchRequest(
            url=job.untrusted_url,
            headers=self._headers,
            initiator_scope=ExceptionScope.operator(),
            max_body_bytes=self._max_bytes,
            max_decoded_bytes=self._max_bytes,
        )
        async with house.fetcher.stream(request) as answer:
            if answer.status >= _FIRST_ERROR_STATUS:
                raise FetchFailed(
                    Code.HTTP_STATUS, f"{answer.final.host} answered with status {answer.status}"
                )
            if job.target is None:
                return await _copy(answer.chunks(), sys.stdout.buffer.write)
            return await _write_whole(answer.chunks(), job.target)


async def _copy(chunks: AsyncIterator[bytes], write: Callable[[bytes], object]) -> int:
    size = 0
    async for chunk in chunks:
        write(chunk)
        size += len(chunk)
    return size


async def _write_whole(chunks: AsyncIterator[bytes], target: Path) -> int:
    """The body under a temporary name, then under its own; nothing remains of one that broke off.

    Writing blocks the loop for as long as the page cache takes; here nothing else waits on it.
    """
    temporary = _open_temporary(target)
    try:
        with temporary:
            size = await _copy(chunks, temporary.write)
        _rename(temporary.name, target)
    except OSError as error:
        raise StoreFailed(Code.NO_SPACE, f"{target} could not be written: {error.strerror}") from error
    finally:
        _forget(temporary.name)
    return size


def _rename(name: str, target: Path) -> None:
    Path(name).replace(target)


def _forget(name: str) -> None:
    Path(name).unlink(missing_ok=True)


def _open_temporary(target: Path) -> IO[bytes]:
    try:
        return tempfile.NamedTemporaryFile(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent, delete=False
        )
    except OSError as error:
        raise StoreFailed(
            Code.STORE_UNAVAILABLE, f"{target.parent} cannot be written: {error.strerror}"
        ) from error
