"""Blocks as they are gathered: runs of inline content between edges of blocks, and the containers they stand in.

Text runs of a block are joined before they are kept: a phrase is not split by the tags within it. Hidden text
has a run of its own, and blocks inside hidden elements leave the visible run alone, as they do on a screen.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, unique

from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.display import Block, BlockKind, Edge, Mark, end_of
from mudroom.extract.lines import break_lines, lines_of_code
from mudroom.extract.links import LinkCollector
from mudroom.extract.numbering import Numbering
from mudroom.extract.raised import raise_scripts
from mudroom.extract.security import SecurityCollector
from mudroom.extract.tables import CapturedTable
from mudroom.extract.tree import Element
from mudroom.model import Channel, Hiding

__all__ = ["BlockGatherer", "Closer", "Container", "Run"]

Closer = Callable[[], None]
"""What is done at the end of an element."""

_MAX_MARKS = 16  # marks in marks; each is written again in every block below
_FEW = 16  # edges that are looked past for the text before them
_UNCOUNTED = frozenset({Hiding.NONE, Hiding.NOT_RENDERED, Hiding.CLOSED_DETAILS})


@unique
class Container(IntEnum):
    """What blocks stand in. A list item lingers behind its end: what follows in the list belongs to it."""

    LIST = 1
    ITEM = 2
    LINGERING_ITEM = 3
    QUOTE = 4
    CELL = 5


# Members bound once: a look-up on an enum costs as much as what it is looked up for.
_LIST, _ITEM, _LINGERING = Container.LIST, Container.ITEM, Container.LINGERING_ITEM
_QUOTE, _CELL = Container.QUOTE, Container.CELL
_HOLDS_ITEMS = frozenset({_LIST, _LINGERING})
_CODE, _LINK = Mark.CODE, Mark.LINK
_STRONG = end_of(Mark.STRONG)
_OPEN_ITEM, _OPEN_LIST = BlockKind.OPEN_ITEM, BlockKind.OPEN_LIST


def _is_text(part: str) -> bool:
    return type(part) is str


class Run:
    """Inline content gathered since the last edge of a block."""

    __slots__ = ("element", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.element: Element | None = None
        """Where its first text stood, for the line."""


class BlockGatherer:
    """Runs that become blocks, or strings where they are hidden."""

    def __init__(self, display: DisplayBuilder, security: SecurityCollector, links: LinkCollector) -> None:
        self.display = display
        self.security = security
        self.links = links
        self.hiding = Hiding.NONE
        self.shown_as = Hiding.NONE
        """How text that is displayed is marked for the scanner: inside closed details it is not seen at once."""
        self.channel = Channel.TEXT
        self.heading = 0
        self.has_scripts = False
        """Whether superscript or subscript stands in the run."""
        self.keeps_lines = False
        """Whether text stands in lines as it is written."""
        self.is_title_next = False
        """Whether the next block is the title of a note, which is no heading of the page."""
        self.is_term_next = False
        """Whether the term that has just ended is followed by another one."""
        self.is_label_open = False
        """Whether the run is the number of a footnote, whose text belongs behind it."""
        self.tables: list[CapturedTable] = []
        self.marks: list[Edge] = []
        """The ends of the marks that last."""
        self.containers: list[Container] = []
        self.numberings: list[Numbering | None] = []
        """Of the lists that are open; None where they have bullets."""
        self._visible = Run()
        self._hidden = Run()
        self._run = self._visible

    # Inline content.

    def put_edge(self, edge: Edge) -> None:
        """The edge of a mark, in visible text."""
        self._run.parts.append(edge)

    def begin_mark(self, end: Edge) -> Closer | None:
        """Begin a mark that lasts until the end of its element, across blocks if need be."""
        if len(self.marks) >= _MAX_MARKS:
            return None
        self.marks.append(end)
        self._run.parts.append(end.partner)
        return self._end_mark

    def _end_mark(self) -> None:
        self._run.parts.append(self.marks.pop())

    def put(self, text: str, element: Element | None) -> None:
        """A string that stands in the text itself, visible or hidden."""
        if self._run.element is None:
            self._run.element = element
        self._run.parts.append(text)

    def last_text(self) -> str:
        """The string that the run ends with, edges aside."""
        for part in self._run.parts[:-_FEW:-1]:
            if type(part) is str and part:
                return part
        return ""

    def watch_blanks(self) -> Closer:
        """From here on blank strings of the source mean nothing; what is returned leaves them out."""
        parts = self._run.parts
        start = len(parts)

        def drop() -> None:
            if self._run.parts is parts:
                parts[start:] = [part for part in parts[start:] if part.strip(" \t\n\r\f")]

        return drop

    def is_behind_link(self) -> bool:
        """Whether a link has just ended, with nothing behind it."""
        last = self._run.parts[-1] if self._run.parts else None
        return type(last) is Edge and last.mark is _LINK and not last.is_open

    def is_in_link_or_code(self) -> bool:
        """Whether a link or code lasts."""
        return any(mark.mark is _LINK or mark.mark is _CODE for mark in self.marks)

    def text_so_far(self) -> str:
        """The text of the run."""
        return "".join(filter(_is_text, self._run.parts))

    def last_part(self) -> str | None:
        """What the visible run ends with, blank strings aside."""
        for part in reversed(self._visible.parts):
            if not part.isspace():
                return part
        return None

    def flush(self) -> None:
        """The edge of a block: the run so far becomes a block, or a piece where text is hidden."""
        if self.hiding:
            self._flush_hidden()
            return
        run, marks = self._visible, self.marks
        parts = run.parts
        if not parts:
            return
        element, run.element = run.element, None
        run.parts = [mark.partner for mark in marks]
        texts = [part for part in parts if type(part) is str]
        raw = "".join(texts)
        if not raw or raw.isspace():
            return
        self.security.add(self.channel, self.shown_as, (element.source_line if element else 0) or 0, raw)
        if marks:
            parts += reversed(marks)
        if self.keeps_lines:
            parts = break_lines(parts)
        if self.has_scripts:
            parts = raise_scripts(parts)
            self.has_scripts = bool(marks)
        if self.containers and self.containers[-1] is _LIST:
            self.ensure_item()
        if self.is_title_next:
            self.is_title_next = False
            self.display.inline([_STRONG.partner, *parts, _STRONG], raw)
        else:
            self.display.inline(parts, raw, self.heading)

    def flush_code(self, language: str, *, is_collapsed: bool = False) -> None:
        """The run so far becomes verbatim text; `is_collapsed`: only breaks end its lines."""
        run = self._visible
        text = "".join([part for part in run.parts if type(part) is str])
        if text.strip():
            line = (run.element.source_line if run.element else 0) or 0
            self.security.add(Channel.CODE, self.shown_as, line, text)
            self.ensure_item()
            parts = raise_scripts(run.parts) if self.has_scripts else run.parts
            code = lines_of_code(parts) if is_collapsed else "".join(filter(_is_text, parts))
            self.display.code(code.replace("\xa0", " ").removeprefix("\n").rstrip(), language)
        run.parts, run.element = [mark.partner for mark in self.marks], None

    def _flush_hidden(self) -> None:
        run = self._hidden
        if not run.parts:
            return
        raw = "".join([part for part in run.parts if type(part) is str])
        line = (run.element.source_line if run.element else 0) or 0
        run.parts, run.element = [], None
        if self.hiding not in _UNCOUNTED:
            self.security.hidden_chars += len(raw.strip())
        self.security.add(self.channel, self.hiding, line, raw)

    # Containers.

    def open_list(self, number: int, numbering: Numbering | None = None) -> None:
        """Begin a list: -1 for bullets, else its first number."""
        self.flush()
        self.numberings.append(numbering)
        self.display.open(_OPEN_LIST, number)
        self.containers.append(_LIST)

    def close_list(self) -> None:
        """End the list, and the item that lingers in it."""
        self.flush()
        self._close_lingering()
        self.numberings.pop()
        self.containers.pop()
        self.display.close()

    def open_item(self, number: int = -1, label: str = "") -> None:
        """Begin an item of the innermost list; the label is written before its text."""
        self.flush()
        containers = self.containers
        if containers and containers[-1] is _LINGERING:
            containers[-1] = _ITEM
            self.display.close()
        else:
            containers.append(_ITEM)
        self.display.open(_OPEN_ITEM, number, label)

    def close_item(self) -> None:
        """End an item; it lingers, for what stands in a list between items."""
        self.flush()
        self.containers[-1] = _LINGERING

    def linger(self) -> None:
        """End an item whose last words go on in what follows."""
        self.containers[-1] = _LINGERING

    def go_on_in_item(self) -> bool:
        """Go on in the item that lingers, behind its last words; whether there is one."""
        if self.containers[-1] is not _LINGERING:
            return False
        self.containers[-1] = _ITEM
        return True

    def resume_item(self) -> None:
        """Go on in the item that ended last, or begin one."""
        self.flush()
        if self.containers and self.containers[-1] is _LINGERING:
            self.containers[-1] = _ITEM
        else:
            self.open_item()

    def is_in_list(self) -> bool:
        """Whether an item may stand here."""
        return bool(self.containers) and self.containers[-1] in _HOLDS_ITEMS

    def open_quote(self) -> None:
        """Begin a quotation."""
        self.flush()
        self.ensure_item()
        self.display.open(BlockKind.OPEN_QUOTE)
        self.containers.append(_QUOTE)

    def close_quote(self) -> None:
        """End it."""
        self.flush()
        self.containers.pop()
        self.display.close()

    def begin_cell(self) -> None:
        """Collect the blocks of one cell apart."""
        self.flush()
        self.containers.append(_CELL)
        self.display.divert()

    def end_cell(self) -> list[Block]:
        """The blocks of the cell."""
        self.flush()
        self.containers.pop()
        return self.display.restore()

    def ensure_item(self) -> None:
        """Text that stands in a list outside any item gets one."""
        if self.containers and self.containers[-1] is _LIST:
            self.display.open(BlockKind.OPEN_ITEM)
            self.containers.append(_LINGERING)

    def _close_lingering(self) -> None:
        if self.containers and self.containers[-1] is _LINGERING:
            self.containers.pop()
            self.display.close()
