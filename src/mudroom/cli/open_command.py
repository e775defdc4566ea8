"""`mudroom open`: one or many pages or files through the whole path."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mudroom.address import ExceptionScope, parse_url
from mudroom.assembly import House, open_house
from mudroom.cli.console import Voice, print_json, print_jsonl
from mudroom.cli.exits import judge_outcomes
from mudroom.cli.inert import make_inert
from mudroom.cli.options import (
    CommonOptions,
    common_options,
    gather_overrides,
    network_options,
    parse_headers,
)
from mudroom.cli.targets import FileTarget, Target, UrlTarget, read_targets
from mudroom.cli.verdict import tell_outcome
from mudroom.cli.work import run_work
from mudroom.intake import Outcome, Stored, describe_outcome
from mudroom.model import Initiator, View
from mudroom.settings import Settings

__all__ = ["command"]

_AT_ONCE = 8
"""Targets in the works at the same time; results come out in the order asked for."""


@click.command("open")
@click.argument("words", nargs=-1, metavar="URL|FILE...")
@click.option(
    "-i",
    "--input",
    "list_file",
    metavar="LIST",
    help="Read targets from LIST, one a line; - is standard input.",
)
@click.option("--url", "source_url", metavar="URL", help="Where the bytes on standard input came from.")
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
def command(  # noqa: PLR0913 - one parameter an option
    *,
    words: tuple[str, ...],
    list_file: str | None,
    source_url: str | None,
    content_type: str,
    form: str,
    as_json: bool,
    as_jsonl: bool,
    headers: tuple[str, ...],
    user_agent: str | None,
    ca_file: str | None,
    allow_origins: tuple[str, ...],
) -> None:
    r"""Take pages and files in, the whole path, and print what was accepted.

    \b
    mudroom open https://docs.python.org/3/library/ssl.html
    mudroom open docs.python.org/3/library/ssl.html      (https:// is put before it)
    mudroom open report.html notes.md                    (files take the same path)
    curl … | mudroom open - --url https://example.org/
    mudroom open -i urls.txt --jsonl

    The Markdown goes to standard output, everything else to standard error. Nothing is
    printed of a document that was blocked or quarantined.

    Exit status: 0 stored (also with a warning), 1 could not be had, 3 blocked or quarantined.
    """
    common = CommonOptions.current()
    targets = read_targets(words, list_file)
    hosts = frozenset(
        parsed.host
        for target in targets
        if isinstance(target, UrlTarget) and (parsed := parse_url(target.untrusted_url)) is not None
    )
    settings = common.load(
        gather_overrides(user_agent=user_agent, ca_file=ca_file, ca_hosts=hosts, allow_origins=allow_origins)
    )
    voice = common.voice()
    if form == "json" and not as_jsonl:
        as_json = True
    asking = _Asking(
        headers=parse_headers(headers),
        source_url=source_url,
        content_type=content_type,
        views=frozenset({View.MARKDOWN, View.TEXT}) if form == "text" else frozenset({View.MARKDOWN}),
    )
    printer = _Printer(settings, voice, "json" if as_json else "jsonl" if as_jsonl else form)
    outcomes = run_work(_open_all(settings, targets, asking, printer))
    printer.finish()
    raise click.exceptions.Exit(judge_outcomes(outcomes))


class _Asking:
    """What holds for every target of a call."""

    def __init__(
        self,
        *,
        headers: tuple[tuple[str, str], ...],
        source_url: str | None,
        content_type: str,
        views: frozenset[View],
    ) -> None:
        self.headers = headers
        self.source_url = source_url
        self.content_type = content_type
        self.views = views

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
                return await house.open_file(
                    target.path,
                    sys.stdin.buffer if str(target.path) == "-" else None,
                    url=self.source_url,
                    content_type=self.content_type,
                    views=self.views,
                )


async def _open_all(
    settings: Settings, targets: Sequence[Target], asking: _Asking, printer: _Printer
) -> list[Outcome]:
    for target in targets:
        if isinstance(target, UrlTarget) and target.is_completed:
            printer.voice.say("note", "no scheme given, using https://")
    gate = asyncio.Semaphore(_AT_ONCE)
    async with open_house(settings) as house:
        printer.versions = house.versions.as_record()

        async def take(target: Target) -> Outcome:
            async with gate:
                return await asking.take(house, target)

        outcomes = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(take(target)) for target in targets]
            for task in tasks:
                outcome = await task
                printer.show(outcome)
                outcomes.append(outcome)
        return outcomes


class _Printer:
    """Results on stdout in the form asked for, words on stderr."""

    def __init__(self, settings: Settings, voice: Voice, form: str) -> None:
        self.voice = voice
        self.versions: dict[str, str] = {}
        self._workspace: Path = settings.workspace
        self._form = form
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
            print_json(self._reports[0] if len(self._reports) == 1 else self._reports)

    def _print_document(self, outcome: Stored) -> None:
        text = {
            "markdown": outcome.page.markdown,
            "text": outcome.text or "",
            "links": "\n".join(_list_links(outcome)),
        }[self._form]
        if self._shown:
            sys.stdout.write("\n")
        self._shown += 1
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()


def _list_links(outcome: Stored) -> list[str]:
    """The absolute http and https URLs that an accepted document links to, each once."""
    parsed = (parse_url(link.untrusted_href, base=outcome.base) for link in outcome.links)
    return list(
        dict.fromkeys(make_inert(url.href) for url in parsed if url and url.scheme in {"http", "https"})
    )
