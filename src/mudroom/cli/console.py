"""Where words go: results to stdout, words for people to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mudroom.cli.inert import make_inert

__all__ = ["Voice", "print_json", "print_jsonl", "print_table"]

_LABEL_WIDTH = 11
_STYLES = {
    "BLOCKED": "bold red",
    "FAILED": "bold yellow",
    "QUARANTINED": "bold magenta",
    "CRITICAL": "red",
    "HIGH": "red",
    "MEDIUM": "yellow",
    "note": "dim",
}


class Voice:
    """What is said to a person, on stderr: a label and a sentence, one line each.

    On a terminal labels are coloured; elsewhere the lines are plain. Nothing in a sentence is markup.
    """

    def __init__(self, *, is_quiet: bool = False, is_verbose: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self.is_quiet = is_quiet
        self.is_verbose = is_verbose

    def say(self, label: str, sentence: str) -> None:
        """One line, unless quiet."""
        if not self.is_quiet:
            self._print(label, sentence)

    def insist(self, label: str, sentence: str) -> None:
        """One line, quiet or not."""
        self._print(label, sentence)

    def _print(self, label: str, sentence: str) -> None:
        line = Text(label.ljust(_LABEL_WIDTH), style=_STYLES.get(label.strip(), "bold"))
        self.console.print(line + Text(make_inert(sentence)))


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_jsonl(value: object) -> None:
    """One JSON document on one line of stdout."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Line separators that JSON allows in strings are line ends to some readers.
    sys.stdout.write(
        text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085") + "\n"
    )
    sys.stdout.flush()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Mapping[str, str]) -> None:
    """A table on stdout; `styles` colours cells by their whole text, on a terminal only."""
    console = Console(highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(make_inert(cell), style=styles.get(cell, "")) for cell in row))
    console.print(table)
