"""A text in the forms that patterns are matched against, all of the same length."""

from __future__ import annotations

import string

from mudroom.screen.schema import Lane

__all__ = ["LaneText", "flatten"]

_BLANKS = b" \t\n\r\f\v*~`>\"'"
_FLAT = bytes.maketrans(
    _BLANKS + string.ascii_uppercase.encode(), b" " * len(_BLANKS) + string.ascii_lowercase.encode()
)
# Blanks and quotes beyond ASCII, by UTF-8 prefix, so that a text without the prefix costs one look.
_WIDE = {
    b"\xc2": ("\u00a0", "\u00ab", "\u00bb", "\u00b4"),
    b"\xe2\x80": tuple(
        map(chr, (0x2002, 0x2003, 0x2009, 0x200A, 0x2018, 0x2019, 0x201C, 0x201D, 0x201E, 0x2028, 0x202F))
    ),
    b"\xe3\x80": ("\u3000", "\u300c", "\u300d", "\u300e", "\u300f"),
}


def flatten(text: bytes) -> bytes:
    """The text in lower case with blanks, quotes and light markup as spaces, byte for byte as long."""
    flat = text.translate(_FLAT)
    if flat.isascii():
        return flat
    for prefix, characters in _WIDE.items():
        if prefix in flat:
            for character in characters:
                encoded = character.encode()
                flat = flat.replace(encoded, b" " * len(encoded))
    return flat


class LaneText:
    """One text; its forms are made when first asked for."""

    __slots__ = ("_flat", "original")

    def __init__(self, original: bytes) -> None:
        self.original = original
        self._flat: bytes | None = None

    def form(self, lane: Lane) -> bytes:
        """The text as the patterns of a lane see it; offsets are those of the original."""
        if lane is Lane.RAW:
            return self.original
        if self._flat is None:
            self._flat = flatten(self.original)
        return self._flat
