"""Superscript and subscript as characters, or behind ^ and _: left bare they would change what is said.

Done before a block is kept, so that no renderer knows of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mudroom.extract.display import Edge, Inline, Mark

__all__ = ["raise_scripts"]

_SUP, _LINK = Mark.SUP, Mark.LINK
_SCRIPTS = frozenset({Mark.SUP, Mark.SUB})
_SUPERSCRIPT = str.maketrans("0123456789+-\u2212=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_SUBSCRIPT = str.maketrans("0123456789+-\u2212=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISED_BY_NATURE = frozenset("*†‡§¶®©™℠°\u2032\u2033'\u2019”,;. ")
_BARE_WORDS = frozenset({"tm", "sm", "®", "™"})
_ORDINALS = frozenset({"st", "nd", "rd", "th", "er", "re"})
_LONE_CHARS = 2  # a sign and a letter
_PROSE = re.compile(r"[^\W\d_]{2,}\s+[^\W\d_]{2,}\s+[^\W\d_]{2,}")


def raise_scripts(inline: Inline) -> list[str]:
    """Inline content without edges of scripts: what stood between them is raised or lowered text."""
    out: list[str] = []
    starts: list[int] = []
    lone = -1  # where a script of one letter stands, which a letter behind it would make ambiguous
    for part in inline:
        if type(part) is Edge and part.mark in _SCRIPTS:
            if part.is_open:
                starts.append(len(out))
            elif starts:
                start = starts.pop()
                raised = _raised(part.mark, out, start)
                out[start:] = raised
                lone = (
                    start
                    if len(raised) == 1 and raised[0][0] in "^_" and len(raised[0]) == _LONE_CHARS
                    else -1
                )
        else:
            if lone >= 0 and type(part) is not Edge and part:
                if part[0].isalnum() and not starts:
                    out[lone] = f"{out[lone][0]}({out[lone][1:]})"
                lone = -1
            out.append(part)
    return out


def _last_char(parts: Sequence[str], end: int) -> str:
    while end > 0:
        end -= 1
        part = parts[end]
        if type(part) is not Edge and part:
            return part[-1]
    return " "


def _raised(mark: Mark, out: Sequence[str], start: int) -> list[str]:
    """What a script from `start` on holds, marked as such. Of the marks in it only links stay."""
    tail = list(out[start:])
    raw = "".join([part for part in tail if type(part) is not Edge])
    text = " ".join(raw.split())
    if not text:
        return tail
    lead, trail = " " * raw[0].isspace(), " " * raw[-1].isspace()
    alphabet = _SUPERSCRIPT if mark is _SUP else _SUBSCRIPT
    is_bare = _stands_bare(text, " " if lead else _last_char(out, start))
    is_written = not is_bare and all(ord(char) in alphabet for char in text)
    if any(type(part) is Edge and part.mark is _LINK for part in tail):
        kept = [part for part in tail if type(part) is not Edge or part.mark is _LINK]
        if is_written:
            return [part if type(part) is Edge else part.translate(alphabet) for part in kept]
        return kept if is_bare else [f"{_sign(mark)}(", *kept, ")"]
    if is_written:
        text = text.translate(alphabet)
    elif not is_bare:
        is_plain = len(text) == 1 and text.isalnum()
        text = _sign(mark) + (text if is_plain else f"({text})")
    return [part for part in (lead, text, trail) if part]


def _sign(mark: Mark) -> str:
    return "^" if mark is _SUP else "_"


def _stands_bare(text: str, before: str) -> bool:
    """Whether raised text says the same when it is not raised: marks of notes, ordinals, small print."""
    if text[0] == "[" and text[-1] == "]":
        return True
    if _RAISED_BY_NATURE.issuperset(text):
        return True
    word = text.casefold()
    if word in _ORDINALS:
        return before.isdigit() or (word == "th" and before.isalpha())
    return word in _BARE_WORDS or (before.isspace() and _PROSE.search(text) is not None)
