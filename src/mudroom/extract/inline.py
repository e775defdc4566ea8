"""Inline text rendered: to Markdown, where marks become delimiters, and to plain text, where they vanish."""

from __future__ import annotations

import re
from functools import lru_cache

from mudroom.extract.display import BREAK, CLOSES, OPENS, Edge, Inline, Mark
from mudroom.extract.escape import code_span, escape_line_start, escape_text, needs_escape

__all__ = ["inline_markdown", "inline_text"]

_EDGE = OPENS
_BLANK_BEHIND_BEGINS = re.compile(f"({OPENS}+) ")
_BLANK_BEFORE_ENDS = re.compile(f" ({CLOSES}+)")
_BEGINS_BLANK, _ENDS_BLANK, _IS_EMPTY, _TOUCHES = f"{OPENS} ", f" {CLOSES}", OPENS + CLOSES, CLOSES + OPENS
_PLAIN_PATTERN = re.compile(r"(?:Cc|Ee|Ss|L(?:Cc|Ee|Ss)*l)*+")
_MAX_PATTERN = 200  # edges; patterns are remembered, so they must be short
# Members bound once: a look-up on an enum costs as much as the comparison it serves.
_CODE, _LINK, _BREAK = Mark.CODE, Mark.LINK, Mark.BREAK
_ONLY_LINKS = {_LINK}
_DELIMITED = frozenset({Mark.STRONG, Mark.EMPHASIS, Mark.STRIKE})


def inline_markdown(inline: Inline, *, is_line: bool = False, in_table: bool = False) -> str:
    """Inline text as Markdown that stays within its block.

    `is_line`: the block holds one line only (a heading, a cell), so breaks become spaces.
    """
    if len(inline) == 1 and type(inline[0]) is str:
        text = escape_text(" ".join(inline[0].split()))
    else:
        plain = _render_plainly(inline)
        text = _MarkdownRun(is_line=is_line or in_table).render(inline) if plain is None else plain
    if in_table:
        return text.replace("|", "\\|") if "|" in text else text
    if "\n" in text:
        return "\n".join([escape_line_start(line) for line in text.split("\n")])
    return escape_line_start(text)


def _render_plainly(inline: Inline) -> str | None:
    """Inline text whose marks stand as Markdown wants them, which most do; None for the few others."""
    joined = " ".join("".join(inline).split())
    if _BEGINS_BLANK in joined or _ENDS_BLANK in joined:
        if needs_escape(joined):
            return None
        joined = " ".join(_BLANK_BEFORE_ENDS.sub(r"\1 ", _BLANK_BEHIND_BEGINS.sub(r" \1", joined)).split())
    if _IS_EMPTY in joined or _TOUCHES in joined:
        return None
    edges = [part for part in inline if type(part) is Edge]
    pattern = "".join([edge.sign for edge in edges])
    if len(pattern) > _MAX_PATTERN or not _is_plain(pattern):
        return None
    segments = joined.replace(CLOSES, OPENS).split(OPENS)
    if ("E" in pattern or "S" in pattern) and not _marks_stand(pattern, segments):
        return None
    if needs_escape(joined):
        if "`" in joined:
            return None
        segments = [
            segment if sign == "C" else escape_text(segment)
            for sign, segment in zip(f"-{pattern}", segments, strict=True)
        ]
    whole = [""] * (len(segments) + len(edges))
    whole[::2] = segments
    whole[1::2] = [edge.markdown for edge in edges]
    return "".join(whole)


def _marks_stand(pattern: str, segments: list[str]) -> bool:
    """Whether emphasis around a segment of text is read as emphasis; no for what takes a closer look."""
    for index, sign in enumerate(pattern, 1):
        if sign in "ES":
            text, before, after = segments[index], segments[index - 1], segments[index + 1]
            if not text[0].isalnum() and (before[-1:].isalnum() or (not before and index > 1)):
                return False
            if not text[-1].isalnum() and (after[:1].isalnum() or (not after and index < len(pattern) - 1)):
                return False
    return True


@lru_cache(maxsize=1024)
def _is_plain(pattern: str) -> bool:
    return _PLAIN_PATTERN.fullmatch(pattern) is not None


def inline_text(inline: Inline, *, is_line: bool = False) -> str:
    """Inline text as a person reads it, without marks."""
    out: list[str] = []
    for part in inline:
        if type(part) is str:
            out.append(part)
        elif type(part) is Edge and part.mark is _BREAK:
            out.append(" " if is_line else _EDGE)
    lines = (" ".join(line.split()) for line in "".join(out).split(_EDGE))
    return "\n".join(lines).strip()


class _Code(str):
    """A piece of inline code among finished text; pieces that touch become one span."""

    __slots__ = ()


