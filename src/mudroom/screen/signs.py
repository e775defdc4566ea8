"""Which other forms of a text are worth making, told in one pass over it.

A sign is wide: it may stand where no form gives anything new. It is never narrow: a form that gives
something has its sign. Base64 and base32 have none: runs of their letters stand in most pages, so that
looking for the runs themselves is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum, unique
from functools import cache

import re2

from mudroom.screen.fold import NEEDS_FOLD

__all__ = ["CORE_WORDS", "Sign", "read_signs"]

_SET_BYTES = 48 * 1024 * 1024
# Letters of a private use area, as in the matcher: a set that failed does not tell of them.
_SENTINEL = "\ue0f3mudroom-signs\ue0f4"
_SENTINEL_BYTES = b"\n" + _SENTINEL.encode()

# Words without which a turned text is no attack.
CORE_WORDS = (
    "ignore", "disregard", "forget", "override", "bypass", "instruction", "instructions", "prompt", "prompts",
    "password", "assistant", "reveal", "system", "guidelines",
)  # fmt: skip
# Of words that read otherwise when turned, such as tell and send, there is none among them.
_TURNED_WORDS = (
    *CORE_WORDS, "assistants", "language", "model", "models", "summarising", "summarizing", "follow", "reply",
    "conversation", "reader", "execute", "confirm", "disclose", "rules",
)  # fmt: skip
_LEET = {
    "a": "4@", "b": "8", "e": "3", "g": "69", "i": "1!|", "l": "1|", "o": "0", "s": "5$", "t": "7+",
}  # fmt: skip
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


@unique
class Sign(StrEnum):
    """One way to write a text so that it reads otherwise."""

    FOLD = "fold"
    HEX = "hex"
    PERCENT = "percent"
    ENTITY = "entity"
    ESCAPE = "escape"
    TAGS = "tags"
    SELECTORS = "selectors"
    ZERO_WIDTH = "zero_width"
    SPACED = "spaced"
    ROT13 = "rot13"
    REVERSED = "reversed"
    LEET = "leet"


def _spell_in_digits(word: str) -> Iterator[str]:
    """The spellings of a word with a digit or a sign for at least one letter, by the first such letter."""
    for at, letter in enumerate(word):
        if letter in _LEET:
            rest = "".join(f"[{other}{_LEET.get(other, '')}]" for other in word[at + 1 :])
            yield f"{word[:at]}[{_LEET[letter]}]{rest}"


_PATTERNS = {
    Sign.FOLD: NEEDS_FOLD,
    Sign.HEX: r"(?i:(?:(?:\\x|0x|%u00)?[0-9a-f]{2}[ ,:;]{0,2}){12})",
    Sign.PERCENT: "%[0-9A-Fa-f]{2}",
    Sign.ENTITY: "&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-zA-Z]{2,31});",
    Sign.ESCAPE: r"(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}){2}",
    Sign.TAGS: r"[\x{e0020}-\x{e007e}]{8}",
    Sign.SELECTORS: r"[\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]{4}",
    Sign.ZERO_WIDTH: r"[\x{200b}-\x{200f}\x{2060}-\x{2064}\x{feff}\x{180e}]{16}",
    Sign.SPACED: r"(?i:\b(?:[a-z0-9][ \t._*|/\\\-]{1,3}){9}[a-z0-9])",
    Sign.ROT13: rf"(?i:\b(?:{'|'.join(word.translate(_ROT13) for word in _TURNED_WORDS)})\b)",
    Sign.REVERSED: rf"(?i:\b(?:{'|'.join(word[::-1] for word in _TURNED_WORDS)})\b)",
    Sign.LEET: f"(?i:{'|'.join(spelling for word in CORE_WORDS for spelling in _spell_in_digits(word))})",
}
_ORDER = tuple(_PATTERNS)


@cache
def _build_set() -> re2.Set:
    options = re2.Options()
    options.max_mem = _SET_BYTES
    options.never_capture = True
    options.log_errors = False
    signs = re2.Set.SearchSet(options)
    for pattern in (*_PATTERNS.values(), _SENTINEL):
        signs.Add(pattern)
    signs.Compile()
    return signs


def read_signs(text: bytes) -> frozenset[Sign]:
    """The signs that the text bears; all of them where the pass failed."""
    found = _build_set().Match(text + _SENTINEL_BYTES) or ()
    if len(_ORDER) not in found:
        return frozenset(_ORDER)
    return frozenset(_ORDER[number] for number in found if number < len(_ORDER))
