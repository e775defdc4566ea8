"""What stands in scripts and style sheets in words: literals, comments, structured data. Bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

__all__ = ["json_strings", "prose_of_script", "prose_of_style"]

_MAX_SCRIPT_CHARS = 1 << 20
# A literal that never ends is one too: trying each quote in it again would cost the square of its length.
_LITERAL = re.compile(
    r'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"?'
    r"|'([^'\\\n]*(?:\\.[^'\\\n]*)*)'?"
    r"|`([^`\\]*(?:\\.[^`\\]*)*)`?"
    r"|/\*(.*?)(?:\*/|\Z)"
    r"|(?<![:\\\w])//([^\n]*)"
    r"|<!--([^\n]*)",
    re.DOTALL,
)
_STYLE = re.compile(
    r"""/\*(.*?)(?:\*/|\Z)|"([^"\\\n]*(?:\\.[^"\\\n]*)*)"?|'([^'\\\n]*(?:\\.[^'\\\n]*)*)'?""", re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\n", "b": "", "f": "", "v": "", "\n": ""}
_MIN_PROSE = 12


def prose_of_script(untrusted_script: str) -> Iterator[str]:
    """String literals and comments of a script that read like words, escapes undone."""
    for match in _LITERAL.finditer(untrusted_script, 0, _MAX_SCRIPT_CHARS):
        text = match[match.lastindex] if match.lastindex else ""
        if _is_prose(text):
            yield _unescape(text) if "\\" in text else text


def prose_of_style(untrusted_sheet: str) -> Iterator[str]:
    """Comments and strings of a style sheet that read like words."""
    for match in _STYLE.finditer(untrusted_sheet, 0, _MAX_SCRIPT_CHARS):
        text = match[match.lastindex] if match.lastindex else ""
        if _is_prose(text):
            yield text


def json_strings(untrusted_json: str) -> Iterator[tuple[bool, str]]:
    """Every string of a JSON text as (is it a key, the string), in order; duplicates of a key included.

    Raises ValueError where it is no JSON, RecursionError where it is nested too deep to be read.
    """
    tree = json.loads(
        untrusted_json, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str
    )
    pending = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield False, value
        elif isinstance(value, list):
            pending.extend(reversed(value))
        elif isinstance(value, tuple):
            for key, member in reversed(value):
                pending.append(member)
                pending.append(_Key(key))
        elif isinstance(value, _Key):
            yield True, value.text


class _Key:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _is_prose(text: str) -> bool:
    return len(text) >= _MIN_PROSE and (" " in text or "\\" in text or "\n" in text)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if not digits:
        return _PLAIN.get(match[4], match[4])
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"  # noqa: PLR2004
