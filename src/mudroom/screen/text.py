"""A text in the forms that patterns are matched against, all of the same length."""

from __future__ import annotations

import re
import string

from mudroom.screen.schema import Lane

__all__ = ["LaneText", "flatten"]

_BLANKS = b" \t\n\r\f\v*~`>\"'"
_FLAT = bytes.maketrans(
    _BLANKS + string.ascii_uppercase.encode(), b" " * len(_BLANKS) + string.ascii_lowercase.encode()
)
# Blanks and quotes beyond ASCII by their UTF-8 bytes. Each pattern is a few fixed bytes, so that even the
# backtracking engine is linear; it replaces in one pass where bytes.replace would need one a character.
_WIDE = (
    (b"\xc2", re.compile(rb"\xc2[\xa0\xab\xb4\xbb]"), b"  "),
    (b"\xe2\x80", re.compile(rb"\xe2\x80[\x80-\x8a\x98-\x9a\x9c-\x9f\xa8\xa9\xaf\xb9\xba]"), b"   "),
    (b"\xe3\x80", re.compile(rb"\xe3\x80[\x80\x8c-\x8f]"), b"   "),
)


def flatten(text: bytes) -> bytes:
    """The text in lower case with blanks, quotes and light markup as spaces, byte for byte as long."""
    flat = text.translate(_FLAT)
    if flat.isascii():
        return flat
    for prefix, pattern, spaces in _WIDE:
        if prefix in flat:
            flat = pattern.sub(spaces, flat)
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
