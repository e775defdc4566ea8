"""Directives by which the author of a file sets rules aside: `mudroom:ignore ROLE-004`.

Only `scan_text` asks for them, for files that a person names. Pages never get them: a page that could
switch off its own screening would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import re2

__all__ = ["Suppressions", "read_suppressions"]

# The classic scanner's word works too, so that files marked for it need no change.
_DIRECTIVE = re2.compile(
    r"(?:mudroom|injection-scanner):(ignore-next-line|ignore-file|ignore)((?:[ \t,]+[A-Z]{2,12}-?[0-9]{3}\b)*)"
)
_IDENTIFIER = re2.compile(r"[A-Z]{2,12}-?[0-9]{3}")
_FILE_LINES = 10
"""An `ignore-file` counts in the first lines only, where a reader sees it."""

EVERY_RULE = "*"


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What the directives of one text set aside: rule ids by line, and for the whole text."""

    whole: frozenset[str]
    lines: dict[int, frozenset[str]]

    def covers(self, identifier: str, line: int) -> bool:
        """Whether a rule is set aside on a line (from 1)."""
        sets = (self.whole, self.lines.get(line, frozenset()))
        return any(identifier in ids or EVERY_RULE in ids for ids in sets)


def read_suppressions(untrusted_text: str) -> Suppressions:
    """The directives of a text; without ids a directive covers every rule."""
    whole: set[str] = set()
    lines: dict[int, frozenset[str]] = {}
    for number, line in enumerate(untrusted_text.split("\n"), 1):
        for kind, ids in _read_line(line):
            if kind == "ignore-file":
                whole |= ids if number <= _FILE_LINES else set()
            else:
                target = number + (kind == "ignore-next-line")
                lines[target] = lines.get(target, frozenset()) | ids
    return Suppressions(frozenset(whole), lines)


def _read_line(line: str) -> Iterator[tuple[str, frozenset[str]]]:
    if ":ignore" not in line:
        return
    for match in _DIRECTIVE.finditer(line):
        yield match.group(1), frozenset(_IDENTIFIER.findall(match.group(2))) or frozenset({EVERY_RULE})
