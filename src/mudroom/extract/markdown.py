"""The display tree as Markdown: no raw HTML, nothing that breaks out of its block, no front matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mudroom.extract.display import Block, BlockKind, Cell
from mudroom.extract.escape import escape_front, escape_line_start, escape_text, fence_for
from mudroom.extract.inline import inline_markdown
from mudroom.extract.layout import lay_out, lay_out_table

__all__ = ["render_markdown"]

_PARAGRAPH = BlockKind.PARAGRAPH


def render_markdown(blocks: Iterable[Block], max_chars: int) -> str:
    """Markdown of a display tree, ending in one LF; empty for an empty tree.

    Raises ContentRefused EXTRACTION_LIMIT when it grows beyond `max_chars`.
    """
    text = lay_out(blocks, _leaf, max_chars)
    return escape_front(text) + "\n" if text else ""


def _leaf(block: Block) -> Sequence[str]:
    if block.kind is not _PARAGRAPH:
        return _LEAVES[block.kind](block)
    text = inline_markdown(block.inline)
    return text.split("\n") if "\n" in text else (text,) if text else ()


def _heading(block: Block) -> Sequence[str]:
    text = inline_markdown(block.inline, is_line=True)
    if text.endswith("#"):
        text = f"{text[:-1]}\\#"
    return (f"{'#' * block.number} {text}",) if text else ()


def _code(block: Block) -> Sequence[str]:
    fence = fence_for(block.text)
    return (fence + block.label, *block.text.split("\n"), fence)


def _rule(_block: Block) -> Sequence[str]:
    return ("***",)


def _plain_lines(block: Block) -> Sequence[str]:
    stripped = (" ".join(line.split()) for line in block.text.split("\n"))
    return [escape_line_start(escape_text(line)) for line in stripped if line]


def _table(block: Block) -> Sequence[str]:
    grid = lay_out_table(block.rows)
    rows = [f"| {' | '.join(map(_cell, row))} |" for row in grid]
    width = len(grid[0])
    if not all(cell.is_header for cell in block.rows[0]):
        rows.insert(0, f"|{'  |' * width}")
    rows.insert(1, f"|{' --- |' * width}")
    return rows


def _cell(cell: Cell | None) -> str:
    return inline_markdown(cell.inline, in_table=True) if cell else ""


_LEAVES = {
    BlockKind.HEADING: _heading,
    BlockKind.CODE: _code,
    BlockKind.RULE: _rule,
    BlockKind.TABLE: _table,
    BlockKind.LINES: _plain_lines,
}
