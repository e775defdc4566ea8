"""Security text as it crosses: four columns and a blob, checked whole, never piece by piece.

Layout: u32 pieces, ends (u32 each), lines (u32 each), channels (1 each), hidings (1 each), u32 blob bytes, blob.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from operator import itemgetter, lt

from mudroom.model import Channel, Hiding, SecurityText
from mudroom.wire.codec import PayloadReader, PayloadWriter
from mudroom.wire.frame import refuse
from mudroom.wire.limits import AnswerLimits

__all__ = ["put_numbers", "put_security_text", "take_numbers", "take_security_text"]

_CHANNELS = bytes(Channel)
_HIDINGS = bytes(Hiding)
_LF = 0x0A
_IS_BIG_ENDIAN = sys.byteorder == "big"


def put_numbers(writer: PayloadWriter, numbers: Sequence[int]) -> None:
    """Four bytes a number, without a count. Raises OverflowError outside 0 to 2**32 - 1."""
    column = array("I", numbers)
    if _IS_BIG_ENDIAN:
        column.byteswap()
    writer.put_raw(column.tobytes())


def take_numbers(reader: PayloadReader, count: int) -> tuple[int, ...]:
    """`count` numbers of four bytes."""
    column = array("I")
    column.frombytes(reader.take_raw(4 * count))
    if _IS_BIG_ENDIAN:
        column.byteswap()
    return tuple(column)


def put_security_text(writer: PayloadWriter, text: SecurityText) -> None:
    """The columns of a text, appended."""
    writer.put_u32(len(text.ends))
    put_numbers(writer, text.ends)
    put_numbers(writer, text.lines)
    writer.put_raw(text.channels)
    writer.put_raw(text.hidings)
    writer.put_bytes(text.blob)


def take_security_text(reader: PayloadReader, limits: AnswerLimits) -> SecurityText:
    """A text whose columns agree: every piece is whole UTF-8 and lies where its end says.

    Why: pieces are cut from the blob without a look later, so each end must stand on the LF that follows
    its piece (which no UTF-8 sequence contains), behind the end before it, and the last LF must end the blob.
    Raises: GuestFailed(GUEST_PROTOCOL) where they do not, or above the limits.
    """
    count = reader.take_u32(limits.max_pieces)
    ends = take_numbers(reader, count)
    lines = take_numbers(reader, count)
    channels = reader.take_raw(count)
    hidings = reader.take_raw(count)
    blob = reader.take_bytes(limits.max_security_bytes)
    if channels.translate(None, _CHANNELS) or hidings.translate(None, _HIDINGS):
        raise refuse("a piece of unknown channel or hiding")
    _check_ends(ends, blob)
    try:
        blob.decode()
    except UnicodeDecodeError:
        raise refuse("security text that is not UTF-8") from None
    return SecurityText(blob=blob, ends=ends, channels=channels, hidings=hidings, lines=lines)


def _check_ends(ends: tuple[int, ...], blob: bytes) -> None:
    if (ends[-1] + 1 if ends else 0) != len(blob):
        raise refuse("pieces that do not fill their blob")
    if not all(map(lt, ends, ends[1:])):
        raise refuse("pieces that are not in order")
    # In order and the last one inside: all are inside.
    marks = itemgetter(*ends, 0)(blob)[:-1] if ends else ()
    if marks.count(_LF) != len(ends):
        raise refuse("a piece that does not end where it says")
