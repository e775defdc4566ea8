"""Lists, and terms with what they mean."""

from __future__ import annotations

from mudroom.extract.blocks import Closer
from mudroom.extract.cells import integer
from mudroom.extract.reader import TreeReader
from mudroom.extract.tree import Element

__all__ = ["description", "item", "list_of_items", "term"]

_MAX_NUMBER = 999_999_999


def list_of_items(reader: TreeReader, element: Element) -> Closer:
    """A list, with bullets or numbers."""
    number = integer(element.attr("start"), 1, 0, _MAX_NUMBER) if element.tag == "ol" else -1
    reader.open_list(number)
    return reader.close_list


def item(reader: TreeReader, element: Element) -> Closer:
    """An item of the innermost list, or of a list of its own."""
    if reader.is_in_list():
        value = element.attr("value")
        reader.open_item(-1 if value is None else integer(value, -1, 0, _MAX_NUMBER))
        return reader.close_item
    reader.open_list(-1)
    reader.open_item()

    def end() -> None:
        reader.close_item()
        reader.close_list()

    return end


def term(reader: TreeReader, element: Element) -> Closer:
    """A term: what it means follows in the same item."""
    return item(reader, element) if reader.is_in_list() else _as_block(reader)


def description(reader: TreeReader, _element: Element) -> Closer:
    """What the terms before it mean."""
    if not reader.is_in_list():
        return _as_block(reader)
    reader.resume_item()
    return reader.close_item


def _as_block(reader: TreeReader) -> Closer:
    reader.flush()
    return reader.flush
