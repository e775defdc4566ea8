"""The display tree: what a person sees, as blocks in reading order.

Flat: a container is an opening block, its content and a CLOSE, so that nothing here or in the renderers needs
recursion. Named tuples, because a page makes a thousand of them and a millisecond matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique
from typing import NamedTuple, final

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
    "end_of",
    "end_of_link",
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
    """Scripts are gathered so; no block holds their edges."""
    LINK = 7
    BREAK = 8


OPENS, CLOSES = "\x01", "\x02"
"""What edges are in joined text; no display text holds either, for it is cleaned."""
_LINK = Mark.LINK
_DELIMITERS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.STRIKE: "~~", Mark.CODE: "`", Mark.LINK: "["}
_SIGNS = {Mark.STRONG: "S", Mark.EMPHASIS: "E", Mark.CODE: "C", Mark.LINK: "L"}


@final
class Edge(str):
    """Where a mark begins or ends among inline text.

    As a string it is the one character that stands for it, so that a run with its edges is joined in one call.
    """

    __slots__ = ("is_open", "mark", "markdown", "partner", "sign")

    mark: Mark
    is_open: bool
    markdown: str
    """Its delimiter, where one may stand."""
    sign: str
    """A letter that tells mark and side, for patterns of edges: small where it closes, ? for rare marks."""
    partner: Edge
    """The other side of the same mark; of links, any beginning for any end."""


def _edge(mark: Mark, markdown: str, *, is_open: bool) -> Edge:
    edge = Edge(OPENS if is_open else CLOSES)
    edge.mark, edge.is_open, edge.markdown = mark, is_open, markdown
    sign = _SIGNS.get(mark, "?")
    edge.sign = sign if is_open else sign.lower()
    return edge


def _end_of(mark: Mark) -> Edge:
    """The end of a mark, with its beginning as partner."""
    delimiter = _DELIMITERS.get(mark, "")
    begin, end = _edge(mark, delimiter, is_open=True), _edge(mark, delimiter, is_open=False)
    begin.partner, end.partner = end, begin
    return end


def end_of_link(destination: str) -> Edge:
    """The end of a link to an absolute URL, which was judged by its scheme and escaped for Markdown."""
    edge = Edge(CLOSES)
    edge.mark, edge.is_open, edge.sign, edge.partner = _LINK, False, "l", _LINK_BEGIN
    edge.markdown = f"]({destination})"
    return edge


_ENDS = {mark: _end_of(mark) for mark in Mark}
_LINK_BEGIN = _ENDS[_LINK].partner
BREAK = _ENDS[Mark.BREAK].partner

Inline = Sequence[str]
"""Text as written (whitespace not yet collapsed) and the edges of marks, in order."""


def end_of(mark: Mark) -> Edge:
    """The end of a mark; its beginning is its partner."""
    return _ENDS[mark]


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
    """CODE: its language. OPEN_ITEM: what is written before its text."""
    number: int = 0
    """HEADING: 1 to 6. OPEN_LIST: -1 for bullets, else the first number. OPEN_ITEM: its own number, or -1."""
    rows: Sequence[Sequence[Cell]] = ()


END = Block(BlockKind.CLOSE)
"""The end of the container that was opened last."""
