"""Notes set apart from the text: a quotation shows where one ends, and its title is strong, no heading."""

from __future__ import annotations

from enum import IntEnum, unique
from functools import lru_cache

from mudroom.extract.blocks import Closer
from mudroom.extract.reader import TreeReader
from mudroom.extract.tags import HEADINGS
from mudroom.extract.tree import Element, Node, Text

__all__ = ["division", "is_footnote", "is_note", "is_only_table_of_note", "note", "paragraph"]

_NOTES = frozenset(
    [
        "admonition",
        "admonitionblock",
        "theme-admonition",
        "note",
        "warning",
        "tip",
        "caution",
        "important",
        "danger",
        "hint",
        "attention",
    ]
)
_FOOTNOTES = frozenset({"footnote", "footnote-definition", "citation"})


@unique
class _Kind(IntEnum):
    """What class names make of a part of the text."""

    PLAIN = 0
    NOTE = 1
    FOOTNOTE = 2


_PLAIN = _Kind.PLAIN
_MAX_LABEL = 12  # characters of a footnote's number or sign
_ROLES = frozenset({"note", "doc-notice", "doc-tip"})
_TITLES = frozenset(["title", "admonition-title", "admonition-heading", "topic-title"])
_AROUND_TITLES = frozenset({"div", "header", "table", "tbody", "tr", "td"})
_MAX_CLASSES = 400  # characters of class names that are read
_MAX_CONTAINERS = 20  # deeper notes are not told apart; each is searched
_MAX_LEVELS = 6


def division(reader: TreeReader, element: Element) -> Closer:
    """A part of the text: a note where it is called one, else only an edge of blocks."""
    reader.flush()
    classes = element.attr("class")
    kind = _kind(classes) if classes else _PLAIN
    if kind is _PLAIN:
        return note(reader, element) if element.attr("role") in _ROLES else reader.flush
    return _footnote(reader) if kind is _Kind.FOOTNOTE else note(reader, element)


def note(reader: TreeReader, element: Element) -> Closer:
    """A note, set apart; but not twice, and not if it is all of a page."""
    if len(reader.containers) > _MAX_CONTAINERS or is_note(element.parent) or element.find("h1") is not None:
        return reader.flush
    reader.open_quote()
    reader.is_title_next = _begins_with_title(element)

    def end() -> None:
        reader.close_quote()
        reader.is_title_next = False

    return end


def paragraph(reader: TreeReader, element: Element) -> Closer:
    """A paragraph, which begins behind the number of a footnote where that is owed its text."""
    if reader.is_label_open and 0 < len(reader.text_so_far().strip()) <= _MAX_LABEL:
        reader.put(" ", element)
    else:
        reader.flush()
    reader.is_label_open = False
    return reader.flush


def is_footnote(node: Node | None) -> bool:
    """Whether an element is called a footnote, or a list of them."""
    return isinstance(node, Element) and _kind(node.attr("class") or "") is _Kind.FOOTNOTE


def is_note(node: Node | None) -> bool:
    """Whether an element is called a note."""
    if not isinstance(node, Element):
        return False
    return _kind(node.attr("class") or "") is _Kind.NOTE or node.attr("role") in _ROLES


def _footnote(reader: TreeReader) -> Closer:
    reader.is_label_open = True

    def end() -> None:
        reader.flush()
        reader.is_label_open = False

    return end


def is_only_table_of_note(element: Element) -> bool:
    """Whether a table is no more than the frame that is drawn around a note."""
    parent = element.parent
    return (
        isinstance(parent, Element)
        and is_note(parent)
        and all(node is element or not _is_content(node) for node in parent)
    )


@lru_cache(maxsize=1024)
def _kind(untrusted_classes: str) -> _Kind:
    names = untrusted_classes[:_MAX_CLASSES].lower().split()
    if not _FOOTNOTES.isdisjoint(names):
        return _Kind.FOOTNOTE
    return _Kind.NOTE if not _NOTES.isdisjoint(names) else _PLAIN


def _begins_with_title(note: Element) -> bool:
    """Whether the first words of a note are in an element that is called its title, or in a heading."""
    element = note
    for _ in range(_MAX_LEVELS):
        first = _first_child(element)
        if first is None:
            return False
        element = first
        if element.tag in HEADINGS or not _TITLES.isdisjoint((element.attr("class") or "").lower().split()):
            return True
        if element.tag not in _AROUND_TITLES:
            return False
    return False


def _first_child(element: Element) -> Element | None:
    """The first element in another, if no text stands before it."""
    first = next(filter(_is_content, element), None)
    return first if isinstance(first, Element) else None


def _is_content(node: Node) -> bool:
    return isinstance(node, Element) or (isinstance(node, Text) and not node.data.isspace())
