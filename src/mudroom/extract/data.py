"""Data read: JSON, JSON lines, CSV and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice

from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.display import Block, BlockKind, Cell
from mudroom.extract.limits import limit_passed
from mudroom.extract.scripts import json_strings
from mudroom.extract.security import SecurityCollector
from mudroom.extract.textual import read_code, read_text
from mudroom.model import Channel, Hiding, Limit

__all__ = ["read_json", "read_json_lines", "read_table"]

_MAX_COLUMNS = 1000
_MAX_FIELD_CHARS = 1 << 20
_SAMPLE_LINES = 20
_MAX_TABLE_CHARS = 2 << 20  # beyond it nobody reads a table, and laying one out takes seconds
_STRINGS_PER_PIECE = 50


def read_json(untrusted_text: str, display: DisplayBuilder, security: SecurityCollector) -> None:
    """A JSON text, verbatim; its strings are kept as they read without their escapes."""
    _collect_strings(untrusted_text, 0, security)
    read_code(untrusted_text, "json", display, security, Channel.TEXT)


def read_json_lines(untrusted_text: str, display: DisplayBuilder, security: SecurityCollector) -> None:
    """One JSON text a line, verbatim."""
    for number, line in enumerate(untrusted_text.splitlines(), start=1):
        _collect_strings(line.strip("\x1e"), number, security)
    read_code(untrusted_text, "json", display, security, Channel.TEXT)


def read_table(
    untrusted_text: str, display: DisplayBuilder, security: SecurityCollector, *, is_tabbed: bool
) -> None:
    """Separated values as a table; verbatim where they are many."""
    if len(untrusted_text) > _MAX_TABLE_CHARS:
        read_code(untrusted_text, "csv", display, security, Channel.CELL)
        return
    rows = list(_rows(untrusted_text, "\t" if is_tabbed else _delimiter(untrusted_text)))
    if not rows:
        read_text(untrusted_text, display, security)
        return
    for number, row in enumerate(rows, start=1):
        security.add(Channel.CELL, Hiding.NONE, number, "\t".join(row))
        display.visible_chars += sum(map(len, row))
    cells = [
        [Cell([display.text(value)], is_header=number == 0) for value in row]
        for number, row in enumerate(rows)
    ]
    display.blocks.append(Block(BlockKind.TABLE, rows=cells))


def _collect_strings(untrusted_json: str, line: int, security: SecurityCollector) -> None:
    """Strings that are written with escapes read otherwise than they stand: those are kept apart."""
    if "\\" not in untrusted_json:
        return
    try:
        strings = [string for _, string in json_strings(untrusted_json)]
    except RecursionError:
        raise limit_passed(Limit.NESTING) from None
    except ValueError:
        return
    for start in range(0, len(strings), _STRINGS_PER_PIECE):
        security.add(Channel.JSON, Hiding.NONE, line, "\n".join(strings[start : start + _STRINGS_PER_PIECE]))


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        for row in csv.reader(text.replace("\0", "").splitlines(keepends=True), delimiter=delimiter):
            if len(row) > _MAX_COLUMNS:
                raise limit_passed(Limit.COLUMNS)
            if any(row):
                yield row
    except csv.Error:
        raise limit_passed(Limit.FIELD) from None


def _delimiter(text: str) -> str:
    """The separator that the first lines use most evenly."""
    lines = [line for line in islice(text.splitlines(), _SAMPLE_LINES) if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in ",;\t|"}
    return max(counts, key=lambda mark: (min(counts[mark], default=0), sum(counts[mark])))
