"""`mudroom scan`: the scanner as a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import click

from mudroom import __version__
from mudroom.cli.console import Voice, print_block, print_json_text, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.scan_inputs import Passed, Selection, Text, Unread, read_texts
from mudroom.cli.teaching import TeachingCommand
from mudroom.errors import MudroomError
from mudroom.model import Severity
from mudroom.screen import (
    RuleSet,
    ScanLimits,
    Scanner,
    TextOptions,
    TextReport,
    format_report_json,
    format_report_sarif,
    format_report_text,
    format_rules_json,
    load_rules,
    scan_text,
)

__all__ = ["command"]

_MAX_FILE_BYTES = 10_000_000
"""As the classic scanner has it."""
_SEVERITIES = [severity.name.lower() for severity in sorted(Severity, reverse=True)]
_CLASSIC_FINDINGS, _CLASSIC_BELOW = 1, 2


@click.command("scan", cls=TeachingCommand)
@click.argument("paths", nargs=-1, metavar="PATH...|-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"], case_sensitive=False),
    default="text",
    show_default=True,
    help="Lines for people, the classic scanner's JSON, or SARIF 2.1.0.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", "is_strict", is_flag=True, help="Count every match, whatever surrounds it.")
@click.option(
    "--no-suppress",
    "is_unsuppressed",
    is_flag=True,
    help="Heed no mudroom:ignore directive in a file.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="0..1",
    help="Count what is at least so likely meant; --strict wins.",
)
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES, case_sensitive=False),
    default="low",
    show_default=True,
    help="The least severity that makes the answer negative.",
)
@click.option(
    "--exit",
    "exits",
    type=click.Choice(["plan", "classic"]),
    default="plan",
    show_default=True,
    help="Statuses as in every command, or as the classic scanner gives them.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="Of folders, read only what fits. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Of folders, pass what fits. Repeatable.")
@click.option(
    "--max-file-size",
    "max_file_bytes",
    type=click.IntRange(min=1),
    default=_MAX_FILE_BYTES,
    show_default=True,
    metavar="BYTES",
    help="A larger file cannot be answered for.",
)
@click.option("--list-rules", is_flag=True, help="Show the rules instead (with --json in full).")
@common_options
def command(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    form: str,
    as_json: bool,
    is_strict: bool,
    is_unsuppressed: bool,
    min_confidence: float,
    fail_on: str,
    exits: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    max_file_bytes: int,
    list_rules: bool,
) -> int:
    """Look for instructions to machines in texts: files, folders, standard input.

    mudroom scan README.md prompts/
    git diff --cached | mudroom scan -
    mudroom scan docs --format sarif --fail-on high > findings.sarif

    Known patterns only: a text without findings can still be hostile. Folders are walked
    without following links; binary files in them are passed over with a note.

    Exit status: 0 nothing at or above --fail-on, 1 a file could not be read, 3 findings.
    With --exit classic: 0 clean, 1 findings (or an error), 2 findings all below --fail-on.
    """
    common = CommonOptions.current()
    form = "json" if as_json else form
    rules = _load_rules()
    if list_rules:
        _show_rules(rules, form)
        return ExitStatus.DONE
    if not paths:
        raise click.UsageError("name one or more files or folders, or - for standard input")
    scanner = _make_scanner(common.load().screen)
    options = TextOptions(
        min_confidence=min_confidence, is_strict=is_strict, may_suppress=not is_unsuppressed
    )
    selection = Selection(include=include, exclude=exclude, max_file_bytes=max_file_bytes)
    scan = _Scan(scanner, options, common.voice())
    scan.take(paths, selection)
    match form:
        case "json":
            print_json_text(format_report_json(scan.reports))
        case "sarif":
            print_json_text(format_report_sarif(scan.reports, rules, __version__))
        case _ if scan.reports:
            print_block(format_report_text(scan.reports))
    scan.sum_up()
    bar = Severity[fail_on.upper()]
    if exits == "classic":
        return _judge_classic(scan.reports, scan.failures, bar)
    return _judge(scan.reports, scan.failures, bar)


@cache
def _load_rules() -> RuleSet:
    return load_rules()


@cache
def _make_scanner(limits: ScanLimits) -> Scanner:
    """The scanner of these limits; it cannot change, so one a process will do."""
    return Scanner(_load_rules(), limits)


class _Scan:
    """The texts of one call, scanned in order; one that cannot be read costs itself only."""

    def __init__(self, scanner: Scanner, options: TextOptions, voice: Voice) -> None:
        self.reports: list[TextReport] = []
        self.failures = 0
        self._scanner = scanner
        self._options = options
        self._voice = voice
        self._passed: Counter[str] = Counter()

    def take(self, paths: Sequence[str], selection: Selection) -> None:
        """Read and scan everything."""
        for item in read_texts(paths, selection):
            match item:
                case Text(name, untrusted_text):
                    self._scan(name, untrusted_text)
                case Unread(name, error):
                    self._fail(name, error)
                case Passed(name, why):
                    self._passed[why.partition(",")[0]] += 1
                    if self._voice.is_verbose:
                        self._voice.say("passed", f"{name}: {why}")

    def sum_up(self) -> None:
        """How much was read, and how much was not."""
        counts = Counter(match.severity for report in self.reports for match in report.matches)
        found = ", ".join(f"{counts[s]} {s.name}" for s in sorted(counts, reverse=True))
        many = "1 text" if len(self.reports) == 1 else f"{len(self.reports)} texts"
        self._voice.say("scanned", f"{many}; {found or 'no findings (known patterns only)'}")
        if self._passed:
            passed = ", ".join(f"{count} ({why})" for why, count in sorted(self._passed.items()))
            self._voice.say("passed", f"{passed}; -v names each")

    def _scan(self, name: str, untrusted_text: str) -> None:
        try:
            self.reports.append(scan_text(self._scanner, untrusted_text, name, self._options))
        except MudroomError as error:
            self._fail(name, error)

    def _fail(self, name: str, error: MudroomError) -> None:
        self.failures += 1
        self._voice.insist("FAILED", f"{name}  {error.code.value}")
        self._voice.say("because", error.message)
        self._voice.say("help", error.advice)


def _judge(reports: Sequence[TextReport], failures: int, bar: Severity) -> int:
    if any(report.worst is not None and report.worst >= bar for report in reports):
        return ExitStatus.NEGATIVE
    return ExitStatus.FAILED if failures else ExitStatus.DONE


def _judge_classic(reports: Sequence[TextReport], failures: int, bar: Severity) -> int:
    """Source: the exit statuses of the classic injection scanner's `check`."""
    worst = max((report.worst for report in reports if report.worst is not None), default=None)
    if failures or (worst is not None and worst >= bar):
        return _CLASSIC_FINDINGS
    return _CLASSIC_BELOW if worst is not None else 0


def _show_rules(rules: RuleSet, form: str) -> None:
    if form == "json":
        print_json_text(format_rules_json(rules))
        return
    rows = [(rule.id, rule.severity.name, rule.category, rule.message) for rule in rules.all_rules()]
    print_table(("rule", "severity", "category", "what it finds"), rows, {})
