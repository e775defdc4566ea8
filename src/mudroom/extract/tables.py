"""Tables: captured cell by cell, then judged.

Data becomes a table, layout becomes its blocks in order, and data that fits in no line becomes a list of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mudroom.extract.display import END, Block, BlockKind, Cell, Inline, Mark, end_of
from mudroom.extract.flatten import flatten
from mudroom.extract.inline import inline_text
from mudroom.extract.layout import lay_out_table

__all__ = ["CapturedCell", "CapturedTable"]

_HEAVY = frozenset({BlockKind.HEADING, BlockKind.TABLE, BlockKind.CODE, BlockKind.OPEN_QUOTE, BlockKind.RULE})
_STRONG = end_of(Mark.STRONG)
_PARAGRAPH, _CODE = BlockKind.PARAGRAPH, BlockKind.CODE
_OPEN_LIST, _OPEN_ITEM = Block(BlockKind.OPEN_LIST, number=-1), Block(BlockKind.OPEN_ITEM, number=-1)
_MAX_LABEL = 80  # characters of a header that is written again in every row
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
        if not self._is_data(rows):
            return [*self.caption, *(block for row in rows for cell in row for block in _shown(cell))]
        if max(map(len, rows)) == 1 or _has_lines_of_code(rows):
            return [*self.caption, *_rows_as_items(rows)]
        first = _is_head(rows[0])
        table = [[_cell(cell, is_header=first) for cell in rows[0]]]
        table += [[_cell(cell) for cell in row] for row in rows[1:]]
        return [*self.caption, Block(BlockKind.TABLE, rows=table)]

    def _is_data(self, rows: list[list[CapturedCell]]) -> bool:
        """Whether rows and columns mean something; without headers, cells must be short and side by side."""
        if self.is_presentation or not any(cell.blocks for row in rows for cell in row):
            return False
        if any(block.kind is BlockKind.TABLE for row in rows for cell in row for block in cell.blocks):
            return False
        if self.caption or any(cell.is_header for row in rows for cell in row):
            return True
        return max(map(len, rows)) > 1 and not any(map(_is_heavy, (cell for row in rows for cell in row)))


def _cell(cell: CapturedCell, *, is_header: bool = False) -> Cell:
    """A cell of a table; in a row that is no header, a header is strong."""
    inline = flatten(cell.blocks, is_header=is_header)
    if cell.is_header and not is_header and inline:
        inline = _strong(inline)
    return Cell(inline, cell.colspan, cell.rowspan, is_header)


def _strong(inline: Inline) -> Inline:
    return [_STRONG.partner, *inline, _STRONG]


def _shown(cell: CapturedCell) -> list[Block]:
    """What a cell holds, as blocks of their own; a header is strong."""
    if not cell.is_header:
        return cell.blocks
    return [
        block._replace(inline=_strong(block.inline)) if block.kind is _PARAGRAPH else block
        for block in cell.blocks
    ]


def _is_head(row: Sequence[CapturedCell]) -> bool:
    """Whether a row names columns: nothing but headers, and corners without words."""
    return any(cell.is_header for cell in row) and all(cell.is_header or not cell.blocks for cell in row)


def _has_lines_of_code(rows: list[list[CapturedCell]]) -> bool:
    for row in rows:
        for cell in row:
            for block in cell.blocks:
                if block.kind is _CODE and "\n" in block.text:
                    return True
    return False


def _rows_as_items(rows: list[list[CapturedCell]]) -> list[Block]:
    """A list with an item for each row, each value behind the name of its column."""
    head = rows[0] if _is_head(rows[0]) else []
    grid = lay_out_table(rows)
    labels = _labels(grid[0]) if head and len(grid[0]) > 1 else []
    unused = dict(enumerate(head))
    items: list[list[Block]] = []
    for line in grid[1:] if head else grid:
        content: list[Block] = []
        for column, cell in enumerate(line):
            if cell is None or not cell.blocks:
                continue
            position, label = labels[column] if column < len(labels) else (-1, "")
            unused.pop(position if label else -1, None)
            content += _labelled(label, _shown(cell))
        if content:
            items.append(content)
    names = [block for cell in unused.values() for block in _shown(cell)]
    if len(items) <= 1:
        return [*names, *(items[0] if items else ())]
    return [*names, _OPEN_LIST, *(block for item in items for block in (_OPEN_ITEM, *item, END)), END]


def _labels(line: Sequence[CapturedCell | None]) -> list[tuple[int, str]]:
    """For each column, which header stands above it, and what is written of it in a row."""
    labels: list[tuple[int, str]] = []
    count = -1
    label = ""
    for cell in line:
        if cell is not None:
            count += 1
            label = inline_text(flatten(cell.blocks, is_header=True), is_line=True)
            label = "" if len(label) > _MAX_LABEL else label
        labels.append((count, label))
    return labels


def _labelled(label: str, blocks: list[Block]) -> list[Block]:
    if not label:
        return blocks
    name = _strong([label if label.endswith(":") else f"{label}:"])
    first = blocks[0]
    if first.kind is _PARAGRAPH:
        return [first._replace(inline=[*name, " ", *first.inline]), *blocks[1:]]
    return [Block(_PARAGRAPH, name), *blocks]


def _is_heavy(cell: CapturedCell) -> bool:
    return len(cell.blocks) > _MAX_CELL_BLOCKS or any(block.kind in _HEAVY for block in cell.blocks)
