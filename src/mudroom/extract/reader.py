"""A tree read twice in one walk: what a person sees goes to the display, every string to the collector.

The walk is a loop over iterators, so depth costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mudroom.extract.attributes import HIDING_ATTRIBUTES, AttributeReader
from mudroom.extract.blocks import BlockGatherer, Closer
from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.display import Edge, Mark, end_of
from mudroom.extract.limits import ExtractLimits, limit_passed
from mudroom.extract.links import LinkCollector
from mudroom.extract.security import SecurityCollector
from mudroom.extract.tags import BORING_ATTRIBUTES
from mudroom.extract.tree import DocumentFragment, Element, Node, Text
from mudroom.model import Channel, Hiding, Limit

__all__ = ["Action", "Handler", "Handlers", "TreeReader", "skip"]

_CODE = end_of(Mark.CODE)
Handler = Callable[["TreeReader", Element], "Closer | Edge | None"]
"""What is done at an element. It returns what to do at its end, the end of a mark around its content, None where
there is neither, or `skip` to pass over it."""
Action = Handler | Edge
"""A handler, or the end of the mark that an element is without further ado."""


def skip() -> None:
    """The answer of a handler that dealt with an element's content itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Actions by tag: in visible text, in verbatim text, in hidden text; and for nodes that are no elements."""

    visible: dict[str, Action]
    verbatim: dict[str, Action]
    hidden: dict[str, Action]
    other: Callable[[TreeReader, Node, Element | None], None]
    long_code: Handler
    """What is done at inline code that holds more than one string."""
    in_lines: Callable[[Element], Handler | None]
    """What is done instead at an element with a style of its own, where that keeps lines."""


class TreeReader(BlockGatherer):
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
        super().__init__(display, security, links)
        self.embedded_left = limits.max_embedded_depth
        self.limits = limits
        self.title: str | None = None
        self._attributes = attributes
        self._handlers = handlers
        self._table = handlers.visible
        self._shown_table = handlers.visible
        self._has_verdicts = attributes.has_verdicts

    def read(self, root: Node) -> None:  # noqa: C901, PLR0912, PLR0915 - the hot loop: a call for each node would double its cost
        """Read everything below a node. Raises ContentRefused EXTRACTION_LIMIT."""
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
                    attrs = node.attrs
                    telling = None
                    if attrs and (len(attrs) > 1 or "class" not in attrs):
                        telling = [name for name in attrs if name not in BORING_ATTRIBUTES]
                    if telling or self._has_verdicts:
                        inner = self._enter(node, telling or [])
                    else:
                        action = self._table.get(node.tag)
                        inner = action if action is None or type(action) is Edge else action(self, node)
                    if inner is skip:
                        continue
                    children = node.children
                    first = children[0] if len(children) == 1 else None
                    source = node
                    if type(first) is Element and first.tag == "span":
                        source, first = self._within_span(node, first)
                    if type(first) is Text:
                        # Most elements hold one string: the loop below would cost twice as much.
                        run = self._run
                        if run.element is None:
                            run.element = source
                        if type(inner) is Edge:
                            run.parts += (inner.partner, first.data, inner)
                            continue
                        run.parts.append(first.data)
                    elif children:
                        stack.append((nodes, closer, element))
                        nodes, element = iter(children), node
                        if type(inner) is not Edge:
                            closer = inner
                        elif inner is _CODE:
                            closer = self._begin_long(node)
                        else:
                            closer = self.begin_mark(inner)
                        break
                    elif type(inner) is Edge:
                        self._run.parts += (inner.partner, inner)
                        continue
                    if inner is not None:
                        inner()
                elif type(node) is DocumentFragment:
                    stack.append((nodes, closer, element))
                    nodes, closer = iter(node), None
                    break
                else:
                    self._handlers.other(self, node, element)
            else:
                if closer:
                    closer()
                if not stack:
                    break
                nodes, closer, element = stack.pop()
            if len(stack) >= max_depth or left < 0:
                raise limit_passed(Limit.NODES if left < 0 else Limit.DEPTH)
        self.flush()

    def _begin_long(self, element: Element) -> Closer | None:
        """Begin code that holds more than one string: it may be lines."""
        begun = self._handlers.long_code(self, element)
        return self.begin_mark(begun) if type(begun) is Edge else begun

    def _within_span(self, node: Element, span: Element) -> tuple[Element, Node]:
        """The string in a span that says nothing itself, and where it stands; else the two as given."""
        if len(span) == 1 and not self._has_verdicts and BORING_ATTRIBUTES.issuperset(span.attrs):
            content = span[0]
            if type(content) is Text:
                return span, content
        return node, span

    def _enter(self, element: Element, telling: list[str]) -> Closer | Edge | None:
        """Enter an element whose attributes may hold words or hide it."""
        hiding = self.hiding
        if len(element.attrs) > self.limits.max_attributes:
            raise limit_passed(Limit.ATTRIBUTES)
        if self._has_verdicts or not HIDING_ATTRIBUTES.isdisjoint(telling):
            hiding = self._attributes.verdict(element, hiding)
        if telling:
            self._attributes.collect(element, telling, hiding)
        if hiding is not self.hiding:
            return self._enter_changed(element, hiding)
        if "style" in telling and self._table is self._handlers.visible:
            handler = self._handlers.in_lines(element)
            if handler is not None:
                return handler(self, element)
        return self._enter_known(element)

    def _enter_known(self, element: Element) -> Closer | Edge | None:
        """Enter an element whose attributes were read."""
        action = self._table.get(element.tag)
        return action if action is None or type(action) is Edge else action(self, element)

    def _enter_changed(self, element: Element, hiding: Hiding) -> Closer | None:
        """Enter an element whose content is hidden otherwise than its surroundings, or not hidden any more."""
        leave = self.begin_hiding(hiding)
        inner = self._enter_known(element)
        if inner is skip:
            leave()
            return skip
        if type(inner) is Edge:
            inner = self.begin_mark(inner)
        if inner is None:
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
