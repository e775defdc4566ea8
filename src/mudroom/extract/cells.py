"""Tables and forms: cells captured, controls as the words they show."""

from __future__ import annotations

from mudroom.extract.blocks import Closer
from mudroom.extract.notes import is_note, is_only_table_of_note, note
from mudroom.extract.reader import TreeReader, skip
from mudroom.extract.tables import CapturedCell, CapturedTable
from mudroom.extract.tree import Element
from mudroom.model import Channel

__all__ = ["caption", "cell", "input_control", "integer", "row", "select_control", "spaced", "table"]

_MAX_SPAN = 1000
_SHOWN_INPUTS = frozenset(
    {"", "text", "search", "email", "url", "tel", "number", "submit", "button", "reset", "date"}
)


def integer(text: str | None, default: int, low: int, high: int) -> int:
    """A number in an attribute, within bounds; the default where there is none."""
    digits = (text or "").strip()
    if not digits.lstrip("-").isdecimal() or len(digits) > 10:  # noqa: PLR2004 - more digits than any bound has
        return default
    return max(low, min(high, int(digits)))


def table(reader: TreeReader, element: Element) -> Closer:
    """A table: its cells are collected apart and judged at its end."""
    reader.flush()
    close_note = note(reader, element) if is_note(element) else None
    is_layout = (
        close_note is not None
        or element.attr("role") in {"presentation", "none"}
        or is_only_table_of_note(element)
    )
    reader.tables.append(CapturedTable(is_presentation=is_layout))

    def end() -> None:
        reader.flush()
        table = reader.tables.pop()
        blocks = table.blocks()
        if blocks:
            reader.ensure_item()
        reader.display.blocks.extend(blocks)
        if close_note:
            close_note()

    return end


def row(reader: TreeReader, element: Element) -> Closer:
    """A row of the innermost table."""
    reader.flush()
    if reader.tables:
        table = reader.tables[-1]
        parent = element.parent
        table.in_head = isinstance(parent, Element) and parent.tag == "thead"
        table.rows.append([])
    return reader.flush


def cell(reader: TreeReader, element: Element) -> Closer:
    """A cell: what stands in it is collected apart."""
    if not reader.tables or not reader.tables[-1].rows:
        return _as_block(reader)
    table = reader.tables[-1]
    reader.begin_cell()
    colspan = integer(element.attr("colspan"), 1, 1, _MAX_SPAN)
    rowspan = integer(element.attr("rowspan"), 1, 1, _MAX_SPAN)
    is_header = element.tag == "th" or table.in_head

    def end() -> None:
        table.rows[-1].append(CapturedCell(reader.end_cell(), colspan, rowspan, is_header))

    return end


def caption(reader: TreeReader, _element: Element) -> Closer:
    """A caption: it is shown before its table."""
    if not reader.tables:
        return _as_block(reader)
    reader.begin_cell()
    table = reader.tables[-1]

    def end() -> None:
        table.caption += reader.end_cell()

    return end


def spaced(reader: TreeReader, element: Element) -> Closer:
    """Inline boxes that stand apart on a screen."""
    reader.put(" ", element)
    return lambda: reader.put(" ", element)


def input_control(reader: TreeReader, element: Element) -> Closer:
    """A control as a person sees it: its value, its tick."""
    kind = (element.attr("type") or "").lower()
    value = element.attr("value") or ""
    if kind == "checkbox":
        reader.put("☑ " if "checked" in element.attrs else "☐ ", element)
    elif kind in _SHOWN_INPUTS and value.strip():
        reader.put(f" {value} ", element)
    elif kind == "image" and (alt := element.attr("alt")):
        reader.put(f" {alt} ", element)
    return skip


def select_control(reader: TreeReader, element: Element) -> Closer:
    """A person sees the chosen option and can see the others: it is shown, they go to the scanner."""
    chosen: Element | None = None
    options = element.iter_elements("option")
    for option in options:
        if chosen is None or "selected" in option.attrs:
            chosen = option
        label = option.text or option.attr("label") or ""
        reader.security.add(Channel.FORM, reader.hiding, option.source_line or 0, label)
    if chosen is not None and not reader.hiding:
        reader.put(f" {chosen.text} ", element)
    return skip


def _as_block(reader: TreeReader) -> Closer:
    reader.flush()
    return reader.flush
