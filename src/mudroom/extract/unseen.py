"""What is never laid out, read for the scanner alone: scripts, styles, templates, comments, embedded documents."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from urllib.parse import unquote_to_bytes

from mudroom.extract.blocks import Closer
from mudroom.extract.names import decode_url
from mudroom.extract.reader import Handler, TreeReader, skip
from mudroom.extract.scripts import json_strings, prose_of_script, prose_of_style
from mudroom.extract.tree import CData, Comment, Doctype, Element, Node, ProcessingInstruction, parse_html
from mudroom.model import Channel, Hiding, LinkRelation
from mudroom.robots import AGENT_TOKEN, forbids_following, is_robots_name

__all__ = [
    "annotation",
    "frame",
    "meta",
    "noscript",
    "note_link",
    "note_url",
    "other_node",
    "related",
    "script",
    "style",
    "title",
    "unrendered",
    "unshown_anchor",
]

_RELATIONS = {
    "canonical": LinkRelation.CANONICAL,
    "next": LinkRelation.NEXT,
    "alternate": LinkRelation.ALTERNATE,
}
"""Of several on one element the first here counts."""
_MAX_DATA_CHARS = 1 << 20
_MAX_DOCTYPE = 120  # the longest that any version of HTML asks for
_REFRESH = re.compile(
    r"[\d.\s]{0,64}[;,]\s{0,64}(?:url\s{0,64}=\s{0,64})?[\"']?([^\"'\s]{1,4096})", re.IGNORECASE
)


def note_link(reader: TreeReader, element: Element, href: str) -> None:
    """Keep a link, and the words in its address."""
    rel = element.attr("rel")
    reader.links.add(href, is_nofollow=rel is not None and "nofollow" in rel.lower())
    if "%" in href or ":" in href[:16]:
        note_url(reader, element, href)


def note_url(reader: TreeReader, element: Element, url: str) -> None:
    """A URL that holds words, decoded, for the scanner."""
    line = element.source_line or 0
    if url.lstrip()[:5].lower() == "data:":
        reader.security.add(Channel.EMBEDDED, Hiding.NOT_RENDERED, line, _decode_data(url))
    elif " " in (decoded := decode_url(url[:_MAX_DATA_CHARS])) or url.lstrip()[:11].lower() == "javascript:":
        reader.security.add(Channel.URL, reader.hiding or Hiding.NOT_RENDERED, line, decoded)


def _decode_data(url: str) -> str:
    """The text of a data URL's document, tags aside; "" for what is no text."""
    head, _, data = url[:_MAX_DATA_CHARS].partition(",")
    head = head.lower()
    if not any(kind in head for kind in ("text/", "json", "xml", "svg")) and head.strip() not in {
        "data:",
        "data:;base64",
    }:
        return ""
    raw = unquote_to_bytes(data)
    if "base64" in head:
        try:
            raw = b64decode(raw + b"==", validate=False)
        except (Base64Error, ValueError):
            return ""
    text = raw.decode("utf-8", "replace")
    return parse_html(text).text if "html" in head or "svg" in head else text


def script(reader: TreeReader, element: Element) -> Closer:
    """Words in a script, strings in structured data, templates whole."""
    text, line = element.text, element.source_line or 0
    kind = (element.attr("type") or "").lower()
    if "json" in kind:
        try:
            for is_key, string in json_strings(text):
                channel = Channel.KEY if is_key else Channel.JSON
                if " " in string:
                    reader.security.add(channel, Hiding.NOT_RENDERED, line, string)
        except (ValueError, RecursionError):
            reader.security.add(Channel.SCRIPT, Hiding.NOT_RENDERED, line, text)
    elif "template" in kind or "html" in kind or kind.startswith("text/x-") or kind == "text/plain":
        reader.security.add(Channel.TEMPLATE, Hiding.NOT_RENDERED, line, text)
    else:
        for string in prose_of_script(text):
            reader.security.add(Channel.SCRIPT, Hiding.NOT_RENDERED, line, string)
    return skip


def style(reader: TreeReader, element: Element) -> Closer:
    """Words in a style sheet."""
    for string in prose_of_style(element.text):
        reader.security.add(Channel.STYLE, Hiding.NOT_RENDERED, element.source_line or 0, string)
    return skip


