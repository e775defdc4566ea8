"""`mudroom check`: judges URLs without connecting."""

from __future__ import annotations

import sys

import click

from mudroom.address import AllowedUrl, ExceptionScope, judge_url
from mudroom.assembly import build_egress
from mudroom.cli.console import print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.errors import CODES

__all__ = ["command"]


@click.command("check")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON document a line.")
@click.option("--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN", help="As with open.")
@common_options
def command(urls: tuple[str, ...], as_json: bool, as_jsonl: bool, allow_origins: tuple[str, ...]) -> None:  # noqa: FBT001 - click names them
    r"""Judge URLs as `open` would before it connects: no name is resolved, nothing is sent.

    \b
    mudroom check https://example.org/ 'http://2130706433/'
    cat urls.txt | mudroom check --jsonl -

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
    scope = ExceptionScope.operator()
    reports = []
    for untrusted_url in _expand(urls):
        verdict = judge_url(untrusted_url, policy, scope)
        is_allowed = isinstance(verdict, AllowedUrl)
        report = {
            "url": untrusted_url,
            "verdict": "allow" if is_allowed else "refuse",
            "code": None if isinstance(verdict, AllowedUrl) else verdict.code.value,
            "normalized": verdict.url.normalized if isinstance(verdict, AllowedUrl) else None,
        }
        reports.append(report)
        if as_jsonl:
            print_jsonl(report)
    if as_json:
        print_json(reports)
    elif not as_jsonl:
        rows = [(str(r["verdict"]), str(r["code"] or ""), str(r["normalized"] or r["url"])) for r in reports]
        print_table(("verdict", "code", "url"), rows, {"refuse": "bold red", "allow": "green"})
        for code in sorted({str(r["code"]) for r in reports if r["code"]}):
            common.voice().say(
                code, next(facts.advice for known, facts in CODES.items() if known.value == code)
            )
    if any(report["verdict"] == "refuse" for report in reports):
        raise click.exceptions.Exit(ExitStatus.NEGATIVE)


def _expand(urls: tuple[str, ...]) -> list[str]:
    expanded: list[str] = []
    for url in urls:
        if url == "-":
            expanded += [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
        else:
            expanded.append(url)
    return expanded
