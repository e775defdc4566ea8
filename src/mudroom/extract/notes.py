"""Notes set apart from the text: a quotation shows where one ends, and its title is strong, no heading."""

from __future__ import annotations

from functools import lru_cache

from mudroom.extract.blocks import Closer
from mudroom.extract.reader import TreeReader
from mudroom.extract.tags import HEADINGS
from mudroom.extract.tree import Element, Node, Text

__all__ = ["division", "is_footnote", "is_only_table_of_note", "paragraph"]

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
    if is_footnote(element):
        return _footnote(reader)
    if not _is_note(element) or len(reader.containers) > _MAX_CONTAINERS:
        return reader.flush
    if _is_note(element.parent) or element.find("h1") is not None:
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
    if not isinstance(node, Element):
        return False
    classes = node.attr("class")
    return classes is not None and _names_one(classes[:_MAX_CLASSES], _FOOTNOTES)


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
        and _is_note(parent)
        and all(node is element or not _is_content(node) for node in parent)
    )


def _is_note(node: Node | None) -> bool:
    if not isinstance(node, Element):
        return False
    classes = node.attr("class")
    return (classes is not None and _names_one(classes[:_MAX_CLASSES], _NOTES)) or node.attr("role") in _ROLES


@lru_cache(maxsize=1024)
def _names_one(untrusted_classes: str, names: frozenset[str]) -> bool:
    return not names.isdisjoint(untrusted_classes.lower().split())


def _begins_with_title(note: Element) -> bool:
    """Whether the first words of a note are in an element that is called its title, or in a heading."""
    element = note
    for _ in range(_MAX_LEVELS):
        first = _first_child(element)
        if first is None:
            return False
        element = first
        if element.tag in HEADINGS or _names_one((element.attr("class") or "")[:_MAX_CLASSES], _TITLES):
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