class _MarkdownRun:
    """One run of marked text on its way to Markdown.

    Delimiters stay Edge values in `_out` until the end: whether one may stand depends on what follows it.
    Spaces move out of marks, empty marks vanish, marks that Markdown could not close in their place are
    dropped; text never is.
    """

    __slots__ = ("_code", "_code_depth", "_depth", "_is_line", "_out", "_owes_space", "_pending", "_touches")

    def __init__(self, *, is_line: bool) -> None:
        self._is_line = is_line
        self._out: list[str] = []
        self._pending: list[Edge] = []
        self._depth: dict[Mark, int] = {}
        self._code: list[str] | None = None
        self._code_depth = 0
        self._owes_space = False
        self._touches = False

    def render(self, inline: Inline) -> str:
        edges = [part for part in inline if type(part) is Edge]
        joined = " ".join("".join([part if type(part) is str else _EDGE for part in inline]).split())
        is_escaped = all(edge.mark is not _CODE for edge in edges)
        segments = (escape_text(joined) if is_escaped else joined).split(_EDGE)
        if segments[0]:
            self._put(segments[0] if is_escaped else escape_text(segments[0]))
        for edge, segment in zip(edges, segments[1:], strict=True):
            self._edge(edge)
            if segment:
                if self._code is not None:
                    self._code.append(segment)
                else:
                    self._put(segment if is_escaped else escape_text(segment))
        return self._assemble()

    def _put(self, text: str) -> None:
        """Finished text, behind the space it owes and the marks that begin with it."""
        out = self._out
        if text[0] == " ":
            self._owes_space = True
            text = text[1:]
            if not text:
                return
        if self._owes_space:
            self._owes_space = False
            if out and not _ends_blank(out[-1]):
                out.append(" ")
        if self._pending:
            self._begin_pending()
        if text[-1] == " ":
            text = text[:-1]
            self._owes_space = True
        out.append(text)

    def _begin_pending(self) -> None:
        out = self._out
        for edge in self._pending:
            last = out[-1] if out else None
            if edge.mark is _LINK:
                out.append("[")
            elif type(last) is Edge and last.mark is edge.mark and not last.is_open:
                out.pop()
            else:
                out.append(edge)
        self._pending.clear()

    def _edge(self, edge: Edge) -> None:
        mark = edge.mark
        if mark is _CODE:
            self._edge_of_code(edge)
        elif mark is _LINK:
            self._flush_code(keep=True)
            self._outermost(edge)
        elif mark is _BREAK:
            self._break()
        elif self._code is not None:
            return
        elif mark in _DELIMITED:
            self._outermost(edge)

    def _edge_of_code(self, edge: Edge) -> None:
        """Code in code is the same code."""
        if edge.is_open:
            self._code_depth += 1
            if self._code_depth == 1:
                self._code = []
        elif self._code_depth:
            self._code_depth -= 1
            if not self._code_depth:
                self._flush_code()

    def _break(self) -> None:
        self._flush_code(keep=True)
        if self._is_line:
            self._owes_space = True
        elif self._out:
            self._owes_space = False
            self._out.append(BREAK)

    def _outermost(self, edge: Edge) -> None:
        """A mark inside itself changes nothing: only the outermost edges count."""
        mark = edge.mark
        depth = self._depth.get(mark, 0) + (1 if edge.is_open else -1)
        if depth < 0:
            return
        self._depth[mark] = depth
        if edge.is_open:
            if depth == 1:
                self._pending.append(edge)
        elif depth == 0:
            for index, pending in enumerate(self._pending):
                if pending.mark is mark:
                    del self._pending[index]
                    return
            self._out.append(edge.markdown if mark is _LINK else edge)

    def _flush_code(self, *, keep: bool = False) -> None:
        """Code so far as a span; `keep` goes on collecting behind it."""
        if self._code is None:
            return
        text = "".join(self._code)
        self._code = [] if keep else None
        stripped = text.strip()
        if not stripped:
            self._owes_space = self._owes_space or bool(text)
            return
        if text[0] == " ":
            self._owes_space = True
        out = self._out
        if out and type(out[-1]) is not str:
            self._touches = True
        self._put(_Code(stripped))
        self._owes_space = text[-1] == " "

    def _assemble(self) -> str:
        out = self._out
        while out and out[-1] is BREAK:
            out.pop()
        if not self._depth.keys() <= _ONLY_LINKS:
            return self._joined(self._kept_delimiters())
        if self._touches:
            return self._joined(set())
        return "".join([part if type(part) is str else _written(part) for part in out])

    def _joined(self, kept: set[int]) -> str:
        """Everything in a row: the delimiters that are kept, and code that touches as one span."""
        texts: list[str] = []
        code: list[str] = []
        for index, part in enumerate(self._out):
            if type(part) is _Code:
                code.append(part)
                continue
            if type(part) is not Edge:
                text: str = part
            elif part.mark is _BREAK:
                text = "\\\n"
            elif index in kept:
                text = part.markdown
            else:
                continue
            if code:
                texts.append(code_span("".join(code)))
                code.clear()
            texts.append(text)
        if code:
            texts.append(code_span("".join(code)))
        return "".join(texts).strip()

    def _kept_delimiters(self) -> set[int]:
        """Where delimiters stand that Markdown obeys, always in pairs; it would show the others as they are."""
        out, kept = self._out, set[int]()
        begun: dict[Mark, int] = {}
        for index, part in enumerate(out):
            if type(part) is not Edge or part.mark is _BREAK:
                continue
            if part.is_open:
                begun[part.mark] = index
            elif (start := begun.pop(part.mark, -1)) >= 0:
                before, after = _neighbour(out, start, -1), _neighbour(out, start, 1)
                inner, outer = _neighbour(out, index, -1), _neighbour(out, index, 1)
                if _flanks(after, before) and _flanks(inner, outer):
                    kept |= {start, index}
        return kept


def _written(part: str) -> str:
    """Code that touches no other, or a break."""
    return code_span(part) if type(part) is _Code else "\\\n"


def _ends_blank(part: str) -> bool:
    return part.mark is _BREAK if type(part) is Edge else part[-1] == " "


def _neighbour(out: list[str], index: int, step: int) -> str:
    """The character on one side of a delimiter; another delimiter counts as punctuation."""
    position = index + step
    if not 0 <= position < len(out):
        return " "
    part = out[position]
    if type(part) is Edge:
        return " " if part.mark is _BREAK else "*"
    if type(part) is _Code:
        return "`"
    return part[-1] if step < 0 else part[0]


def _flanks(inner: str, outer: str) -> bool:
    """Whether a delimiter between these two characters turns towards the inner one (CommonMark 6.2)."""
    return not inner.isspace() and (inner.isalnum() or not outer.isalnum())
