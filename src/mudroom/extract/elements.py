"""What is done at each element of HTML: the tables of handlers for a TreeReader."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from itertools import islice
from urllib.parse import unquote, unquote_to_bytes

from mudroom.extract.display import BREAK, Edge, Mark, open_mark
from mudroom.extract.reader import Closer, Handler, Handlers, TreeReader, skip
from mudroom.extract.scripts import json_strings, prose_of_script, prose_of_style
from mudroom.extract.tables import CapturedCell, CapturedTable
from mudroom.extract.tags import BLOCKS, HEADINGS, MARKS, VOID_FALLBACKS, pick_language
from mudroom.extract.tree import CData, Comment, Element, Node, ProcessingInstruction, parse_html
from mudroom.model import Channel, Hiding

__all__ = ["HANDLERS"]

_ANCHOR_SIGNS = frozenset({"¶", "#", "§", "🔗", "∞", ""})
_MAX_SPAN = 1000
_MAX_NUMBER = 999_999_999
_MAX_DATA_CHARS = 1 << 20
_REFRESH = re.compile(
    r"[\d.\s]{0,64}[;,]\s{0,64}(?:url\s{0,64}=\s{0,64})?[\"']?([^\"'\s]{1,4096})", re.IGNORECASE
)
_SHOWN_INPUTS = frozenset(
    {"", "text", "search", "email", "url", "tel", "number", "submit", "button", "reset", "date"}
)


def _integer(text: str | None, default: int, low: int, high: int) -> int:
    digits = (text or "").strip()
    if not digits.lstrip("-").isdecimal() or len(digits) > 10:  # noqa: PLR2004 - more digits than any bound has
        return default
    return max(low, min(high, int(digits)))


# Visible text.


def _block(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    return reader.flush


def _heading(reader: TreeReader, element: Element) -> Closer:
    reader.flush()
    before, reader.heading = reader.heading, HEADINGS[element.tag]

    def end() -> None:
        reader.flush()
        reader.heading = before

    return end


def _mark(reader: TreeReader, element: Element) -> Closer | None:
    return reader.begin_mark(open_mark(MARKS[element.tag]))


def _anchor(reader: TreeReader, element: Element) -> Closer | None:
    href = element.attr("href")
    if href is None:
        return None
    _note_link(reader, element, href)
    if href[:1] == "#":
        return skip if element.text.strip() in _ANCHOR_SIGNS and not element.find("img") else None
    shown = reader.links.shown(href)
    if not shown:
        return None
    if isinstance(last := reader.last_part(), Edge) and last.mark is Mark.LINK and not last.is_open:
        reader.put(" ", element)
    return reader.begin_mark(Edge(Mark.LINK, is_open=True, href=shown))


def _note_link(reader: TreeReader, element: Element, href: str) -> None:
    rel = element.attr("rel")
    reader.links.add(href, is_nofollow=rel is not None and "nofollow" in rel.lower())
    if "%" in href or href[:5].strip().lower() in {"data:", "javas", "vbscr"}:
        _note_url(reader, element, href)


def _note_url(reader: TreeReader, element: Element, url: str) -> None:
    """A URL that holds words, decoded, for the scanner."""
    line = element.source_line or 0
    if url.lstrip()[:5].lower() == "data:":
        reader.security.add(Channel.EMBEDDED, Hiding.NOT_RENDERED, line, _decode_data(url))
    elif " " in (decoded := unquote(url[:_MAX_DATA_CHARS])) or url.lstrip()[:11].lower() == "javascript:":
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


def _break(reader: TreeReader, element: Element) -> Closer:
    last = reader.last_part()
    if isinstance(last, Edge) and last.mark is Mark.BREAK:
        reader.flush()
    else:
        reader.put_edge(BREAK)
        reader.put("\n", element)
    return skip


def _rule(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    if not reader.tables:
        reader.display.rule()
    return skip


def _image(reader: TreeReader, element: Element) -> Closer:
    """An image is its alternative text; the address it would be fetched from is never shown."""
    alt = element.attr("alt")
    if alt and not alt.isspace():
        reader.put(f" {alt} " if _is_wordy(alt) else alt, element)
    for name in ("src", "longdesc"):
        if (url := element.attr(name)) and "%20" in url:
            _note_url(reader, element, url)
    return skip


def _is_wordy(alt: str) -> bool:
    return len(alt) > 2  # noqa: PLR2004 - an emoji or a letter drawn as an image is part of its word


def _list(reader: TreeReader, element: Element) -> Closer:
    number = _integer(element.attr("start"), 1, 0, _MAX_NUMBER) if element.tag == "ol" else -1
    reader.open_list(number)
    return reader.close_list


def _item(reader: TreeReader, element: Element) -> Closer:
    if reader.is_in_list():
        reader.open_item(_integer(element.attr("value"), -1, 0, _MAX_NUMBER))
        return reader.close_item
    reader.open_list(-1)
    reader.open_item()

    def end() -> None:
        reader.close_item()
        reader.close_list()

    return end


def _term(reader: TreeReader, element: Element) -> Closer:
    return _item(reader, element) if reader.is_in_list() else _block(reader, element)


def _description(reader: TreeReader, element: Element) -> Closer:
    if not reader.is_in_list():
        return _block(reader, element)
    reader.resume_item()
    return reader.close_item


def _quote(reader: TreeReader, _element: Element) -> Closer:
    reader.open_quote()
    return reader.close_quote


def _inline_quote(reader: TreeReader, element: Element) -> Closer:
    reader.put("“", element)
    return lambda: reader.put("”", element)


def _ignore(_reader: TreeReader, _element: Element) -> Closer:
    return skip


def _ruby_text(reader: TreeReader, element: Element) -> Closer:
    reader.put("(", element)
    return lambda: reader.put(")", element)


def _preformatted(reader: TreeReader, element: Element) -> Closer:
    reader.flush()
    language = _language_of(element)
    leave = reader.begin_verbatim()

    def end() -> None:
        leave()
        reader.flush_code(language)

    return end


def _language_of(element: Element) -> str:
    near: list[Node] = [element, *islice(element.ancestors, 2)]
    if (child := element.find("code")) is not None:
        near.insert(1, child)
    for node in near:
        if isinstance(node, Element):
            names = f"{node.attr('class') or ''} {node.attr('data-lang') or ''} {node.attr('data-language') or ''}"
            if language := pick_language(names):
                return language
    return ""


def _details(reader: TreeReader, element: Element) -> Closer:
    """Details stay displayed: a person can open them. Until then they are not seen, and marked so."""
    reader.flush()
    before = reader.shown_as
    if element.attr("open") is None and "open" not in element.attrs:
        reader.shown_as = Hiding.CLOSED_DETAILS

    def end() -> None:
        reader.flush()
        reader.shown_as = before

    return end


def _summary(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    before, reader.shown_as = reader.shown_as, Hiding.NONE
    end_mark = reader.begin_mark(open_mark(Mark.STRONG))

    def end() -> None:
        if end_mark:
            end_mark()
        reader.flush()
        reader.shown_as = before

    return end


# Tables.


def _table(reader: TreeReader, element: Element) -> Closer:
    reader.flush()
    reader.tables.append(CapturedTable(is_presentation=element.attr("role") in {"presentation", "none"}))

    def end() -> None:
        reader.flush()
        table = reader.tables.pop()
        blocks = table.blocks()
        if blocks:
            reader.ensure_item()
        reader.display.blocks.extend(blocks)

    return end


def _row(reader: TreeReader, element: Element) -> Closer:
    reader.flush()
    if reader.tables:
        table = reader.tables[-1]
        parent = element.parent
        table.in_head = isinstance(parent, Element) and parent.tag == "thead"
        table.rows.append([])
    return reader.flush


def _cell(reader: TreeReader, element: Element) -> Closer:
    if not reader.tables or not reader.tables[-1].rows:
        return _block(reader, element)
    table = reader.tables[-1]
    reader.begin_cell()
    colspan = _integer(element.attr("colspan"), 1, 1, _MAX_SPAN)
    rowspan = _integer(element.attr("rowspan"), 1, 1, _MAX_SPAN)
    is_header = element.tag == "th" or table.in_head

    def end() -> None:
        table.rows[-1].append(CapturedCell(reader.end_cell(), colspan, rowspan, is_header))

    return end


def _caption(reader: TreeReader, element: Element) -> Closer:
    if not reader.tables:
        return _block(reader, element)
    reader.begin_cell()
    table = reader.tables[-1]

    def end() -> None:
        table.caption += reader.end_cell()

    return end


# Forms.


def _spaced(reader: TreeReader, element: Element) -> Closer:
    """Inline boxes that stand apart on a screen."""
    reader.put(" ", element)
    return lambda: reader.put(" ", element)


def _input(reader: TreeReader, element: Element) -> Closer:
    kind = (element.attr("type") or "").lower()
    value = element.attr("value") or ""
    if kind == "checkbox":
        reader.put("☑ " if "checked" in element.attrs else "☐ ", element)
    elif kind in _SHOWN_INPUTS and value.strip():
        reader.put(f" {value} ", element)
    elif kind == "image" and (alt := element.attr("alt")):
        reader.put(f" {alt} ", element)
    return skip


def _select(reader: TreeReader, element: Element) -> Closer:
    """A person sees the chosen option and can see the others: it is shown, they go to the scanner."""
    chosen: Element | None = None
    options = element.iter_elements("option")
    for option in options:
        if chosen is None or "selected" in option.attrs:
            chosen = option
        label = option.text or option.attr("label") or ""
        reader.security.add(Channel.FORM, reader.hiding, option.source_line or 0, label)
        reader.spend_node()
    if chosen is not None and not reader.hiding:
        reader.put(f" {chosen.text} ", element)
    return skip


# What is not rendered.


def _script(reader: TreeReader, element: Element) -> Closer:
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


def _style(reader: TreeReader, element: Element) -> Closer:
    for string in prose_of_style(element.text):
        reader.security.add(Channel.STYLE, Hiding.NOT_RENDERED, element.source_line or 0, string)
    return skip


def _title(reader: TreeReader, element: Element) -> Closer:
    if reader.title is None:
        reader.title = element.text
    reader.security.add(Channel.TITLE, Hiding.NONE, element.source_line or 0, element.text)
    return skip


def _meta(reader: TreeReader, element: Element) -> Closer:
    if (element.attr("http-equiv") or "").lower() == "refresh":
        match = _REFRESH.match(element.attr("content") or "")
        if match:
            reader.links.add(match[1])
    return skip


def _unrendered(channel: Channel) -> Handler:
    """Content that is never laid out: read for the scanner alone."""

    def enter(reader: TreeReader, element: Element) -> Closer:
        if srcdoc := element.attr("srcdoc"):
            _srcdoc(reader, element, srcdoc)
        for name in ("src", "data"):
            if (url := element.attr(name)) and ("%" in url or url[:5].lower() == "data:"):
                _note_url(reader, element, url)
        return reader.begin_hiding(Hiding.NOT_RENDERED, channel)

    return enter


def _srcdoc(reader: TreeReader, element: Element, srcdoc: str) -> None:
    """A document in an attribute: its text, and the comments and attributes in it."""
    if reader.embedded_left <= 0:
        reader.security.add(Channel.EMBEDDED, Hiding.NOT_RENDERED, element.source_line or 0, srcdoc)
        return
    reader.embedded_left -= 1
    leave = reader.begin_hiding(Hiding.NOT_RENDERED, Channel.EMBEDDED)
    reader.read(parse_html(srcdoc))
    leave()
    reader.embedded_left += 1


def _frame(reader: TreeReader, element: Element) -> Closer:
    if src := element.attr("src"):
        reader.links.add(src)
    return skip


def _svg(reader: TreeReader, _element: Element) -> Closer:
    before, reader.channel = reader.channel, Channel.SVG
    reader.put(" ", _element)

    def end() -> None:
        reader.channel = before
        reader.put(" ", _element)

    return end


def _svg_title(reader: TreeReader, element: Element) -> Closer:
    if reader.channel is not Channel.SVG:
        return _title(reader, element)
    reader.security.add(Channel.SVG, Hiding.NOT_RENDERED, element.source_line or 0, element.text)
    return skip


def _annotation(reader: TreeReader, element: Element) -> Closer:
    reader.security.add(Channel.ATTRIBUTE, Hiding.NOT_RENDERED, element.source_line or 0, element.text)
    return skip


# Verbatim and hidden text.


def _verbatim_block(reader: TreeReader, element: Element) -> Closer:
    def edge() -> None:
        last = reader.last_text()
        if last and not last.endswith("\n"):
            reader.put("\n", element)

    edge()
    return edge


def _verbatim_break(reader: TreeReader, element: Element) -> Closer:
    reader.put("\n", element)
    return skip


def _hidden_block(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    return reader.flush


def _hidden_anchor(reader: TreeReader, element: Element) -> None:
    if href := element.attr("href"):
        _note_link(reader, element, href)


def _other(reader: TreeReader, node: Node, parent: Element | None) -> None:
    """Nodes that are neither elements nor text."""
    line = (parent.source_line if parent else 0) or 0
    if isinstance(node, Comment):
        reader.security.add(Channel.COMMENT, Hiding.NOT_RENDERED, line, node.data)
    elif isinstance(node, CData):
        reader.put(node.data, parent)
    elif isinstance(node, ProcessingInstruction):
        reader.security.add(Channel.INSTRUCTION, Hiding.NOT_RENDERED, line, f"{node.target} {node.data}")


_NEVER_SHOWN: dict[str, Handler] = {
    "script": _script,
    "style": _style,
    "meta": _meta,
    "title": _svg_title,
    "template": _unrendered(Channel.TEMPLATE),
    "noscript": _unrendered(Channel.NOSCRIPT),
    **dict.fromkeys(VOID_FALLBACKS, _unrendered(Channel.EMBEDDED)),
    "datalist": _unrendered(Channel.FORM),
    "frame": _frame,
}
_LINES = (
    *BLOCKS,
    *HEADINGS,
    "li",
    "dt",
    "dd",
    "ul",
    "ol",
    "dl",
    "blockquote",
    "pre",
    "table",
    "td",
    "th",
    "caption",
)
HANDLERS = Handlers(
    visible={
        **dict.fromkeys(BLOCKS, _block),
        **dict.fromkeys(HEADINGS, _heading),
        **dict.fromkeys(MARKS, _mark),
        **dict.fromkeys(("ul", "ol", "menu", "dir", "dl"), _list),
        **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), _preformatted),
        **dict.fromkeys(("td", "th"), _cell),
        **dict.fromkeys(("button", "textarea", "output", "meter", "progress", "option"), _spaced),
        "a": _anchor,
        "area": _anchor,
        "annotation": _annotation,
        "annotation-xml": _annotation,
        "blockquote": _quote,
        "br": _break,
        "caption": _caption,
        "dd": _description,
        "details": _details,
        "dt": _term,
        "hr": _rule,
        "img": _image,
        "image": _image,
        "input": _input,
        "li": _item,
        "q": _inline_quote,
        "rp": _ignore,
        "rt": _ruby_text,
        "select": _select,
        "summary": _summary,
        "svg": _svg,
        "desc": _svg_title,
        "table": _table,
        "tr": _row,
        **_NEVER_SHOWN,
    },
    verbatim={
        **dict.fromkeys(_LINES, _verbatim_block),
        "a": _hidden_anchor,
        "br": _verbatim_break,
        "img": _image,
        **_NEVER_SHOWN,
    },
    hidden={
        **dict.fromkeys(_LINES, _hidden_block),
        "a": _hidden_anchor,
        "area": _hidden_anchor,
        "br": _verbatim_break,
        **_NEVER_SHOWN,
    },
    other=_other,
)
