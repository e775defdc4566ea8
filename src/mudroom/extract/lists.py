"""Lists, and terms with what they mean."""

from __future__ import annotations

from mudroom.extract.blocks import Closer
from mudroom.extract.cells import integer
from mudroom.extract.display import BREAK
from mudroom.extract.notes import is_footnote
from mudroom.extract.numbering import Numbering, declared_style
from mudroom.extract.reader import TreeReader
from mudroom.extract.tree import Element, Node, Text

__all__ = ["description", "item", "list_of_items", "term"]

_MAX_NUMBER = 999_999_999
_MAX_TERMS = 16  # that share a description; each looks for it


def list_of_items(reader: TreeReader, element: Element) -> Closer:
    """A list, with bullets or numbers."""
    if element.tag != "ol":
        reader.open_list(-1)
        return reader.close_list
    numbering = _numbering(element)
    reader.open_list(-1 if numbering.is_written else numbering.number, numbering)
    return reader.close_list


def _numbering(element: Element) -> Numbering:
    """How an ordered list is numbered."""
    if not element.attrs:
        return Numbering(1)
    style = declared_style(
        element.attr("type") or "", element.attr("class") or "", element.attr("style") or ""
    )
    step, default = 1, 1
    if "reversed" in element.attrs:
        step = -1
        default = sum(1 for node in element if isinstance(node, Element) and node.tag == "li")
    start = integer(element.attr("start"), default, -_MAX_NUMBER, _MAX_NUMBER)
    last = start - default + 1 if step < 0 else start
    return Numbering(start, step, style, is_written=bool(style) or last < 0)


def item(reader: TreeReader, element: Element) -> Closer:
    """An item of the innermost list, or of a list of its own."""
    if reader.is_in_list():
        numbering = reader.numberings[-1]
        if numbering is None:
            reader.open_item()
        else:
            value = element.attr("value")
            number, label = numbering.take(None if value is None else _value(value, numbering))
            reader.open_item(-1 if label else number, label)
        return reader.close_item
    reader.open_list(-1)
    reader.open_item()

    def end() -> None:
        reader.close_item()
        reader.close_list()

    return end


def _value(text: str, numbering: Numbering) -> int:
    """The number an item gives itself, as far as its list can show it."""
    return integer(text, numbering.number, -_MAX_NUMBER if numbering.is_written else 0, _MAX_NUMBER)


def term(reader: TreeReader, element: Element) -> Closer:
    """A term: other terms and what they mean follow in the same item."""
    if not reader.is_in_list():
        return _as_block(reader)
    close: Closer = reader.close_item
    if not reader.is_term_next or not reader.go_on_in_item():
        close = item(reader, element)
    reader.is_term_next = _is_term_of_same(element.next_sibling)
    if reader.is_term_next:
        return lambda: _end_line(reader, element)
    if is_footnote(element.parent):
        return lambda: _end_label(reader, element)
    return close


def description(reader: TreeReader, _element: Element) -> Closer:
    """What the terms before it mean."""
    if not reader.is_in_list():
        return _as_block(reader)
    reader.is_term_next = False
    if not reader.is_label_open or not reader.go_on_in_item():
        reader.resume_item()

    def end() -> None:
        reader.close_item()
        reader.is_label_open = False

    return end


def _end_line(reader: TreeReader, element: Element) -> None:
    """A term ends, and the next one stands on a line below."""
    reader.put_edge(BREAK)
    reader.put("\n", element)
    reader.linger()


def _end_label(reader: TreeReader, element: Element) -> None:
    """The number of a footnote ends, and its text begins on the same line."""
    reader.put(" ", element)
    reader.linger()
    reader.is_label_open = True


def _is_term_of_same(node: Node | None) -> bool:
    """Whether the next element is a term too, and a description stands behind the terms."""
    for place in range(_MAX_TERMS):
        if isinstance(node, Text) and node.data.isspace():
            node = node.next_sibling
        if not isinstance(node, Element):
            return False
        if node.tag != "dt":
            return place > 0 and node.tag == "dd"
        node = node.next_sibling
    return False


def _as_block(reader: TreeReader) -> Closer:
    reader.flush()
    return reader.flush
