"""MathML in a line of text: a/b, x², x_i, √(…). Source: MathML Core, presentation elements."""

from __future__ import annotations

from mudroom.extract.blocks import Closer
from mudroom.extract.display import Edge, Mark, end_of
from mudroom.extract.reader import TreeReader, skip
from mudroom.extract.tree import Element, Text

__all__ = ["PARTS", "formula", "part"]

_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "ms"})
_SCRIPTED = frozenset({"msup", "msub", "msubsup", "munder", "mover", "munderover"})
_GROUPS = frozenset({"mrow", "mstyle", "mpadded"})
_WHOLE = _SCRIPTED | {"msqrt", "mroot"}
PARTS = _TOKENS | _GROUPS | _WHOLE | {"mfrac", "mtr", "mtd"}
"""The elements whose place in a formula says something, or that say something themselves."""
_SUP, _SUB = end_of(Mark.SUP), end_of(Mark.SUB)
_SCRIPTS = {
    ("msup", 1): _SUP, ("mover", 1): _SUP, ("msub", 1): _SUB, ("munder", 1): _SUB,
    ("msubsup", 1): _SUB, ("msubsup", 2): _SUP, ("munderover", 1): _SUB, ("munderover", 2): _SUP,
}  # fmt: skip
_SEPARATORS = {"mtr": "; ", "mtd": ", "}
_ROOTS = frozenset({"msqrt", "mroot"})
_MAX_SIBLINGS = 12  # nodes that are looked past for an element's place
_MAX_GROUPS = 8


def formula(reader: TreeReader, element: Element) -> Closer:
    """A formula: blanks in its source mean nothing."""
    is_block = element.attr("display") == "block"
    if is_block:
        reader.flush()
    drop_blanks = reader.watch_blanks()

    def end() -> None:
        drop_blanks()
        if is_block:
            reader.flush()

    return end


def part(reader: TreeReader, element: Element) -> Closer | None:
    """A part of a formula: what its place and its kind put around it."""
    parent = element.parent
    around = parent.tag if isinstance(parent, Element) else ""
    tag = element.tag
    place = _place(element)
    if around == "mroot" and place == 1:
        return _index_of_root(reader, element)
    if (script := _SCRIPTS.get((around, place))) and not (around == "mover" and tag == "mo"):
        return _begin_script(reader, element, script)
    opening, closing = _own(reader, element)
    if place > 0 and tag in _SEPARATORS:
        opening += _SEPARATORS[tag]
    elif around == "mfrac" or (around in _SCRIPTED and place == 0):
        slash = "/" if around == "mfrac" and place == 1 else ""
        is_whole = _is_whole(element, within=around)
        opening, closing = (slash + opening, closing) if is_whole else (f"{slash}({opening}", f"{closing})")
    elif tag in _TOKENS and _touches_word(reader.last_text(), _word(element)):
        opening = "\xa0"
    if opening:
        reader.put(opening, element)
    return (lambda: reader.put(closing, element)) if closing else None


def _own(reader: TreeReader, element: Element) -> tuple[str, str]:
    """What an element puts around itself wherever it stands."""
    if element.tag not in _ROOTS:
        return "", ""
    if element.tag == "mroot" and (index := _plain_index(element)):
        reader.has_scripts = True
        for piece in (_SUP.partner, index, _SUP):
            reader.put(piece, element)
        return "√(", ")"
    return ("root(", ")") if element.tag == "mroot" else ("√(", ")")


def _begin_script(reader: TreeReader, element: Element, script: Edge) -> Closer:
    opening, closing = _own(reader, element)
    reader.has_scripts = True
    end_mark = reader.begin_mark(script)
    sign = "^" if script is _SUP else "_"
    reader.put(opening if end_mark else f"{sign}({opening}", element)

    def end() -> None:
        reader.put(closing if end_mark else f"{closing})", element)
        if end_mark:
            end_mark()

    return end


def _index_of_root(reader: TreeReader, element: Element) -> Closer | None:
    parent = element.parent
    if isinstance(parent, Element) and _plain_index(parent):
        return skip
    reader.put(", ", element)
    return None


def _plain_index(root: Element) -> str:
    """The index of a root if it is one word, which is then written before the root."""
    children = [node for node in root if isinstance(node, Element)][:3]
    if len(children) != 2 or children[1].attrs or children[1].tag not in _TOKENS:  # noqa: PLR2004 - a root and its index
        return ""
    return _word(children[1])


def _word(token: Element) -> str:
    first = token[0] if len(token) == 1 else None
    return first.data.strip() if isinstance(first, Text) else ""


def _touches_word(before: str, text: str) -> bool:
    """Whether a word such as sin would melt into what stands beside it."""
    if not before[-1:].isalnum() or not text[:1].isalnum():
        return False
    return (len(text) > 1 and text.isalpha()) or (len(before) > 1 and before.isalpha())


def _place(element: Element) -> int:
    """How many elements stand before it in its parent; three stand for more."""
    place = 0
    node = element.previous_sibling
    for _ in range(_MAX_SIBLINGS):
        if node is None:
            return place
        place += isinstance(node, Element)
        node = node.previous_sibling
    return 3


def _is_whole(element: Element, *, within: str) -> bool:
    """Whether an element can stand beside / or ^ without parentheses."""
    for _ in range(_MAX_GROUPS):
        if element.tag in _TOKENS or element.tag in _ROOTS:
            return True
        if element.tag in _SCRIPTED:
            return within == "mfrac"
        children = [node for node in element if isinstance(node, Element)]
        if element.tag not in _GROUPS or not children:
            return False
        if len(children) > 1:
            return _word(children[0]) == "(" and _word(children[-1]) == ")"
        element = children[0]
    return False
