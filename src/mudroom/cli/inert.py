"""Text from outside, made inert for a terminal and for one line of a log."""

from __future__ import annotations

import unicodedata

__all__ = ["make_inert", "make_inert_block", "shorten"]

_KEPT = frozenset("\n\t")
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, format characters (bidi, tags), surrogates, private use, unassigned, line separators."""


def make_inert(untrusted_text: str) -> str:
    """One line in which nothing acts: each such character is shown as its escape."""
    return "".join(char if _is_inert(char) else _escape(char) for char in untrusted_text)


def make_inert_block(untrusted_text: str) -> str:
    """Lines in which nothing acts; line feeds and tabs stay."""
    if untrusted_text.isascii() and untrusted_text.replace("\n", "").replace("\t", "").isprintable():
        return untrusted_text
    return "".join(char if char in _KEPT or _is_inert(char) else _escape(char) for char in untrusted_text)


def shorten(text: str, width: int) -> str:
    """At most `width` characters, with an ellipsis where some are missing."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _is_inert(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) not in _ACTIVE


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")
