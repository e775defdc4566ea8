"""Everything a model could see, collected in columns as it is met."""

from __future__ import annotations

from itertools import accumulate

from mudroom.extract.limits import ExtractLimits, limit_passed
from mudroom.model import Channel, Hiding, SecurityText

__all__ = ["SecurityCollector", "without_surrogates"]


def without_surrogates(text: str) -> str:
    """Text that can be encoded: each lone surrogate as U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


class SecurityCollector:
    """The strings of one document, as written: nothing is cleaned here, so that the scanner can see it all."""

    __slots__ = (
        "_channels",
        "_chars",
        "_hidings",
        "_lines",
        "_max_chars",
        "_max_pieces",
        "_texts",
        "hidden_chars",
    )

    def __init__(self, limits: ExtractLimits) -> None:
        self._texts: list[str] = []
        self._channels = bytearray()
        self._hidings = bytearray()
        self._lines: list[int] = []
        self._chars = 0
        self._max_chars = limits.max_security_chars
        self._max_pieces = limits.max_pieces
        self.hidden_chars = 0
        """Characters of text that style or attributes hide from a person."""

    def add(self, channel: Channel, hiding: Hiding, line: int, text: str) -> None:
        """Keep one string; blank ones are dropped. Raises ContentRefused EXTRACTION_LIMIT."""
        text = text.strip(" \t\r\n\f")
        if not text:
            return
        self._texts.append(text)
        self._channels.append(channel)
        self._hidings.append(hiding)
        self._lines.append(line)
        self._chars += len(text)
        if self._chars > self._max_chars or len(self._texts) > self._max_pieces:
            raise limit_passed("it holds more strings than are scanned")

    def build(self) -> SecurityText:
        """All strings, in order."""
        try:
            blob = ("\n".join(self._texts) + "\n").encode() if self._texts else b""
        except UnicodeEncodeError:
            self._texts = [without_surrogates(text) for text in self._texts]
            blob = ("\n".join(self._texts) + "\n").encode()
        is_ascii = blob.isascii()
        sizes = (len(text) if is_ascii else len(text.encode()) for text in self._texts)
        return SecurityText(
            blob=blob,
            ends=tuple(end - 1 for end in accumulate(size + 1 for size in sizes)),
            channels=bytes(self._channels),
            hidings=bytes(self._hidings),
            lines=tuple(self._lines),
        )
