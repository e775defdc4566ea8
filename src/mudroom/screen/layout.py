"""Where an offset of the scanned buffer lies in the document: form, channel, visibility, line."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from mudroom.model import Channel, ExposedForm, Hiding, ScanRequest

__all__ = ["Layout", "Spot"]

# Text in these channels is never laid out as running text, whatever the reader says of its visibility.
_UNSEEN = frozenset(
    {
        Channel.COMMENT,
        Channel.ATTRIBUTE,
        Channel.META,
        Channel.NOSCRIPT,
        Channel.TEMPLATE,
        Channel.CDATA,
        Channel.INSTRUCTION,
        Channel.EMBEDDED,
        Channel.JSON,
    }
)
# Programs and style sheets are hidden on every page and full of odd words: as hidden as they are, they
# give no reason to raise a severity.
_PROGRAM = frozenset({Channel.SCRIPT, Channel.STYLE})
# What a person opens with one click is shown, and displayed as shown.
_SHOWN = frozenset({Hiding.NONE, Hiding.CLOSED_DETAILS})


@dataclass(frozen=True, slots=True)
class Spot:
    """The piece that an offset lies in. `start` and `end` bound it in the buffer."""

    channel: Channel
    hiding: Hiding
    line: int
    form: ExposedForm | None
    start: int
    end: int

    @property
    def is_hidden(self) -> bool:
        """Whether people do not see the text, so that an order in it is meant for a model."""
        if self.channel in _PROGRAM:
            return False
        return self.hiding not in _SHOWN or self.channel in _UNSEEN


class Layout:
    """One buffer of all that is scanned of a document, and the way back from its offsets."""

    __slots__ = ("_forms", "_request", "_starts", "buffer", "security_start")

    def __init__(self, request: ScanRequest) -> None:
        """Raises UnicodeError when an exposed text holds a lone surrogate, or the blob is not UTF-8."""
        if not request.security_text.blob.isascii():
            request.security_text.blob.decode()
        encoded = [item.text.encode() for item in request.exposed]
        self._request = request
        self._forms = [item.form for item in request.exposed]
        self._starts: list[int] = []
        position = 0
        for text in encoded:
            self._starts.append(position)
            position += len(text) + 1
        self.security_start = position
        self.buffer = b"".join(
            [*(part for text in encoded for part in (text, b"\n")), request.security_text.blob]
        )

    def locate(self, offset: int) -> Spot:
        """The piece at an offset of the buffer."""
        if offset < self.security_start:
            return self._locate_exposed(offset)
        text = self._request.security_text
        inner = offset - self.security_start
        index = min(bisect_right(text.ends, inner - 1), len(text) - 1)
        if index < 0:
            return Spot(Channel.TEXT, Hiding.NONE, 0, None, offset, offset)
        start = text.ends[index - 1] + 1 if index else 0
        piece_start = self.security_start + start
        newlines = text.blob.count(b"\n", start, inner) if text.lines[index] else 0
        return Spot(
            Channel(text.channels[index]),
            Hiding(text.hidings[index]),
            text.lines[index] + newlines,
            None,
            piece_start,
            self.security_start + text.ends[index],
        )

    def _locate_exposed(self, offset: int) -> Spot:
        index = bisect_right(self._starts, offset) - 1
        start = self._starts[index]
        end = self._starts[index + 1] if index + 1 < len(self._starts) else self.security_start
        line = self.buffer.count(b"\n", start, offset) + 1
        return Spot(Channel.EXPOSED, Hiding.NONE, line, self._forms[index], start, end - 1)
