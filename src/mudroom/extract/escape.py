"""Text made inert for Markdown: it renders as itself and as nothing else.

What could open raw HTML, a link, an image, emphasis, code or a block is escaped wherever it stands; what is
harmless in its place (an underscore within a word, a hyphen within a line) is left, so that text stays readable.
Source: CommonMark 0.31.2; GitHub Flavored Markdown for tables and strikethrough.
"""

from __future__ import annotations

import re
from urllib.parse import quote

__all__ = [
    "code_span",
    "escape_destination",
    "escape_front",
    "escape_line_start",
    "escape_text",
    "fence_for",
    "needs_escape",
]

_CANDIDATE = re.compile(r"[\\`*_\[\]<&~!]")
_ESCAPED = re.compile(
    r"\\|`|\*|\[|\]"
    r"|_(?:(?<![^\W_]_)|(?![^\W_]))"
    r"|<(?=[A-Za-z/!?\x01]|\Z)"
    r"|&(?=#?\w{0,32}(?:;|\x01|\Z))"
    r"|~(?<!\s~)"
    r"|!(?=\x01|\Z)"
)
"""Each way begins with a letter of its own: so the engine skips from one candidate to the next."""
_LINE_START = re.compile(r"(?:#{1,6}(?=\s|\Z)|>|=|\||[-+](?=[\s+|:-]|\Z)|:(?=[-:]))")
_LIST_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|\Z))")
_UNSAFE_IN_DESTINATION = re.compile(r"[^!#$%&'*+,\-./0-9:;=?@A-Z\[\]_a-z~]")
_ENTITY = re.compile(r"&(?=#?\w{1,32};)")
_BACKTICKS = re.compile(r"`+")
_FRONT = re.compile(r"[%{]|;;;|---|\+\+\+")


def needs_escape(text: str) -> bool:
    """Whether the text holds a character that may have to be escaped."""
    return _CANDIDATE.search(text) is not None


def escape_text(text: str) -> str:
    """A run of inline text.

    What follows its end, or a U+0001 in it (where marks begin or end), is unknown and taken to be dangerous.
    """
    return _ESCAPED.sub(_with_backslash, text)


def _with_backslash(match: re.Match[str]) -> str:
    return "\\" + match[0]


def escape_line_start(line: str) -> str:
    """A line that opens no block; `line` has no leading whitespace and is escaped as text already."""
    if line[:1] not in "#>=|-+:0123456789":
        return line
    if _LINE_START.match(line):
        return "\\" + line
    if number := _LIST_NUMBER.match(line):
        return f"{number[0]}\\{line[number.end() :]}"
    return line


def escape_front(document: str) -> str:
    """A document that begins as no front matter: YAML, TOML, JSON and title blocks are all refused."""
    return "\\" + document if _FRONT.match(document) else document


def escape_destination(href: str) -> str:
    """An absolute URL as a link destination that ends where it should."""
    safe = _UNSAFE_IN_DESTINATION.sub(lambda match: quote(match[0], safe=""), href)
    return _ENTITY.sub("&amp;", safe)


def code_span(text: str) -> str:
    """Inline code, verbatim but for line breaks; its delimiter is longer than any run inside."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    is_padded = text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " " and text.strip())
    return f"{fence} {text} {fence}" if is_padded else f"{fence}{text}{fence}"


def fence_for(code: str) -> str:
    """The fence of a code block: at least three backticks, and longer than any run inside."""
    longest = max(map(len, _BACKTICKS.findall(code)), default=0) if "```" in code else 0
    return "`" * max(3, longest + 1)
