"""Blocks laid out as lines: containers as prefixes, leaves as a renderer writes them.

Markdown and plain text differ in how a leaf is written, not in where its lines stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from mudroom.extract.display import Block, BlockKind
from mudroom.extract.limits import limit_passed
from mudroom.model import Limit

__all__ = ["RenderLeaf", "lay_out", "lay_out_table"]

# Members bound once: a look-up on an enum costs as much as the comparison it serves.
_OPEN_LIST, _OPEN_ITEM, _CLOSE = BlockKind.OPEN_LIST, BlockKind.OPEN_ITEM, BlockKind.CLOSE
RenderLeaf = Callable[[Block], Sequence[str]]
"""The lines of one leaf; none where there is nothing to show. Lines hold no LF."""

_MAX_NESTING = 24  # deeper containers are flattened: each would indent every line below it
_MAX_LIST_NUMBER = 999_999_999  # CommonMark reads nine digits
_MAX_SPANNED = 64  # columns that spans may fill; a cell of text always has its own


def lay_out(blocks: Iterable[Block], render_leaf: RenderLeaf, max_chars: int) -> str:
    """The text of a display tree, without a final LF; empty for an empty tree.

    Raises ContentRefused EXTRACTION_LIMIT when it grows beyond `max_chars`.
    """
    layout = _Layout(render_leaf, max_chars)
    for block in blocks:
        layout.write(block)
    return "\n".join(layout.lines)


class _Spanning(Protocol):
    """A cell, as far as its place needs it."""

    @property
    def colspan(self) -> int: ...

    @property
    def rowspan(self) -> int: ...


_SomeCell = TypeVar("_SomeCell", bound=_Spanning)


def lay_out_table(rows: Sequence[Sequence[_SomeCell]]) -> list[list[_SomeCell | None]]:
    """Rows of equal meaning by column: spans filled with None, short rows padded while that stays small."""
    grid: list[list[_SomeCell | None]] = []
    carried: list[int] = []
    for row in rows:
        line: list[_SomeCell | None] = []
        for cell in row:
            _fill_carried(line, carried)
            width = max(1, min(cell.colspan, _MAX_SPANNED - len(line)))
            if cell.rowspan > 1 and len(line) < _MAX_SPANNED:
                carried.extend([0] * (len(line) + width - len(carried)))
                carried[len(line) : len(line) + width] = [cell.rowspan - 1] * width
            line.append(cell)
            line.extend([None] * (width - 1))
        _fill_carried(line, carried)
        grid.append(line)
    width = max(map(len, grid), default=0)
    for line in grid if width <= _MAX_SPANNED else grid[:1]:
        line.extend([None] * (width - len(line)))
    return grid


def _fill_carried(line: list[_SomeCell | None], carried: list[int]) -> None:
    """Empty cells where a cell from above reaches down, from where the row stands."""
    while len(line) < len(carried) and carried[len(line)] > 0:
        carried[len(line)] -= 1
        line.append(None)


class _Frame:
    """One open container: what to go back to when it closes, and how its items stand."""

    __slots__ = ("blocks", "is_item", "is_loose", "lead", "marker", "number", "prefix", "shown", "taken")

    def __init__(
        self, prefix: str, lead: str, marker: str = "", number: int = -1, *, is_item: bool = False
    ) -> None:
        self.prefix = prefix
        self.lead = lead
        self.is_item = is_item
        self.marker = marker
        self.number = number
        self.is_loose = False
        self.blocks = 0
        self.shown = -1
        """Of a list: the number that a renderer would show next. Of an item: the same, once it is written."""
        self.taken = ""
        """The marker of a numbered item."""


class _Layout:
    """Lines so far.

    `_lead` stands before the next line instead of the prefix, `_gap` is a blank line owed, `_label` the text
    before the next paragraph.
    """

    __slots__ = (
        "_after_list",
        "_frames",
        "_gap",
        "_label",
        "_lead",
        "_left",
        "_prefix",
        "_render_leaf",
        "lines",
    )

    def __init__(self, render_leaf: RenderLeaf, max_chars: int) -> None:
        self.lines: list[str] = []
        self._render_leaf = render_leaf
        self._left = max_chars
        self._prefix = ""
        self._lead = ""
        self._label = ""
        self._gap = False
        self._after_list = ""
        self._frames = [_Frame("", "")]

    def write(self, block: Block) -> None:
        kind = block.kind
        if kind < _OPEN_LIST:
            if lines := self._render_leaf(block):
                self._emit(self._labelled(kind, lines) if self._label else lines)
            return
        if kind is _CLOSE:
            self._close()
            return
        if self._label:
            self._emit(self._labelled(kind, ()))
        if kind is _OPEN_ITEM:
            self._open_item(block.number)
            self._label = block.label
        elif kind is _OPEN_LIST:
            self._open_list(block.number)
        else:
            self._open_quote()

    def _labelled(self, kind: BlockKind, lines: Sequence[str]) -> Sequence[str]:
        """Lines behind the label that is owed; what is no paragraph stands below it."""
        label, self._label = self._label, ""
        if kind is BlockKind.PARAGRAPH:
            return (f"{label} {lines[0]}", *lines[1:])
        if lines:
            self._emit((label,))
            return lines
        return (label,)

    def _emit(self, lines: Sequence[str]) -> None:
        out, prefix, frame = self.lines, self._prefix, self._frames[-1]
        if self._gap:
            bare = prefix.rstrip()
            out.append(bare)
            self._left -= len(bare) + 1
            if frame.blocks:
                frame.is_loose = True
        first = (self._lead or prefix) + lines[0]
        out.append(first)
        self._left -= len(first) + 1
        if len(lines) > 1:
            bare = prefix.rstrip()
            others = [prefix + line if line else bare for line in lines[1:]] if prefix else lines[1:]
            out += others
            self._left -= sum(map(len, others)) + len(others)
        self._lead = ""
        self._gap = True
        self._after_list = ""
        frame.blocks += 1
        if self._left < 0:
            raise limit_passed(Limit.OUTPUT)

    def _open_list(self, number: int) -> None:
        frame = self._frames[-1]
        if not self._lead and frame.is_item and frame.blocks == 1 and number in {-1, 1}:
            self._gap = False
        marker, other = ("-", "*") if number < 0 else (".", ")")
        marker = other if self._after_list == marker else marker
        self._frames.append(_Frame(self._prefix, self._lead, marker, number))

    def _open_item(self, own_number: int) -> None:
        parent = self._frames[-1]
        frame = _Frame(self._prefix, self._lead, is_item=True)
        self._frames.append(frame)
        if len(self._frames) > _MAX_NESTING:
            return
        is_apart = False
        if parent.number < 0:
            bullet = f"{parent.marker or '-'} "
        else:
            frame.taken = parent.marker
            number = min(own_number if own_number >= 0 else parent.number, _MAX_LIST_NUMBER)
            if parent.blocks and number != parent.shown:
                is_apart = True  # a renderer would count on: another list begins
                frame.taken = ")" if parent.marker == "." else "."
            elif not parent.blocks and number != 1 and self._frames[-3].blocks and not self._lead:
                self._gap = True  # only a list from one on may interrupt a paragraph
            parent.number = frame.shown = number + 1
            bullet = f"{number}{frame.taken} "
        if parent.blocks:
            self._gap = parent.is_loose or is_apart
        self._lead = (self._lead or self._prefix) + bullet
        self._prefix += " " * len(bullet)

    def _open_quote(self) -> None:
        self._frames.append(_Frame(self._prefix, self._lead))
        if len(self._frames) > _MAX_NESTING:
            return
        if self._gap:
            self.lines.append(self._prefix.rstrip())
            self._gap = False
        self._lead = f"{self._lead or self._prefix}> "
        self._prefix += "> "

    def _close(self) -> None:
        frame = self._frames.pop()
        parent = self._frames[-1]
        if self._lead:
            self._lead = frame.lead  # nothing stood in it, so nothing is shown of it
            self._label = ""
        else:
            parent.blocks += 1
            if frame.taken:
                parent.marker, parent.shown = frame.taken, frame.shown
        self._prefix = frame.prefix
        self._gap = bool(self.lines)
        self._after_list = frame.marker
        if frame.is_item:
            parent.is_loose = parent.is_loose or frame.is_loose
