"""Everything a model could see, collected in columns as it is met."""

from __future__ import annotations

from itertools import accumulate

from mudroom.extract.limits import ExtractLimits, limit_passed
from mudroom.model import Channel, Hiding, Limit, SecurityText

__all__ = ["SecurityCollector", "without_surrogates"]


def without_surrogates(text: str) -> str:
    """Text that can be encoded: each lone surrogate as U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


class SecurityCollector:
    """The strings of one document, as written: nothing is cleaned here, so that the scanner can see it all."""

    __slots__ = ("_chars", "_max_chars", "_max_pieces", "_rows", "hidden_chars")

    def __init__(self, limits: ExtractLimits) -> None:
        self._rows: list[tuple[str, Channel, Hiding, int]] = []
        self._chars = 0
        self._max_chars = limits.max_security_chars
        self._max_pieces = limits.max_pieces
        self.hidden_chars = 0
        """Characters of text that style or attributes hide from a person."""

    def add(self, channel: Channel, hiding: Hiding, line: int, text: str) -> None:
        """Keep one string; blank ones are dropped. Raises ContentRefused EXTRACTION_LIMIT."""
        text = text.strip(" \t\r\n\f")
        if text:
            self._rows.append((text, channel, hiding, line))
            self._chars += len(text)
            if self._chars > self._max_chars or len(self._rows) > self._max_pieces:
                raise limit_passed(Limit.STRINGS)

    def build(self) -> SecurityText:
        """All strings, in order."""
        if not self._rows:
            return SecurityText(blob=b"", ends=(), channels=b"", hidings=b"", lines=())
        texts, channels, hidings, lines = zip(*self._rows, strict=True)
        try:
            encoded = [text.encode() for text in texts]
        except UnicodeEncodeError:
            encoded = [without_surrogates(text).encode() for text in texts]
        behind = accumulate([len(piece) + 1 for piece in encoded])
        return SecurityText(
            blob=b"\n".join([*encoded, b""]),
            ends=tuple([offset - 1 for offset in behind]),
            channels=bytes(channels),
            hidings=bytes(hidings),
            lines=lines,
        )
