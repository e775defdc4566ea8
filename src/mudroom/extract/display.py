"""The display tree: what a person sees, as blocks in reading order.

Flat: a container is an opening block, its content and a CLOSE, so that nothing here or in the renderers needs
recursion. Named tuples, because a page makes a thousand of them and a millisecond matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique
from typing import NamedTuple

__all__ = ["BREAK", "END", "Block", "BlockKind", "Cell", "Edge", "Inline", "Mark", "close_of", "open_mark"]


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


class Edge(NamedTuple):
    """Where a mark begins or ends among inline text."""

    mark: Mark
    is_open: bool
    href: str = ""
    """For a LINK: its absolute destination, judged by scheme; empty where it is not followed."""


BREAK = Edge(Mark.BREAK, is_open=True)
_LINK = Mark.LINK
_OPEN = {mark: Edge(mark, is_open=True) for mark in Mark}
_CLOSE = {mark: Edge(mark, is_open=False) for mark in Mark}

Inline = Sequence[str | Edge]
"""Text as written (whitespace not yet collapsed) and the edges of marks, in order."""


def open_mark(mark: Mark) -> Edge:
    """The beginning of a mark."""
    return _OPEN[mark]


def close_of(edge: Edge) -> Edge:
    """The end of what an edge begins."""
    return Edge(_LINK, False, edge.href) if edge.mark is _LINK else _CLOSE[edge.mark]


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
