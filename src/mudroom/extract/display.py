"""The display tree: what a person sees, as blocks in reading order.

Flat: a container is an opening block, its content and a CLOSE, so that nothing here or in the renderers needs
recursion. Named tuples, because a page makes a thousand of them and a millisecond matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique
from typing import NamedTuple

from mudroom.extract.escape import escape_destination

__all__ = [
    "BREAK",
    "CLOSES",
    "END",
    "OPENS",
    "Block",
    "BlockKind",
    "Cell",
    "Edge",
    "Inline",
    "Mark",
    "make_edges",
    "open_mark",
]


@unique
class Mark(IntEnum):
    """What a run of inline text is, beyond text."""

    STRONG = 1
    EMPHASIS = 2
    STRIKE = 3
    CODE = 4
    SUP = 5
    SUB = 6
    LINK = 7
    BREAK = 8


OPENS, CLOSES = "\x01", "\x02"
"""What edges are in joined text; no display text holds either, for it is cleaned."""
_LINK = Mark.LINK
_DELIMITERS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.STRIKE: "~~", Mark.CODE: "`"}
_SIGNS = {Mark.STRONG: "S", Mark.EMPHASIS: "E", Mark.CODE: "C", Mark.LINK: "L"}


class Edge(str):
    """Where a mark begins or ends among inline text.

    As a string it is the one character that stands for it, so that a run with its edges is joined in one call.
    """

    __slots__ = ("href", "is_open", "mark", "markdown", "partner", "sign")

    mark: Mark
    is_open: bool
    href: str
    """For a LINK: its absolute destination, judged by scheme; empty where it is not followed."""
    markdown: str
    """Its delimiter, where one may stand."""
    sign: str
    """A letter that tells mark and side, for patterns of edges: small where it closes, ? for rare marks."""
    partner: Edge
    """The other side of the same mark."""

    def __new__(cls, mark: Mark, *, is_open: bool, href: str = "") -> Edge:
        edge = str.__new__(cls, OPENS if is_open else CLOSES)
        edge.mark, edge.is_open, edge.href = mark, is_open, href
        edge.markdown = _DELIMITERS.get(mark, "")
        if mark is _LINK:
            edge.markdown = "[" if is_open else f"]({escape_destination(href)})"
        sign = _SIGNS.get(mark, "?")
        edge.sign = sign if is_open else sign.lower()
        return edge


def make_edges(mark: Mark, href: str = "") -> Edge:
    """The beginning of a mark, with its end as partner."""
    begin, end = Edge(mark, is_open=True, href=href), Edge(mark, is_open=False, href=href)
    begin.partner, end.partner = end, begin
    return begin


BREAK = make_edges(Mark.BREAK)
_OPEN = {mark: make_edges(mark) for mark in Mark}

Inline = Sequence[str]
"""Text as written (whitespace not yet collapsed) and the edges of marks, in order."""


def open_mark(mark: Mark) -> Edge:
    """The beginning of a mark."""
    return _OPEN[mark]


@unique
class BlockKind(IntEnum):
    """What a block is; OPEN_ kinds last until their CLOSE."""

    PARAGRAPH = 1
    HEADING = 2
    CODE = 3
    RULE = 4
    TABLE = 5
    LINES = 6
    OPEN_LIST = 7
    OPEN_ITEM = 8
    OPEN_QUOTE = 9
    CLOSE = 10


class Cell(NamedTuple):
    """One cell of a table, its content flattened to inline text."""

    inline: Inline
    colspan: int = 1
    rowspan: int = 1
    is_header: bool = False


class Block(NamedTuple):
    """One block of the display tree."""

    kind: BlockKind
    inline: Inline = ()
    text: str = ""
    """CODE: the code. LINES: lines of plain text, broken where they are broken."""
    label: str = ""
    """CODE: its language."""
    number: int = 0
    """HEADING: 1 to 6. OPEN_LIST: -1 for bullets, else the first number. OPEN_ITEM: its own number, or -1."""
    rows: Sequence[Sequence[Cell]] = ()


END = Block(BlockKind.CLOSE)
"""The end of the container that was opened last."""
