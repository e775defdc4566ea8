"""Everything a model could see of a document, in columns.

A page has a thousand strings; as columns they cross the wall of the jail and reach the scanner without
becoming a thousand objects on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mudroom.model.vocabulary import Channel, Hiding

__all__ = ["SecurityText", "TextPiece"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """One string of a document: where it stood, whether a person sees it, on which line."""

    channel: Channel
    hiding: Hiding
    line: int
    """1-based line in the source; 0 where the reader could not tell."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityText:
    """The strings of a document in order of appearance, in columns of equal length.

    Shapes: `blob` is UTF-8, each piece followed by one LF that belongs to no piece; `ends[i]` is the byte
    offset just behind piece i (of its LF); `channels` and `hidings` hold one byte a piece, `lines` one
    integer.
    """

    blob: bytes
    ends: tuple[int, ...]
    channels: bytes
    hidings: bytes
    lines: tuple[int, ...]

    def __len__(self) -> int:
        """How many pieces there are."""
        return len(self.ends)

    def pieces(self) -> Iterator[TextPiece]:
        """Each piece as a value; for tests and for the few places that look at single ones."""
        start = 0
        for end, channel, hiding, line in zip(
            self.ends, self.channels, self.hidings, self.lines, strict=True
        ):
            yield TextPiece(
                channel=Channel(channel),
                hiding=Hiding(hiding),
                line=line,
                text=self.blob[start:end].decode(),
            )
            start = end + 1

    @classmethod
    def from_pieces(cls, pieces: Iterable[TextPiece]) -> SecurityText:
        """Columns from pieces. Raises UnicodeEncodeError on a lone surrogate."""
        parts: list[bytes] = []
        ends: list[int] = []
        channels, hidings = bytearray(), bytearray()
        lines: list[int] = []
        offset = 0
        for piece in pieces:
            encoded = piece.text.encode()
            parts += (encoded, b"\n")
            offset += len(encoded)
            ends.append(offset)
            offset += 1
            channels.append(piece.channel)
            hidings.append(piece.hiding)
            lines.append(piece.line)
        return cls(
            blob=b"".join(parts),
            ends=tuple(ends),
            channels=bytes(channels),
            hidings=bytes(hidings),
            lines=tuple(lines),
        )
