"""Plain text, source code and Markdown read: as the blocks a reader of such a file expects."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.lines import is_aligned
from mudroom.extract.security import SecurityCollector
from mudroom.model import Channel, Hiding

__all__ = ["markdown_to_html", "read_code", "read_text"]

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_FRONT_MATTER = 65_536
_MAX_MARKDOWN_CHARS = (
    1 << 19
)  # larger files are shown as text: a parser in Python has its price, 4 s a megabyte
_MAX_BRACKETS = 20_000  # each open one is looked for again
_MAX_NESTING = 20  # the parser's own default; each level multiplies the cost of unclosed brackets
_CHUNK_LINES = 400


def read_text(untrusted_text: str, display: DisplayBuilder, security: SecurityCollector) -> None:
    """Plain text: prose as paragraphs with its own line breaks, anything aligned as it stands."""
    text = untrusted_text.replace("\r\n", "\n").replace("\r", "\n")
    line = 1
    aligned: list[str] = []
    for start, end in _chunks(text):
        chunk = text[start:end]
        if chunk.strip():
            security.add(Channel.TEXT, Hiding.NONE, line, chunk)
            if is_aligned(chunk):
                aligned.append(chunk.rstrip())
            else:
                _show_aligned(aligned, display)
                display.lines(chunk.strip())
        line += chunk.count("\n")
    _show_aligned(aligned, display)


def read_code(
    untrusted_code: str, language: str, display: DisplayBuilder, security: SecurityCollector, channel: Channel
) -> None:
    """Source text, verbatim; the strings in it are the caller's to add where they differ from what is shown."""
    code = untrusted_code.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if code.strip():
        lines = code.split("\n")
        for start in range(0, len(lines), _CHUNK_LINES):
            security.add(channel, Hiding.NONE, start + 1, "\n".join(lines[start : start + _CHUNK_LINES]))
        display.code(code, language)


def markdown_to_html(
    untrusted_markdown: str, display: DisplayBuilder, security: SecurityCollector
) -> str | None:
    """A Markdown text as the HTML that it means, or None where it is too large or too deep to be parsed.

    Its front matter goes to the display as code. What no rendering shows, unused link definitions above all,
    goes to the collector.
    """
    if len(untrusted_markdown) > _MAX_MARKDOWN_CHARS or untrusted_markdown.count("[") > _MAX_BRACKETS:
        return None
    text = untrusted_markdown.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("---") and (match := _FRONT_MATTER.match(text[:_MAX_FRONT_MATTER])):
        read_code(match[1], "yaml", display, security, Channel.META)
        text = text[match.end() :]
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    environment: dict[str, dict[str, dict[str, str]]] = {}
    try:
        tokens = parser.parse(text, environment)
    except RecursionError:
        return None
    if any(token.level >= _MAX_NESTING - 2 for token in tokens):
        return None  # what lies deeper was left out by the parser
    html = parser.renderer.render(tokens, parser.options, environment)
    for label, target in environment.get("references", {}).items():
        words = f"{label} {target.get('title', '')} {target.get('href', '')}"
        security.add(Channel.LINK, Hiding.NOT_RENDERED, 0, words)
    return str(html)


def _chunks(text: str) -> list[tuple[int, int]]:
    """Where paragraphs begin and end; the blank lines behind one belong to it."""
    ends = [match.end() for match in _BLANK_LINES.finditer(text)]
    starts = [0, *ends]
    return list(zip(starts, [*ends, len(text)], strict=True))


def _show_aligned(aligned: list[str], display: DisplayBuilder) -> None:
    if aligned:
        display.code("\n\n".join(chunk.strip("\n") for chunk in aligned))
        aligned.clear()
