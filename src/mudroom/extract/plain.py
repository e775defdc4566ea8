"""The display tree as plain text: what a person reads, without marks or destinations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mudroom.extract.display import Block, BlockKind, Cell
from mudroom.extract.inline import inline_text
from mudroom.extract.layout import lay_out, lay_out_table

__all__ = ["render_text"]


def render_text(blocks: Iterable[Block], max_chars: int) -> str:
    """Plain text of a display tree, ending in one LF; empty for an empty tree.

    Raises ContentRefused EXTRACTION_LIMIT when it grows beyond `max_chars`.
    """
    text = lay_out(blocks, _leaf, max_chars)
    return text + "\n" if text else ""


def _leaf(block: Block) -> Sequence[str]:
    if block.kind in {BlockKind.CODE, BlockKind.LINES}:
        return block.text.split("\n")
    if block.kind is BlockKind.RULE:
        return ("* * *",)
    if block.kind is BlockKind.TABLE:
        return [" | ".join(map(_cell, row)).rstrip() for row in lay_out_table(block.rows)]
    text = inline_text(block.inline, is_line=block.kind is BlockKind.HEADING)
    return text.split("\n") if text else ()


def _cell(cell: Cell | None) -> str:
    return inline_text(cell.inline, is_line=True) if cell else ""
