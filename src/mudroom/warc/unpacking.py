"""A stream read as bytes, whether it is gzip or not: one member a record, one for all, or any number.

Bounded: what is unpacked in all, and what is held at one time. Where gzip breaks off, reading goes on at the
next member that can be unpacked, and the break is told.
"""

from __future__ import annotations

import re
import zlib
from typing import Protocol

__all__ = ["ByteSource", "UnpackedStream"]

_MAGIC = b"\x1f\x8b\x08"
_READ_BYTES = 1 << 18
_FEED_BYTES = 1 << 14
"""What zlib is given at one time: it copies what stands behind the end of a member, and some are tiny."""
_PIECE_BYTES = 1 << 20
_PADDING = re.compile(rb"\0+")
_MAX_BREAKS = 1000
"""Each costs a search; beyond them nothing more is read."""


class ByteSource(Protocol):
    """What can be read from front to end."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...


class UnpackedStream:
    """The bytes of a stream, unpacked where they are gzip."""

    def __init__(self, source: ByteSource, max_unpacked_bytes: int) -> None:
        self._source = source
        self._left = max_unpacked_bytes
        self._raw = source.read(_READ_BYTES)
        self._at = 0
        """Where in it reading goes on."""
        self.is_packed = self._raw.startswith(_MAGIC[:2])
        self._member = zlib.decompressobj(wbits=31) if self.is_packed else None
        self._held = bytearray()
        self.breaks = 0
        """How often gzip broke off."""
        self.is_cut = False
        """More was there than may be unpacked."""

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer only at the end; they stay."""
        self._fill(size)
        return bytes(self._held[:size])

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end."""
        self._fill(size)
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def skip(self, size: int) -> int:
        """How many of the next bytes there were to pass over."""
        left = size
        while left > 0:
            self._fill(min(left, _PIECE_BYTES))
            step = min(left, len(self._held))
            if step == 0:
                break
            del self._held[:step]
            left -= step
        return size - left

    def read_line(self, max_bytes: int) -> bytes:
        """A line with its end, or its first `max_bytes`; nothing at the end."""
        searched = 0
        while True:
            at = self._held.find(b"\n", searched, max_bytes)
            if at >= 0:
                return self.read(at + 1)
            searched = len(self._held)
            if searched >= max_bytes or not self._fill(searched + 1):
                return self.read(min(len(self._held), max_bytes))

    def _fill(self, size: int) -> bool:
        """Whether so many bytes are held now."""
        while len(self._held) < size:
            piece = self._next_piece()
            if piece is None:
                return False
            self._held += piece[: self._left]
            self.is_cut = self.is_cut or len(piece) > self._left
            self._left -= min(len(piece), self._left)
            if self.is_cut:
                return len(self._held) >= size
        return True

    def _next_piece(self) -> bytes | None:
        """What comes next, perhaps nothing yet; None at the end."""
        if self.is_cut:
            return None
        if self._at >= len(self._raw):
            self._raw, self._at = self._source.read(_READ_BYTES), 0
            if not self._raw:
                self._note_open_member()
                return None
        if self._member is None:
            piece, self._at = self._raw[self._at :], len(self._raw)
            return piece
        if self._member.eof:
            self._begin_member()
            return b""
        given = self._raw[self._at : self._at + _FEED_BYTES]
        try:
            piece = self._member.decompress(given, _PIECE_BYTES)
        except zlib.error:
            self.breaks += 1
            self._seek_member(self._at + 1)
            return b""
        # At the end of a member zlib may count what is left over in both.
        left = self._member.unused_data or self._member.unconsumed_tail
        self._at += len(given) - len(left)
        return piece

    def _begin_member(self) -> None:
        """A new member, behind padding; bytes that begin none are passed over up to the next that does."""
        if self._raw[self._at] == 0:
            padding = _PADDING.match(self._raw, self._at)
            self._at = padding.end() if padding else self._at
        elif _MAGIC.startswith(self._raw[self._at : self._at + 3]):
            self._member = zlib.decompressobj(wbits=31)
        else:
            self.breaks += 1
            self._seek_member(self._at)

    def _seek_member(self, start: int) -> None:
        """Go on at the next bytes that may begin a member."""
        self._member = zlib.decompressobj(wbits=31)
        if self.breaks > _MAX_BREAKS:
            self._raw, self._at, self.is_cut = b"", 0, True
            return
        while True:
            self._at = self._raw.find(_MAGIC, start)
            if self._at >= 0:
                return
            more = self._source.read(_READ_BYTES)
            if not more:
                self._raw, self._at, self._member = b"", 0, None
                return
            self._raw, start = self._raw[max(start, len(self._raw) - len(_MAGIC) + 1) :] + more, 0

    def _note_open_member(self) -> None:
        if self._member is not None and not self._member.eof:
            self.breaks += 1
        self._member = None
