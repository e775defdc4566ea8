"""What is done at each element of HTML: the tables of handlers for a TreeReader."""

from __future__ import annotations

from itertools import islice

from mudroom.extract.blocks import Closer
from mudroom.extract.cells import caption, cell, input_control, row, select_control, spaced, table
from mudroom.extract.declarations import judge_declarations
from mudroom.extract.display import BREAK, Edge, Mark, end_of
from mudroom.extract.lines import is_aligned, keeps_lines
from mudroom.extract.lists import description, item, list_of_items, term
from mudroom.extract.maths import PARTS, formula, part
from mudroom.extract.notes import division, paragraph
from mudroom.extract.reader import Handler, Handlers, TreeReader, skip
from mudroom.extract.tags import BLOCKS, HEADINGS, MARKS, VOID_FALLBACKS, pick_language
from mudroom.extract.tree import Element, Node, XPath
from mudroom.extract.unseen import (
    annotation,
    frame,
    meta,
    noscript,
    note_link,
    note_url,
    other_node,
    related,
    script,
    style,
    title,
    unrendered,
    unshown_anchor,
)
from mudroom.model import Channel, Hiding

__all__ = ["HANDLERS"]

_ANCHOR_SIGNS = frozenset({"¶", "#", "§", "🔗", "∞", ""})
_CODE, _SUP, _SUB = end_of(Mark.CODE), end_of(Mark.SUP), end_of(Mark.SUB)
_NO_HIGHLIGHTING = ":not(span):not(a):not(code):not(b):not(em):not(strong):not(i)"
_NO_LINES_OF_CODE = "".join(
    f":not({tag})"
    for tag in ("br", "span", "div", "a", "b", "i", "em", "strong", "var", "code", "kbd", "samp", "tt", "sup", "sub",
                "font", "u", "mark", "ins", "del", "small", "big", "abbr")
)  # fmt: skip
_LINED = frozenset({"p", "div", "code", "figure", "section", "article", "blockquote"})
_PLAIN_ATTRIBUTES = frozenset({"class", "id", "href"})
_ODD_ATTRIBUTES = ":not([class]):not([id]):not([href])"
_MANY_ATTRIBUTES = XPath(".//*[@*[2]]")
_HAS_COMMENTS = XPath("boolean(.//comment())")


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


def _anchor(reader: TreeReader, element: Element) -> Closer | Edge | None:
    href = element.attr("href")
    if href is None:
        return None
    end = reader.links.repeatable.get(href)
    if end is None:
        if href[:1] == "#":
            if "%" in href or ":" in href:
                note_link(reader, element, href)
            return skip if element.text.strip() in _ANCHOR_SIGNS and not element.find("img") else None
        note_link(reader, element, href)
        end = reader.links.mark(href)
        if end is None:
            return None
    if reader.is_behind_link():
        reader.put(" ", element)
    return end


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
            note_url(reader, element, url)
    return skip


def _is_wordy(alt: str) -> bool:
    return len(alt) > 2  # noqa: PLR2004 - an emoji or a letter drawn as an image is part of its word


def _quote(reader: TreeReader, _element: Element) -> Closer:
    reader.open_quote()
    return reader.close_quote


def _inline_quote(reader: TreeReader, element: Element) -> Closer:
    reader.put("“", element)
    return lambda: reader.put("”", element)


def _ignore(_reader: TreeReader, _element: Element) -> Closer:
    return skip


def _superscript(reader: TreeReader, _element: Element) -> Edge:
    reader.has_scripts = True
    return _SUP


def _subscript(reader: TreeReader, _element: Element) -> Edge:
    reader.has_scripts = True
    return _SUB


def _ruby_text(reader: TreeReader, element: Element) -> Closer:
    reader.put("(", element)
    return lambda: reader.put(")", element)


def _preformatted(reader: TreeReader, element: Element) -> Closer:
    reader.flush()
    language = _language_of(element)
    if reader.can_take_whole() and _is_plain_code(element):
        for anchor in element.iter_elements("a"):
            unshown_anchor(reader, anchor)
        reader.put(element.text, element)
        reader.flush_code(language)
        return skip
    leave = reader.begin_verbatim()

    def end() -> None:
        leave()
        reader.flush_code(language)

    return end


def _code(reader: TreeReader, element: Element) -> Closer | Edge:
    """A span of code, or, where it is broken into lines, a block of it."""
    if len(element) < 2 or not _is_in_lines(reader, element):  # noqa: PLR2004 - one child is no two lines
        return _CODE
    reader.flush()
    leave = reader.begin_verbatim()

    def end() -> None:
        leave()
        reader.flush_code("", is_collapsed=True)

    return end


def _is_in_lines(reader: TreeReader, element: Element) -> bool:
    """Whether code is broken into lines where a block of it may stand, and holds nothing else."""
    breaks = element.select("br,div")
    if not breaks or reader.heading or reader.tables or reader.is_in_link_or_code():
        return False
    if len(breaks) == 1 and breaks[0] in {element[0], element[-1]}:
        return False
    return element.select_one(_NO_LINES_OF_CODE) is None


