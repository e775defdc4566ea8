"""`mudroom open`: one or many pages or files through the whole path."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import click

from mudroom.address import ExceptionScope, parse_url
from mudroom.assembly import House, fail_without_run, open_house
from mudroom.cli.console import Voice, print_block, print_json, print_jsonl
from mudroom.cli.inert import make_inert
from mudroom.cli.options import CommonOptions, NetworkOptions, common_options, network_options
from mudroom.cli.targets import STANDARD_INPUT, FileTarget, Target, UrlTarget, read_targets
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.verdict import judge_outcomes, tell_outcome
from mudroom.cli.work import run_work
from mudroom.errors import GuestFailed
from mudroom.intake import Outcome, Stored, describe_outcome
from mudroom.media import parse_content_type
from mudroom.model import Initiator, LinkRelation, View
from mudroom.settings import Settings

__all__ = ["command"]

_AT_ONCE = 8
"""Targets in the works at the same time; results come out in the order asked for."""


@click.command("open", cls=TeachingCommand)
@click.argument("words", nargs=-1, metavar="URL|FILE...")
@click.option(
    "-i",
    "--input",
    "list_file",
    metavar="LIST",
    help="Read targets from LIST, one a line; - is standard input.",
)
@click.option("--url", "source_url", metavar="URL", help="Where the file, or standard input, came from.")
@click.option(
    "--retrieved-at",
    "retrieved_at",
    metavar="TIME",
    help="When it was retrieved from there, such as 2026-01-31T10:00:00Z; its document is marked as imported.",
)
@click.option(
    "--type",
    "content_type",
    metavar="TYPE",
    default="",
    help="The media type of a file, when its content does not tell.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "text", "links", "json"]),
    default="markdown",
    show_default=True,
    help="What is printed of an accepted document.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON document for all targets (a list when several)."
)
@click.option(
    "--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line, each as soon as its turn comes."
)
@network_options
@common_options
def command(
    *,
    words: tuple[str, ...],
    list_file: str | None,
    source_url: str | None,
    retrieved_at: str | None,
    content_type: str,
    form: str,
    as_json: bool,
    as_jsonl: bool,
    **network: Any,
) -> int:
    """Take pages and files in, the whole path, and print what was accepted.

    mudroom open https://docs.python.org/3/library/ssl.html
    mudroom open docs.python.org/3/library/ssl.html      (https:// is put before it)
    mudroom open report.html notes.md                    (files take the same path)
    curl … | mudroom open - --url https://example.org/
    mudroom open saved.html --url https://example.org/ --retrieved-at 2026-01-31T10:00:00Z
    mudroom open -i urls.txt --jsonl

    The Markdown goes to standard output, everything else to standard error. Nothing is
    printed of a document that was blocked or quarantined.

    Exit status: 0 stored (also with a warning), 1 could not be had, 3 blocked,
    quarantined or refused.
    """
    common = CommonOptions.current()
    options = NetworkOptions.read(**network)
    targets = read_targets(words, list_file)
    is_piped = any(isinstance(target, FileTarget) and target.path == STANDARD_INPUT for target in targets)
    is_one_file = len(targets) == 1 and isinstance(targets[0], FileTarget)
    if source_url is not None and not is_one_file:
        raise click.UsageError("--url says where one file came from: mudroom open FILE --url URL")
    if retrieved_at is not None and source_url is None:
        raise click.UsageError("--retrieved-at says when a file came from where --url says")
    if source_url is not None and parse_url(source_url) is None:
        raise click.UsageError("--url takes an absolute URL that begins with http:// or https://")
    if content_type and parse_content_type(content_type) is None:
        raise click.UsageError("--type takes a media type, such as text/html or text/plain; charset=utf-8")
    settings = common.load(
        options.gather_overrides(t.untrusted_url for t in targets if isinstance(t, UrlTarget))
    )
    voice = common.voice()
    shape = "jsonl" if as_jsonl else "json" if as_json or form == "json" else form
    asking = _Asking(
        headers=options.headers,
        source_url=source_url,
        retrieved_at=_read_moment(retrieved_at),
        content_type=content_type,
        views=frozenset({View.MARKDOWN, View.TEXT}) if form == "text" else frozenset({View.MARKDOWN}),
        # Read here, where Ctrl-C still ends a read: a thread that waits for a terminal cannot be cancelled.
        standard_input=_read_standard_input(settings) if is_piped else None,
    )
    printer = _Printer(voice, settings.workspace, shape, is_list=len(targets) > 1)
    outcomes = run_work(_open_all(settings, targets, asking, printer))
    printer.finish()
    return judge_outcomes(outcomes)


def _read_moment(text: str | None) -> datetime | None:
    """The time in a text; None for None. Raises click.UsageError for one that is none, or lies ahead."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment > datetime.now(UTC):
        raise click.UsageError("--retrieved-at takes a past time with its zone, such as 2026-01-31T10:00:00Z")
    return moment.astimezone(UTC)


def _read_standard_input(settings: Settings) -> bytes | None:
    """Standard input, and one byte more than is taken of it, so that too much is noticed; None: it fails."""
    try:
        return sys.stdin.buffer.read(settings.extract.max_body_bytes + 1)
    except OSError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """What holds for every target of a call."""

    headers: tuple[tuple[str, str], ...]
    source_url: str | None
    retrieved_at: datetime | None
    content_type: str
    views: frozenset[View]
    standard_input: bytes | None
    """None where it cannot be read, which is the outcome of the target."""

    async def take(self, house: House, target: Target) -> Outcome:
        """One target, in a run of its own."""
        match target:
            case UrlTarget():
                return await house.open_url(
                    target.untrusted_url,
                    initiator=Initiator.OPERATOR,
                    scope=ExceptionScope.operator(),
                    headers=self.headers,
                    views=self.views,
                )
            case FileTarget():
                is_piped = target.path == STANDARD_INPUT
                return await house.open_file(
                    target.path,
                    self._open_standard_input() if is_piped else None,
                    url=self.source_url,
                    retrieved_at=self.retrieved_at,
                    content_type=self.content_type,
                    views=self.views,
                )

    def _open_standard_input(self) -> BinaryIO:
        return sys.stdin.buffer if self.standard_input is None else io.BytesIO(self.standard_input)


async def _open_all(
    settings: Settings, targets: Sequence[Target], asking: _Asking, printer: _Printer
) -> list[Outcome]:
    for target in targets:
        if isinstance(target, UrlTarget) and target.is_completed:
            printer.voice.say("note", "no scheme given, using https://")
    outcomes: list[Outcome] = []
    try:
        async with open_house(settings) as house:
            printer.versions = house.versions.as_record()
            async for outcome in _take_in_order(house, targets, asking):
                printer.show(outcome)
                outcomes.append(outcome)
    except GuestFailed as error:
        # No guest can be held on this machine: that is the outcome of each target.
        for target in targets[len(outcomes) :]:
            failed = fail_without_run(_name_target(target), error)
            printer.show(failed)
            outcomes.append(failed)
    return outcomes


def _name_target(target: Target) -> str:
    return target.untrusted_url if isinstance(target, UrlTarget) else str(target.path)


async def _take_in_order(house: House, targets: Sequence[Target], asking: _Asking) -> AsyncIterator[Outcome]:
    """The outcomes in the order of the targets, some of which are on their way while one is shown."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def take(target: Target) -> Outcome:
        async with gate:
            return await asking.take(house, target)

    tasks = [asyncio.ensure_future(take(target)) for target in targets]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Printer:
    """Results on stdout in the form asked for, words on stderr."""

    def __init__(self, voice: Voice, workspace: Path, form: str, *, is_list: bool) -> None:
        self.voice = voice
        self.versions: dict[str, str] = {}
        self._workspace = workspace
        self._form = form
        self._is_list = is_list
        self._reports: list[dict[str, object]] = []
        self._shown = 0

    def show(self, outcome: Outcome) -> None:
        """One outcome, as its turn comes."""
        match self._form:
            case "json":
                self._reports.append(describe_outcome(outcome, self.versions))
            case "jsonl":
                print_jsonl(describe_outcome(outcome, self.versions))
            case _ if isinstance(outcome, Stored):
                self._print_document(outcome)
        tell_outcome(outcome, self.voice, self._workspace)

    def finish(self) -> None:
        """What can be printed only when all is known."""
        if self._form == "json":
            print_json(self._reports if self._is_list else self._reports[0])

    def _print_document(self, outcome: Stored) -> None:
        text = {
            "markdown": outcome.page.markdown,
            "text": outcome.text or "",
            "links": "".join(f"{link}\n" for link in _list_links(outcome)),
        }[self._form]
        if self._shown and self._form != "links":
            print_block("")
        self._shown += 1
        if text:
            print_block(text)


def _list_links(outcome: Stored) -> list[str]:
    """The absolute http and https URLs that an accepted document links to, each once."""
    parsed = (
        parse_url(link.untrusted_href, base=outcome.base)
        for link in outcome.links
        if link.relation is LinkRelation.ANCHOR
    )
    return list(
        dict.fromkeys(make_inert(url.href) for url in parsed if url and url.scheme in {"http", "https"})
    )
