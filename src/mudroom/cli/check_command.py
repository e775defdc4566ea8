"""`mudroom check`: judges URLs without connecting."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from mudroom.address import AllowedUrl, EgressPolicy, ExceptionScope, RefusedUrl, judge_url
from mudroom.assembly import build_egress
from mudroom.cli.console import print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.targets import UrlTarget, complete_url
from mudroom.cli.teaching import TeachingCommand
from mudroom.errors import CODES, Code

__all__ = ["command"]

_MAX_URL_CHARS = 1024 * 1024
"""A line longer than this is cut, and so refused; nobody's URL is."""


@click.command("check", cls=TeachingCommand)
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line, each as it is judged.")
@click.option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Open one origin that is not public, as with open. Repeatable.",
)
@common_options
def command(*, urls: tuple[str, ...], as_json: bool, as_jsonl: bool, allow_origins: tuple[str, ...]) -> int:
    """Judge URLs as `open` would before it connects: no name is resolved, nothing is sent.

    mudroom check https://example.org/ 'http://2130706433/'
    mudroom check docs.example.org                 (https:// is put before it)
    cat urls.txt | mudroom check --jsonl -         (lines that begin with # are passed)

    A name that is allowed here can still resolve to an address that is refused.

    Exit status: 0 all allowed, 3 one or more refused.
    """
    common = CommonOptions.current()
    if not urls:
        raise click.UsageError("name one or more URLs, or - for one a line on standard input")
    overrides: dict[tuple[str, str], object] = {}
    if allow_origins:
        overrides["egress", "allow_origins"] = allow_origins
    policy = build_egress(common.load(overrides).egress)
    reports = []
    is_refused = False
    for untrusted_url in _expand(urls):
        target = complete_url(untrusted_url)
        if target.is_completed:
            common.voice().say("note", "no scheme given, using https://")
        report = _judge(untrusted_url, target, policy)
        is_refused |= report["code"] is not None
        if as_jsonl:
            print_jsonl(report)
        else:
            reports.append(report)
    if as_json:
        print_json(reports)
    elif not as_jsonl:
        _show(reports, common)
    return ExitStatus.NEGATIVE if is_refused else ExitStatus.DONE


def _judge(written: str, target: UrlTarget, policy: EgressPolicy) -> dict[str, str | None]:
    match judge_url(target.untrusted_url, policy, ExceptionScope.operator()):
        case AllowedUrl() as allowed:
            parts: tuple[str, str | None, str | None] = ("allow", None, allowed.url.normalized)
        case RefusedUrl() as refused:
            parts = ("refuse", refused.code.value, None)
    verdict, code, normalized = parts
    return {"url": written, "verdict": verdict, "code": code, "normalized": normalized}


def _show(reports: list[dict[str, str | None]], common: CommonOptions) -> None:
    rows = [
        (report["verdict"] or "", report["code"] or "", report["normalized"] or report["url"] or "")
        for report in reports
    ]
    print_table(("verdict", "code", "url"), rows, {"refuse": "bold red", "allow": "green"})
    for name in sorted({code for _, code, _ in rows if code}):
        common.voice().say("help", f"{name}: {CODES[Code(name)].advice}")


def _expand(urls: tuple[str, ...]) -> Iterator[str]:
    """The URLs in order, `-` replaced by the lines of standard input; undecodable bytes stay refusable."""
    for url in urls:
        if url != "-":
            yield url
            continue
        while line := _read_line():
            text = line.decode("utf-8", "surrogateescape").strip()
            if text and not text.startswith("#"):
                yield text


def _read_line() -> bytes:
    try:
        return sys.stdin.buffer.readline(_MAX_URL_CHARS)
    except OSError as error:
        raise click.UsageError(f"standard input cannot be read: {error.strerror or error}") from error
