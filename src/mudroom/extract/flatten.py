"""Blocks as one line of inline text, for a cell of a table: what stood apart stays apart."""

from __future__ import annotations

from collections.abc import Sequence

from mudroom.extract.display import BREAK, Block, BlockKind, Edge, Inline, Mark, end_of

__all__ = ["flatten"]

_CODE = end_of(Mark.CODE)
_PARAGRAPH = BlockKind.PARAGRAPH
_SEAM = " · "
_BULLETS = "•◦▪"


def flatten(blocks: Sequence[Block], *, is_header: bool = False) -> Inline:
    """Blocks as one line; lines and paragraphs are parted visibly, in a header by a blank."""
    if len(blocks) == 1 and blocks[0].kind is _PARAGRAPH:
        return _in_one_line(blocks[0].inline, is_header=is_header)
    return _Line(is_header=is_header).write(blocks)


def _in_one_line(inline: Inline, *, is_header: bool) -> Inline:
    """Inline content whose breaks are seams; outside marks where they stand at an edge of one."""
    if is_header or len(inline) == 1 or not _has_break(inline):
        return inline
    out: list[str] = []
    seam = -1
    has_text = False
    for part in inline:
        if part is BREAK:
            if has_text and seam < 0:
                seam = len(out)
        elif type(part) is Edge:
            if seam >= 0 and not part.is_open:
                seam = len(out) + 1
            out.append(part)
        else:
            if not part.isspace():
                if seam >= 0:
                    out.insert(seam, _SEAM)
                    seam = -1
                has_text = True
            out.append(part)
    return out


def _has_break(inline: Inline) -> bool:
    for part in inline:  # noqa: SIM110 - any() with a generator costs three times as much
        if part is BREAK:
            return True
    return False


class _Line:
    """The parts so far; `_between` is owed before the next of them."""

    __slots__ = ("_between", "_is_header", "_lists", "_open", "_parts")

    def __init__(self, *, is_header: bool) -> None:
        self._is_header = is_header
        self._parts: list[str] = []
        self._between = ""
        self._open: list[BlockKind] = []
        self._lists: list[int] = []

    def write(self, blocks: Sequence[Block]) -> Inline:
        for block in blocks:
            if block.kind is BlockKind.CLOSE:
                self._close()
            elif block.kind >= BlockKind.OPEN_LIST:
                self._begin(block)
            elif block.kind is BlockKind.CODE:
                self._put((_CODE.partner, block.text, _CODE))
            elif block.kind is BlockKind.LINES:
                self._put((block.text,))
            elif block.inline:
                self._put(_in_one_line(block.inline, is_header=self._is_header))
            for row in block.rows:
                for cell in row:
                    self._put(cell.inline)
        return self._parts

    def _put(self, parts: Inline) -> None:
        if parts:
            if self._between:
                self._parts.append(self._between)
            self._parts += parts
            self._between = _SEAM

    def _begin(self, block: Block) -> None:
        self._open.append(block.kind)
        if block.kind is BlockKind.OPEN_LIST:
            self._lists.append(block.number)
        elif block.kind is BlockKind.OPEN_ITEM:
            marker = block.label or self._marker(block.number)
            self._between = f" {marker} " if self._parts else f"{marker} "

    def _marker(self, own_number: int) -> str:
        if not self._lists:
            return _BULLETS[0]
        number = own_number if own_number >= 0 <= self._lists[-1] else self._lists[-1]
        if number < 0:
            return _BULLETS[min(len(self._lists), len(_BULLETS)) - 1]
        self._lists[-1] = number + 1
        return f"{number}."

    def _close(self) -> None:
        kind = self._open.pop()
        if kind is BlockKind.OPEN_LIST:
            self._lists.pop()
        elif kind is BlockKind.OPEN_ITEM and self._between != _SEAM:
            self._between = _SEAM if self._parts else ""
