"""Where words go: results to stdout, words for people to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TextIO

from mudroom.cli.inert import make_inert, make_inert_block, shorten

__all__ = [
    "VERDICT_STYLES",
    "Voice",
    "print_block",
    "print_json",
    "print_json_text",
    "print_jsonl",
    "print_table",
]

_LABEL_WIDTH = 11
_MAX_LINE = 2_000
_DELETE = 0x7F
_FORCES_COLOUR = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables that make a terminal of anything (force-color.org)."""
VERDICT_STYLES: Mapping[str, str] = {
    "STORED": "green",
    "QUARANTINED": "bold magenta",
    "BLOCKED": "bold red",
    "FAILED": "bold yellow",
    "WARN": "yellow",
    "CRITICAL": "red",
    "HIGH": "red",
    "MEDIUM": "yellow",
}
_STYLES = {**VERDICT_STYLES, "note": "dim"}


class Voice:
    """What is said to a person, on stderr: a label and a sentence, one line each.

    On a terminal labels are coloured; elsewhere the lines are plain. Nothing in a sentence is markup.
    """

    def __init__(self, *, is_quiet: bool = False, is_verbose: bool = False) -> None:
        self.is_quiet = is_quiet
        self.is_verbose = is_verbose

    @property
    def is_on_terminal(self) -> bool:
        """Whether a person sits at the other end."""
        return _is_terminal(sys.stderr)

    def say(self, label: str, sentence: str) -> None:
        """One line, unless quiet."""
        if not self.is_quiet:
            self._print(label, sentence)

    def insist(self, label: str, sentence: str) -> None:
        """One line, quiet or not."""
        self._print(label, sentence)

    def print(self, label: str, sentence: str, style: str = "") -> None:
        """A label and what follows it, exactly so; both are inert already."""
        if self.is_on_terminal:
            from mudroom.cli.terminal import print_label  # noqa: PLC0415 - rich is loaded for terminals only

            print_label(label, sentence, style)
        else:
            _tell(f"{label}{sentence}\n")

    def _print(self, label: str, sentence: str) -> None:
        style = _STYLES.get(label.strip(), "bold")
        self.print(f"{label} ".ljust(_LABEL_WIDTH), shorten(make_inert(sentence), _MAX_LINE), style)


def _tell(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        # Nobody listens, which must not cost the page that was told of; results and status still tell.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as we run


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(_encode(value, indent=2) + "\n")
    sys.stdout.flush()


def print_jsonl(value: object) -> None:
    """One JSON document on one line of stdout."""
    sys.stdout.write(_encode(value, indent=None) + "\n")
    sys.stdout.flush()


def print_json_text(text: str) -> None:
    """JSON that was written elsewhere, on stdout, with what acts on a terminal as escapes."""
    sys.stdout.write(_escape_active(text) + "\n")
    sys.stdout.flush()


def print_block(text: str) -> None:
    """Text of an accepted document on stdout, as it is; inert once more where a terminal reads it."""
    text = text if text.endswith("\n") else f"{text}\n"
    sys.stdout.write(make_inert_block(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, str],
    *,
    cut: Collection[str] = (),
) -> None:
    """A table on stdout; `styles` colours cells by their whole text, on a terminal only.

    There a cell too long for its column is folded; where `cut` names columns, those are cut and all
    others keep their width. Elsewhere a row is one line, however long, so that line tools can read it.
    """
    cells = [[make_inert(cell) for cell in row] for row in rows]
    if not _is_terminal(sys.stdout):
        _print_plain(columns, cells)
        return
    from mudroom.cli.terminal import print_fitted  # noqa: PLC0415 - rich is loaded for terminals only

    print_fitted(columns, cells, styles, cut)


def _is_terminal(stream: TextIO) -> bool:
    """Whether a person sits at the other end of a stream; who is asked last is rich."""
    if not stream.isatty() and not any(os.environ.get(name) for name in _FORCES_COLOUR):
        return False
    from mudroom.cli.terminal import has_terminal  # noqa: PLC0415 - rich is loaded for terminals only

    return has_terminal(is_stderr=stream is sys.stderr)


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [list(columns), *map(list, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
    sys.stdout.flush()  # what is said of it on stderr comes behind it, wherever the two meet


def _encode(value: object, indent: int | None) -> str:
    """JSON that is one line to every reader where it is to be one: U+2028 and the like are written as escapes."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=not is_unicode, indent=indent, separators=separators)
    return _escape_active(text)


def _escape_active(text: str) -> str:
    active = {char for char in set(text) if ord(char) >= _DELETE and make_inert(char) != char}
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in active})
