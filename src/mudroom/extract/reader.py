"""A tree read twice in one walk: what a person sees goes to the display, every string to the collector.

The walk is a loop over iterators, so depth costs nothing. Text runs of a block are joined before they are kept:
a phrase is not split by the tags within it. Hidden text has a run of its own, and blocks inside hidden elements
leave the visible run alone, as they do on a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum, unique

from mudroom.extract.attributes import AttributeReader
from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.display import Block, BlockKind, Edge, Mark
from mudroom.extract.limits import ExtractLimits, limit_passed
from mudroom.extract.links import LinkCollector
from mudroom.extract.security import SecurityCollector
from mudroom.extract.tables import CapturedTable
from mudroom.extract.tags import BORING_ATTRIBUTES
from mudroom.extract.tree import DocumentFragment, Element, Node, Text
from mudroom.model import Channel, Hiding

__all__ = ["Closer", "Container", "Handler", "Handlers", "TreeReader", "skip"]

Closer = Callable[[], None]
Handler = Callable[["TreeReader", Element], Closer | None]
"""What is done at an element: it returns what to do at its end, None where nothing is, `skip` to pass over it."""

_MAX_MARKS = 16  # marks in marks; each is written again in every block below
_UNCOUNTED = frozenset({Hiding.NONE, Hiding.NOT_RENDERED, Hiding.CLOSED_DETAILS})


def skip() -> None:
    """The answer of a handler that dealt with an element's content itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Handlers by tag: in visible text, in verbatim text, in hidden text; and for nodes that are no elements."""

    visible: dict[str, Handler]
    verbatim: dict[str, Handler]
    hidden: dict[str, Handler]
    other: Callable[[TreeReader, Node, Element | None], None]


@unique
class Container(IntEnum):
    """What blocks stand in. A list item lingers behind its end: what follows in the list belongs to it."""

    LIST = 1
    ITEM = 2
    LINGERING_ITEM = 3
    QUOTE = 4
    CELL = 5