def _in_lines(element: Element) -> Handler | None:
    """Text whose style keeps its lines: code where it is aligned, else lines with breaks between them."""
    if element.tag not in _LINED or not keeps_lines(element.attr("style") or ""):
        return None
    text = element.text
    if "\n" not in text.strip():
        return None
    if element.tag == "code" or (is_aligned(text) and element.select_one(_NO_LINES_OF_CODE) is None):
        return _preformatted
    return _kept_lines if element.tag in BLOCKS else None


def _kept_lines(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    before, reader.keeps_lines = reader.keeps_lines, True

    def end() -> None:
        reader.flush()
        reader.keeps_lines = before

    return end


def _is_plain_code(element: Element) -> bool:
    """Whether code holds no more than highlighting, so that its text can be taken whole.

    Asked of selectors, which are fast, as far as they can tell: names of attributes they cannot list.
    """
    if element.select_one(_NO_HIGHLIGHTING) is not None or _HAS_COMMENTS(element):
        return False
    return all(
        _PLAIN_ATTRIBUTES.issuperset(doubtful.attrs)
        for doubtful in [*element.select(_ODD_ATTRIBUTES), *_MANY_ATTRIBUTES(element)]  # type: ignore[misc]
    )


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
    end_mark = reader.begin_mark(end_of(Mark.STRONG))

    def end() -> None:
        if end_mark:
            end_mark()
        reader.flush()
        reader.shown_as = before

    return end


def _svg(reader: TreeReader, element: Element) -> Closer:
    """A drawing: a sign among words, or, where it holds text, a block of its own."""
    before = reader.channel
    if element.find("text") is None and element.find("foreignobject") is None:
        reader.put(" ", element)
    else:
        reader.flush()
    reader.channel = Channel.SVG

    def end() -> None:
        if element.find("text") is not None:
            reader.flush()
        reader.channel = before

    return end


def _dialog(reader: TreeReader, element: Element) -> Closer:
    is_shown = Hiding.DISPLAY_NONE in judge_declarations(element.attr("style") or "").shows
    if "open" in element.attrs or is_shown:
        return _block(reader, element)
    return reader.begin_hiding(Hiding.DISPLAY_NONE)


def _verbatim_block(reader: TreeReader, element: Element) -> Closer:
    def edge() -> None:
        last = reader.last_text()
        if last and not last.endswith("\n"):
            reader.put_edge(BREAK)
            reader.put("\n", element)

    edge()
    return edge


def _verbatim_break(reader: TreeReader, element: Element) -> Closer:
    reader.put_edge(BREAK)
    reader.put("\n", element)
    return skip


def _hidden_block(reader: TreeReader, _element: Element) -> Closer:
    reader.flush()
    return reader.flush


_NEVER_SHOWN: dict[str, Handler] = {
    "script": script,
    "style": style,
    "meta": meta,
    "link": related,
    "title": title,
    "template": unrendered(Channel.TEMPLATE),
    "noscript": noscript,
    **dict.fromkeys(VOID_FALLBACKS, unrendered(Channel.EMBEDDED)),
    "datalist": unrendered(Channel.FORM),
    "frame": frame,
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
        **dict.fromkeys(("div", "aside", "section"), division),
        "p": paragraph,
        **dict.fromkeys(HEADINGS, _heading),
        **{tag: end_of(mark) for tag, mark in MARKS.items()},
        **dict.fromkeys(("ul", "ol", "menu", "dir", "dl"), list_of_items),
        **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), _preformatted),
        **dict.fromkeys(("td", "th"), cell),
        **dict.fromkeys(("button", "textarea", "output", "meter", "progress", "option"), spaced),
        "a": _anchor,
        "area": _anchor,
        "annotation": annotation,
        "annotation-xml": annotation,
        "blockquote": _quote,
        "br": _break,
        "caption": caption,
        **dict.fromkeys(PARTS, part),
        "dd": description,
        "details": _details,
        "dialog": _dialog,
        "dt": term,
        "hr": _rule,
        "img": _image,
        "image": _image,
        "input": input_control,
        "li": item,
        "math": formula,
        "q": _inline_quote,
        "rp": _ignore,
        "rt": _ruby_text,
        "select": select_control,
        "sub": _subscript,
        "summary": _summary,
        "sup": _superscript,
        "svg": _svg,
        "desc": title,
        "table": table,
        "tr": row,
        **_NEVER_SHOWN,
    },
    verbatim={
        **dict.fromkeys(_LINES, _verbatim_block),
        "a": unshown_anchor,
        "br": _verbatim_break,
        "img": _image,
        "sub": _subscript,
        "sup": _superscript,
        **_NEVER_SHOWN,
    },
    hidden={
        **dict.fromkeys(_LINES, _hidden_block),
        "a": unshown_anchor,
        "area": unshown_anchor,
        "br": _verbatim_break,
        **_NEVER_SHOWN,
    },
    other=other_node,
    long_code=_code,
    in_lines=_in_lines,
)
