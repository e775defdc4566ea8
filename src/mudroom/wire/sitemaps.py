"""A sitemap to be read, and its answer: a kind, faults, and two columns of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mudroom.model import SitemapEntry, SitemapFault, SitemapKind, SitemapReading
from mudroom.wire.codec import PayloadReader, PayloadWriter
from mudroom.wire.columns import put_numbers, take_numbers
from mudroom.wire.frame import refuse

__all__ = [
    "SitemapOrder",
    "decode_sitemap",
    "decode_sitemap_request",
    "encode_sitemap",
    "encode_sitemap_request",
]

_KINDS = tuple(SitemapKind)
_FAULTS = tuple(SitemapFault)
_DATE = re.compile(r"[0-9][0-9T:Z .+-]{3,39}|", re.ASCII)
_MAX_CHARSET_BYTES = 1000
_MAX_DATE_CHARS = 40
_MAX_U32 = 2**32 - 1
_UTF8_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapOrder:
    """A sitemap to be read, and how much of it: the arguments of the reading, flat."""

    body: bytes
    charset: str
    """As declared; empty when it was not."""
    max_unpacked_bytes: int
    max_entries: int
    max_depth: int
    max_location_chars: int


def encode_sitemap_request(order: SitemapOrder) -> bytes:
    """The payload that asks for a sitemap's entries. Raises UnicodeEncodeError on a lone surrogate."""
    writer = PayloadWriter()
    writer.put_text(order.charset)
    writer.put_u64(order.max_unpacked_bytes)
    for limit in (order.max_entries, order.max_depth, order.max_location_chars):
        writer.put_u32(limit)
    writer.put_bytes(order.body)
    return writer.finish()


def decode_sitemap_request(payload: bytes | bytearray | memoryview) -> SitemapOrder:
    """The order in a payload. Raises GuestFailed(GUEST_PROTOCOL) on any departure from the schema."""
    reader = PayloadReader(payload)
    charset = reader.take_text(_MAX_CHARSET_BYTES)
    max_unpacked_bytes = reader.take_u64()
    entries, depth, chars = (reader.take_u32(_MAX_U32) for _ in range(3))
    body = reader.take_bytes(_MAX_U32)
    reader.finish()
    return SitemapOrder(
        body=body,
        charset=charset,
        max_unpacked_bytes=max_unpacked_bytes,
        max_entries=entries,
        max_depth=depth,
        max_location_chars=chars,
    )


def encode_sitemap(reading: SitemapReading) -> bytes:
    """The payload that holds a sitemap's entries."""
    writer = PayloadWriter()
    writer.put_u8(_KINDS.index(reading.kind))
    writer.put_u8(len(reading.faults))
    writer.put_raw(bytes(_FAULTS.index(fault) for fault in reading.faults))
    writer.put_u32(len(reading.entries))
    _put_column(writer, [entry.untrusted_location for entry in reading.entries])
    _put_column(writer, [entry.last_modified for entry in reading.entries])
    return writer.finish()


def decode_sitemap(
    untrusted_payload: bytes | bytearray | memoryview, order: SitemapOrder, max_bytes: int
) -> SitemapReading:
    """The entries in an answer, within what was asked for; no more text than `max_bytes`.

    Raises: GuestFailed(GUEST_PROTOCOL) on any departure from the schema or above a limit.
    """
    reader = PayloadReader(untrusted_payload)
    kind = reader.take_u8()
    if kind >= len(_KINDS):
        raise refuse("a sitemap of unknown kind")
    faults = reader.take_raw(reader.take_u8())
    if max(faults, default=0) >= len(_FAULTS) or sorted(set(faults)) != list(faults):
        raise refuse("a fault that is unknown, comes twice or out of turn")
    count = reader.take_u32(order.max_entries)
    locations = _take_column(reader, count, order.max_location_chars, max_bytes)
    dates = _take_column(reader, count, _MAX_DATE_CHARS, max_bytes)
    reader.finish()
    if not all(locations) or not all(map(_DATE.fullmatch, dates)):
        raise refuse("an entry without a location, or with a date that is none")
    return SitemapReading(
        kind=_KINDS[kind],
        entries=tuple(map(SitemapEntry, locations, dates)),
        faults=tuple(_FAULTS[fault] for fault in faults),
    )


def _put_column(writer: PayloadWriter, texts: Sequence[str]) -> None:
    put_numbers(writer, [len(text) for text in texts])
    writer.put_text("".join(texts))


def _take_column(reader: PayloadReader, count: int, max_chars: int, max_bytes: int) -> list[str]:
    """Texts; their lengths are in characters, so that all of them are decoded at once."""
    lengths = take_numbers(reader, count)
    if max(lengths, default=0) > max_chars:
        raise refuse("a text longer than is read")
    text = reader.take_text(min(max_bytes, _UTF8_BYTES * max_chars * count))
    if sum(lengths) != len(text):
        raise refuse("texts that do not fill their column")
    ends = tuple(accumulate(lengths))
    return [text[start:end] for start, end in zip((0, *ends), ends, strict=False)]