def _page_title(reader: TreeReader, element: Element) -> Closer:
    if reader.title is None:
        reader.title = element.text
    reader.security.add(Channel.TITLE, Hiding.NONE, element.source_line or 0, element.text)
    return skip


def meta(reader: TreeReader, element: Element) -> Closer:
    """Where a page sends its readers by itself, and whether robots may follow its links."""
    if is_robots_name(element.attr("name") or "", AGENT_TOKEN):
        reader.links.is_nofollow |= forbids_following((element.attr("content") or "",), AGENT_TOKEN)
    if (element.attr("http-equiv") or "").lower() == "refresh":
        match = _REFRESH.match(element.attr("content") or "")
        if match:
            reader.links.add(match[1])
    return skip


def related(reader: TreeReader, element: Element) -> Closer:
    """What the page says it is related to, where a crawl may want to know of it."""
    href = element.attr("href")
    words = (element.attr("rel") or "").lower().split() if href else ()
    for word, relation in _RELATIONS.items():
        if href and word in words:
            reader.links.add(href, is_nofollow="nofollow" in words, relation=relation)
            break
    return skip


def unrendered(channel: Channel) -> Handler:
    """Content that is never laid out: read for the scanner alone."""

    def enter(reader: TreeReader, element: Element) -> Closer:
        if srcdoc := element.attr("srcdoc"):
            _srcdoc(reader, element, srcdoc)
        for name in ("src", "data"):
            if (url := element.attr(name)) and ("%" in url or url[:5].lower() == "data:"):
                note_url(reader, element, url)
        return reader.begin_hiding(Hiding.NOT_RENDERED, channel)

    return enter


def _srcdoc(reader: TreeReader, element: Element, srcdoc: str) -> None:
    _embedded(reader, element, srcdoc, Channel.EMBEDDED)


def noscript(reader: TreeReader, element: Element) -> Closer:
    """What a person without scripts would see: a document of its own, kept as text in the page."""
    if element.find() is not None:
        return reader.begin_hiding(Hiding.NOT_RENDERED, Channel.NOSCRIPT)
    _embedded(reader, element, element.text, Channel.NOSCRIPT)
    return skip


def _embedded(reader: TreeReader, element: Element, untrusted_html: str, channel: Channel) -> None:
    """A document inside a document: its text, and the comments and attributes in it."""
    if reader.embedded_left <= 0:
        reader.security.add(channel, Hiding.NOT_RENDERED, element.source_line or 0, untrusted_html)
        return
    reader.embedded_left -= 1
    leave = reader.begin_hiding(Hiding.NOT_RENDERED, channel)
    reader.read(parse_html(untrusted_html))
    leave()
    reader.embedded_left += 1


def frame(reader: TreeReader, element: Element) -> Closer:
    """A frame is a link to what it holds."""
    if src := element.attr("src"):
        reader.links.add(src)
    return skip


def title(reader: TreeReader, element: Element) -> Closer:
    """The title of the page, or of a drawing."""
    if reader.channel is not Channel.SVG:
        return _page_title(reader, element)
    reader.security.add(Channel.SVG, Hiding.NOT_RENDERED, element.source_line or 0, element.text)
    return skip


def annotation(reader: TreeReader, element: Element) -> Closer:
    """A formula in its source form, which no browser shows."""
    reader.security.add(Channel.ATTRIBUTE, Hiding.NOT_RENDERED, element.source_line or 0, element.text)
    return skip


def unshown_anchor(reader: TreeReader, element: Element) -> None:
    """A link in hidden or verbatim text: kept, not shown."""
    if href := element.attr("href"):
        note_link(reader, element, href)


def other_node(reader: TreeReader, node: Node, parent: Element | None) -> None:
    """Nodes that are neither elements nor text."""
    line = (parent.source_line if parent else 0) or 0
    if isinstance(node, Comment):
        reader.security.add(Channel.COMMENT, Hiding.NOT_RENDERED, line, node.data)
    elif isinstance(node, CData):
        reader.put(node.data, parent)
    elif isinstance(node, ProcessingInstruction):
        reader.security.add(Channel.INSTRUCTION, Hiding.NOT_RENDERED, line, f"{node.target} {node.data}")
    elif isinstance(node, Doctype):
        words = f"{node.name} {node.public_id or ''} {node.system_id or ''}"
        if len(words) > _MAX_DOCTYPE:
            reader.security.add(Channel.INSTRUCTION, Hiding.NOT_RENDERED, line, words)
