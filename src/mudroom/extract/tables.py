"""Tables: captured cell by cell, then judged: data becomes a table, layout becomes its blocks in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mudroom.extract.display import Block, BlockKind, Cell, Inline, Mark, end_of

__all__ = ["CapturedCell", "CapturedTable", "flatten"]

_HEAVY = frozenset({BlockKind.HEADING, BlockKind.TABLE, BlockKind.CODE, BlockKind.OPEN_QUOTE, BlockKind.RULE})
_CODE = end_of(Mark.CODE)
_MAX_CELL_BLOCKS = 40  # a cell that holds more is a column of a page, not a value


class CapturedCell(NamedTuple):
    """One cell as it stood in the page."""

    blocks: list[Block]
    colspan: int
    rowspan: int
    is_header: bool


@dataclass(slots=True)
class CapturedTable:
    """A table while its cells are collected."""

    is_presentation: bool = False
    in_head: bool = False
    rows: list[list[CapturedCell]] = field(default_factory=list)
    caption: list[Block] = field(default_factory=list)

    def blocks(self) -> list[Block]:
        """What the table shows, as blocks."""
        rows = [row for row in self.rows if row]
        if not rows:
            return self.caption
        if self._is_data(rows):
            cells = [
                [Cell(flatten(c.blocks), c.colspan, c.rowspan, c.is_header) for c in row] for row in rows
            ]
            return [*self.caption, Block(BlockKind.TABLE, rows=cells)]
        return [*self.caption, *(block for row in rows for cell in row for block in cell.blocks)]

    def _is_data(self, rows: list[list[CapturedCell]]) -> bool:
        """Whether rows and columns mean something; without headers, cells must be short and side by side."""
        if self.is_presentation or not any(cell.blocks for row in rows for cell in row):
            return False
        if any(block.kind is BlockKind.TABLE for row in rows for cell in row for block in cell.blocks):
            return False
        if self.caption or any(cell.is_header for row in rows for cell in row):
            return True
        return max(map(len, rows)) > 1 and not any(map(_is_heavy, (cell for row in rows for cell in row)))


def flatten(blocks: Sequence[Block]) -> Inline:
    """Blocks as one line of inline text, for a cell."""
    if len(blocks) == 1 and blocks[0].kind is BlockKind.PARAGRAPH:
        return blocks[0].inline
    parts: list[str] = []
    for block in blocks:
        if block.kind is BlockKind.OPEN_ITEM:
            parts.append(" • " if parts else "• ")
        elif block.kind is BlockKind.CODE:
            parts += (" ", _CODE.partner, block.text, _CODE, " ")
        elif block.kind is BlockKind.LINES:
            parts += (" ", block.text)
        elif block.inline:
            parts += (" ", *block.inline)
        for row in block.rows:
            for cell in row:
                parts += (" ", *cell.inline)
    return parts


def _is_heavy(cell: CapturedCell) -> bool:
    return len(cell.blocks) > _MAX_CELL_BLOCKS or any(block.kind in _HEAVY for block in cell.blocks)