class _Run:
    """Inline content gathered since the last edge of a block."""

    __slots__ = ("element", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.element: Element | None = None
        """Where its first text stood, for the line."""


class TreeReader:
    """The state of one walk. Handlers change it through its methods; nothing else does."""

    def __init__(
        self,
        handlers: Handlers,
        display: DisplayBuilder,
        security: SecurityCollector,
        links: LinkCollector,
        attributes: AttributeReader,
        limits: ExtractLimits,
    ) -> None:
        self.display = display
        self.security = security
        self.links = links
        self.embedded_left = limits.max_embedded_depth
        self.limits = limits
        self.hiding = Hiding.NONE
        self.shown_as = Hiding.NONE
        """How text that is displayed is marked for the scanner: inside closed details it is not seen at once."""
        self.channel = Channel.TEXT
        self.heading = 0
        self.tables: list[CapturedTable] = []
        self.marks: list[Edge] = []
        self.containers: list[Container] = []
        self.title: str | None = None
        self._attributes = attributes
        self._handlers = handlers
        self._table = handlers.visible
        self._shown_table = handlers.visible
        self._visible = _Run()
        self._hidden = _Run()
        self._run = self._visible
        self._has_verdicts = attributes.has_verdicts

    # The walk.

    def read(self, root: Node) -> None:  # noqa: C901, PLR0912 - the hot loop: a call for each node would double its cost
        """Read everything below a node. Raises ContentRefused EXTRACTION_LIMIT."""
        enter, other = self._enter, self._handlers.other
        max_depth, left = self.limits.max_depth, self.limits.max_nodes
        stack: list[tuple[Iterator[Node], Closer | None, Element | None]] = []
        nodes: Iterator[Node] = iter(root)
        closer: Closer | None = None
        element: Element | None = None
        while True:
            for node in nodes:
                if type(node) is Text:
                    run, data = self._run, node.data
                    if run.element is None:
                        if data.isspace() and not run.parts:
                            continue
                        run.element = element
                    run.parts.append(data)
                elif type(node) is Element:
                    left -= 1
                    inner = enter(node)
                    if inner is skip:
                        continue
                    children = node.children
                    if len(children) == 1 and type(child := children[0]) is Text:
                        # Most elements hold one string: the loop below would cost twice as much.
                        run = self._run
                        run.element = run.element or node
                        run.parts.append(child.data)
                    elif children:
                        stack.append((nodes, closer, element))
                        nodes, closer, element = iter(children), inner, node
                        break
                    if inner:
                        inner()
                elif type(node) is DocumentFragment:
                    stack.append((nodes, closer, element))
                    nodes, closer = iter(node), None
                    break
                else:
                    other(self, node, element)
            else:
                if closer:
                    closer()
                if not stack:
                    break
                nodes, closer, element = stack.pop()
            if len(stack) >= max_depth or left < 0:
                raise limit_passed("it has too many elements, or nests them too deep")
        self.flush()

    def _enter(self, element: Element) -> Closer | None:
        attrs = element.attrs
        if attrs:
            for name in attrs:
                if name not in BORING_ATTRIBUTES:
                    hiding = self._read_attributes(element, [*attrs])
                    break
            else:
                hiding = self._attributes.verdict(element, self.hiding) if self._has_verdicts else self.hiding
            if hiding is not self.hiding:
                return self._enter_changed(element, hiding)
        handler = self._table.get(element.tag)
        return handler(self, element) if handler else None

    def _read_attributes(self, element: Element, names: list[str]) -> Hiding:
        if len(names) > self.limits.max_attributes:
            raise limit_passed("an element has too many attributes")
        hiding = self._attributes.verdict(element, self.hiding)
        self._attributes.collect(element, [name for name in names if name not in BORING_ATTRIBUTES], hiding)
        return hiding

    def _enter_changed(self, element: Element, hiding: Hiding) -> Closer | None:
        """Enter an element whose content is hidden otherwise than its surroundings, or not hidden any more."""
        leave = self.begin_hiding(hiding)
        handler = self._table.get(element.tag)
        inner = handler(self, element) if handler else None
        if inner is skip or inner is None:
            if inner is skip:
                leave()
                return skip
            return leave

        def leave_both() -> None:
            inner()
            leave()

        return leave_both

    def begin_hiding(self, hiding: Hiding, channel: Channel | None = None) -> Closer:
        """From here on text is hidden so (or visible, for NONE); what is returned goes back."""
        before = (self.hiding, self.channel, self._run, self._table)
        self._flush_hidden()
        self.hiding = hiding
        self.channel = channel or self.channel
        self._run = self._hidden if hiding else self._visible
        self._table = self._handlers.hidden if hiding else self._shown_table

        def leave() -> None:
            self._flush_hidden()
            self.hiding, self.channel, self._run, self._table = before

        return leave

    def can_take_whole(self) -> bool:
        """Whether no style sheet hides anything, so that a subtree without attributes of its own is all visible."""
        return not self._has_verdicts

    def begin_verbatim(self) -> Closer:
        """From here on, visible text is verbatim: blocks become lines. What is returned goes back."""
        before = (self._table, self._shown_table)
        self._table = self._shown_table = self._handlers.verbatim

        def leave() -> None:
            self._table, self._shown_table = before

        return leave

    # Inline content.

    def put_edge(self, edge: Edge) -> None:
        """The edge of a mark, in visible text."""
        self._run.parts.append(edge)

    def begin_mark(self, edge: Edge) -> Closer | None:
        """Begin a mark that lasts until the end of its element, across blocks if need be."""
        if len(self.marks) >= _MAX_MARKS:
            return None
        self.marks.append(edge)
        self._run.parts.append(edge)
        return self._end_mark

    def _end_mark(self) -> None:
        self._run.parts.append(self.marks.pop().partner)

    def put(self, text: str, element: Element | None) -> None:
        """A string that stands in the text itself, visible or hidden."""
        if self._run.element is None:
            self._run.element = element
        self._run.parts.append(text)

    def last_text(self) -> str:
        """The string that the run ends with."""
        last = self._run.parts[-1] if self._run.parts else ""
        return last if type(last) is str else ""

    def is_behind_link(self) -> bool:
        """Whether a link has just ended, with nothing behind it."""
        last = self._run.parts[-1] if self._run.parts else None
        return isinstance(last, Edge) and last.mark is Mark.LINK and not last.is_open

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
        run = self._visible
        if not run.parts:
            return
        raw = self._take_raw(run)
        parts, run.parts = run.parts, list(self.marks)
        if raw is None:
            return
        if self.marks:
            parts += [edge.partner for edge in reversed(self.marks)]
        inline = self.display.inline(parts, raw)
        self.ensure_item()
        if self.heading:
            self.display.heading(self.heading, inline)
        else:
            self.display.paragraph(inline)

    def flush_code(self, language: str) -> None:
        """The run so far becomes verbatim text."""
        run = self._visible
        text = "".join([part for part in run.parts if type(part) is str])
        if text.strip():
            line = (run.element.source_line if run.element else 0) or 0
            self.security.add(Channel.CODE, self.shown_as, line, text)
            self.ensure_item()
            self.display.code(text.removeprefix("\n").rstrip(), language)
        run.parts, run.element = list(self.marks), None

    def _take_raw(self, run: _Run) -> str | None:
        """The text of a run, kept for the scanner; None where there is none."""
        parts = run.parts
        element, run.element = run.element, None
        raw = parts[0] if len(parts) == 1 else "".join([part for part in parts if type(part) is str])
        if type(raw) is not str or not raw or raw.isspace():
            return None
        self.security.add(self.channel, self.shown_as, (element.source_line if element else 0) or 0, raw)
        return raw

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

    def open_list(self, number: int) -> None:
        """Begin a list: -1 for bullets, else its first number."""
        self.flush()
        self.display.open(BlockKind.OPEN_LIST, number)
        self.containers.append(Container.LIST)

    def close_list(self) -> None:
        """End the list, and the item that lingers in it."""
        self.flush()
        self._close_lingering()
        self.containers.pop()
        self.display.close()

    def open_item(self, number: int = -1) -> None:
        """Begin an item of the innermost list."""
        self.flush()
        self._close_lingering()
        self.display.open(BlockKind.OPEN_ITEM, number)
        self.containers.append(Container.ITEM)

    def close_item(self) -> None:
        """End an item; it lingers, for what stands in a list between items."""
        self.flush()
        self.containers[-1] = Container.LINGERING_ITEM

    def resume_item(self) -> None:
        """Go on in the item that ended last, or begin one."""
        self.flush()
        if self.containers and self.containers[-1] is Container.LINGERING_ITEM:
            self.containers[-1] = Container.ITEM
        else:
            self.open_item()

    def is_in_list(self) -> bool:
        """Whether an item may stand here."""
        return bool(self.containers) and self.containers[-1] in {Container.LIST, Container.LINGERING_ITEM}

    def open_quote(self) -> None:
        """Begin a quotation."""
        self.flush()
        self.ensure_item()
        self.display.open(BlockKind.OPEN_QUOTE)
        self.containers.append(Container.QUOTE)

    def close_quote(self) -> None:
        """End it."""
        self.flush()
        self.containers.pop()
        self.display.close()

    def begin_cell(self) -> None:
        """Collect the blocks of one cell apart."""
        self.flush()
        self.containers.append(Container.CELL)
        self.display.divert()

    def end_cell(self) -> list[Block]:
        """The blocks of the cell."""
        self.flush()
        self.containers.pop()
        return self.display.restore()

    def ensure_item(self) -> None:
        """Text that stands in a list outside any item gets one."""
        if self.containers and self.containers[-1] is Container.LIST:
            self.display.open(BlockKind.OPEN_ITEM)
            self.containers.append(Container.LINGERING_ITEM)

    def _close_lingering(self) -> None:
        if self.containers and self.containers[-1] is Container.LINGERING_ITEM:
            self.containers.pop()
            self.display.close()
