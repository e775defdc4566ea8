"""XML read: feeds as what they say, anything else as it stands."""

from __future__ import annotations

from collections.abc import Iterator

from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.display import end_of_link
from mudroom.extract.escape import escape_destination
from mudroom.extract.html import read_html_into
from mudroom.extract.limits import ExtractLimits
from mudroom.extract.links import LinkCollector
from mudroom.extract.security import SecurityCollector
from mudroom.extract.textual import read_code
from mudroom.extract.tree import (
    CData,
    Comment,
    Document,
    Element,
    ProcessingInstruction,
    Text,
    parse_html,
    parse_well_formed,
)
from mudroom.model import Channel, Hiding

__all__ = ["XmlReading", "is_xhtml", "read_xml"]

XmlReading = str | None
"""The title of a feed, or None."""

_ENTRIES = frozenset({"item", "entry"})
_WORDS = frozenset({"description", "summary", "content", "content:encoded", "encoded", "subtitle"})
_DATES = frozenset({"pubdate", "published", "updated", "dc:date", "date"})
_MIN_ATTRIBUTE = 12


def is_xhtml(untrusted_text: str) -> bool:
    """Whether an XML text is a page: its root is html."""
    head = untrusted_text[:4096].lower()
    return "<html" in head and "http://www.w3.org/1999/xhtml" in head


def read_xml(
    untrusted_text: str,
    display: DisplayBuilder,
    security: SecurityCollector,
    links: LinkCollector,
    limits: ExtractLimits,
) -> XmlReading:
    """Read XML: a feed's title and entries; other documents verbatim, their strings kept one by one."""
    document = parse_well_formed(untrusted_text)
    root = document.root if document is not None else None
    if document is None or root is None:
        read_code(untrusted_text, "xml", display, security, Channel.TEXT)
        return None
    _collect(document, security)
    channel = (
        root.find("channel") if _local(root) in {"rss", "rdf"} else root if _local(root) == "feed" else None
    )
    if channel is None:
        display.code(untrusted_text.strip(), "xml")
        return None
    return _Feed(display, security, links, limits).read(root, channel)


def _collect(document: Document, security: SecurityCollector) -> None:
    for node in document.descendants:
        if isinstance(node, Text | CData):
            security.add(
                Channel.CDATA if isinstance(node, CData) else Channel.TEXT, Hiding.NONE, 0, node.data
            )
        elif isinstance(node, Comment):
            security.add(Channel.COMMENT, Hiding.NOT_RENDERED, 0, node.data)
        elif isinstance(node, ProcessingInstruction):
            security.add(Channel.INSTRUCTION, Hiding.NOT_RENDERED, 0, f"{node.target} {node.data}")
        elif isinstance(node, Element):
            for name in node.attrs:
                if len(value := node.attr(name) or "") >= _MIN_ATTRIBUTE:
                    security.add(Channel.ATTRIBUTE, Hiding.NOT_RENDERED, 0, value)


def _local(element: Element) -> str:
    return element.tag.rpartition(":")[2].lower()


def _children(element: Element) -> Iterator[tuple[str, Element]]:
    for node in element:
        if isinstance(node, Element):
            yield node.tag.lower(), node


class _Feed:
    """One RSS, Atom or RDF feed on its way to the display."""

    def __init__(
        self,
        display: DisplayBuilder,
        security: SecurityCollector,
        links: LinkCollector,
        limits: ExtractLimits,
    ) -> None:
        self._display = display
        self._security = security
        self._links = links
        self._limits = limits

    def read(self, root: Element, channel: Element) -> str | None:
        """Show a feed; its title."""
        title = self._head(channel, level=1)
        inside = [child for name, child in _children(channel) if name in _ENTRIES]
        for entry in inside or [child for name, child in _children(root) if name in _ENTRIES]:
            self._head(entry, level=2)
        return title

    def _head(self, element: Element, *, level: int) -> str | None:
        """Title, date and words of a feed or an entry."""
        title, href, words = None, "", list[Element]()
        date = ""
        for name, child in _children(element):
            if name == "title" and title is None:
                title = (
                    " ".join(parse_html(child.text).text.split())
                    if "<" in child.text or "&" in child.text
                    else child.text
                )
            elif name == "link" and (not href or child.attr("rel") in {None, "alternate"}):
                href = child.attr("href") or child.text
            elif name in _WORDS:
                words.append(child)
            elif name in _DATES and not date:
                date = child.text.strip()
        self._links.add(href)
        shown = self._links.shown(href) if href else ""
        if title and title.strip():
            text = self._display.text(title.strip())
            self._display.visible_chars += len(text)
            edges: list[str] = [text]
            if shown:
                link = end_of_link(escape_destination(shown))
                edges = [link.partner, text, link]
            self._display.heading(level, edges)
        if date:
            self._display.words(date)
        if words:
            self._words(max(words, key=lambda child: len(child.text)))
        return title

    def _words(self, element: Element) -> None:
        """The longest of an entry's texts: HTML in a text, or as elements."""
        html = element.inner_html if element.attr("type") == "xhtml" else element.text
        read_html_into(parse_html(html), self._display, self._security, self._links, self._limits)
