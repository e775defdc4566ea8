"""The one place that knows the HTML parser: trees, their nodes, and what can go wrong in making them.

turbohtml is pinned: what is scanned today must be parsed the same way tomorrow.
"""

from __future__ import annotations

from turbohtml import (
    CData,
    Comment,
    Doctype,
    Document,
    DocumentFragment,
    Element,
    HTMLParseError,
    Node,
    ProcessingInstruction,
    SelectorSyntaxError,
    Text,
    XPath,
    parse,
    parse_xml,
)

__all__ = [
    "CData",
    "Comment",
    "Doctype",
    "Document",
    "DocumentFragment",
    "Element",
    "Node",
    "ProcessingInstruction",
    "Text",
    "XPath",
    "parse_html",
    "parse_well_formed",
    "select",
]


def parse_html(untrusted_text: str) -> Document:
    """The tree a browser builds of a page before its scripts run; any text has one.

    Scripting is on, as it is for a person: what stands in noscript is text there, and is read apart.
    Source: WHATWG HTML 13.2.
    """
    return parse(untrusted_text, scripting=True)


def parse_well_formed(untrusted_text: str) -> Document | None:
    """The tree of an XML document, or None where it is not well formed.

    Entities other than XML's own five are errors, so none is ever expanded.
    """
    try:
        return parse_xml(untrusted_text)
    except HTMLParseError:
        return None


def select(root: Document | Element, untrusted_selector: str) -> list[Element]:
    """The elements that a selector names; none for a selector that is not understood."""
    try:
        return root.select(untrusted_selector)
    except (SelectorSyntaxError, ValueError):
        return []
