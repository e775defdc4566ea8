"""Records read back: one from its bytes, or all of a segment with their offsets and its damage.

A damaged record is never taken for the end: `iterate` goes on behind it at the next member that names the
segment's own warcinfo record. That id is not to be guessed, so a page that carries a gzip member in its
body cannot have it taken for a record of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from isal import isal_zlib

from mudroom.errors import Code, StoreFailed
from mudroom.warc.compression import GZIP_ERROR, GZIP_WINDOW, decompress_member

__all__ = ["Damage", "ReadRecord", "ScanItem", "iterate", "parse_record", "read_record"]

_MAGIC = b"\x1f\x8b\x08"
_FIRST_CHUNK_BYTES = 1 << 14  # a page of 22 KB packs to some 6 KB; what is read too far is read again
_CHUNK_BYTES = 1 << 18
_MAX_FIELDS_BYTES = 1 << 17
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """A record as it was read; whether its digests hold is for the caller to ask."""

    fields: Mapping[str, str]
    """Names in lower case."""
    block: bytes

    @property
    def type(self) -> str:
        """WARC-Type, for example response."""
        return self.fields.get("warc-type", "")

    @property
    def record_id(self) -> str:
        """WARC-Record-ID without its angle brackets."""
        return self.fields.get("warc-record-id", "").strip("<>")

    @property
    def warcinfo_id(self) -> str:
        """Which warcinfo record, and so which segment, this one says it belongs to."""
        return self.fields.get("warc-warcinfo-id", "").strip("<>")

    @property
    def payload(self) -> bytes:
        """The block without the HTTP header block, where there is one."""
        if not self.fields.get("content-type", "").startswith("application/http"):
            return self.block
        return self.block.partition(_END)[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanItem:
    """A record and where it stands in its segment."""

    offset: int
    length: int
    record: ReadRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Bytes that are no record."""

    offset: int
    length: int


def parse_record(untrusted_content: bytes) -> ReadRecord:
    """The record that the unpacked bytes of a member are.

    Raises: StoreFailed SNAPSHOT_CORRUPT unless they are exactly one WARC record.
    """
    end = untrusted_content.find(_END, 0, _MAX_FIELDS_BYTES)
    try:
        first, *lines = untrusted_content[: max(end, 0)].decode().split("\r\n")
        fields = dict(_field(line) for line in lines)
        length = int(fields["content-length"])
    except (ValueError, KeyError) as fault:
        raise _corrupt("its fields cannot be read") from fault
    if first not in {"WARC/1.1", "WARC/1.0"} or len(fields) != len(lines):
        raise _corrupt("it does not start as a record")
    block = untrusted_content[end + 4 : -4]
    if len(block) != length or not untrusted_content.endswith(_END):
        raise _corrupt("it is not as long as it says")
    return ReadRecord(fields=fields, block=block)


def read_record(untrusted_data: bytes, max_bytes: int) -> tuple[ReadRecord, int]:
    """The record in the gzip member at the start of the data, and the length of that member.

    Raises: StoreFailed SNAPSHOT_CORRUPT when it is damaged, no record, or larger than `max_bytes`.
    """
    content, length = decompress_member(untrusted_data, max_bytes)
    return parse_record(content), length


def iterate(
    stream: BinaryIO, *, max_record_bytes: int, start: int = 0, owner_id: str = ""
) -> Iterator[ScanItem | Damage]:
    """The records of a segment in order, and each stretch that is none.

    Shapes: `owner_id` is the id of the segment's warcinfo record; empty means that without it nothing behind
    the first damage is taken for a record. The stream can seek.
    Memory: one record, unpacked, at a time.
    """
    size = stream.seek(0, 2)
    offset = start
    while offset < size:
        found = _member_at(stream, offset, max_record_bytes)
        if found is not None:
            yield found
            offset += found.length
            continue
        after = _next_own_member(stream, offset + 1, owner_id, max_record_bytes)
        end = size if after is None else after
        yield Damage(offset=offset, length=end - offset)
        offset = end


def _member_at(stream: BinaryIO, offset: int, max_bytes: int) -> ScanItem | None:
    """The record at the offset; None when what stands there is none, or not whole."""
    stream.seek(offset)
    unpacker = isal_zlib.decompressobj(GZIP_WINDOW)
    parts: list[bytes] = []
    read = unpacked = 0
    while not unpacker.eof:
        chunk = stream.read(_CHUNK_BYTES if read else _FIRST_CHUNK_BYTES)
        if not chunk:
            return None
        read += len(chunk)
        try:
            part = unpacker.decompress(chunk, max_bytes + 1 - unpacked)
        except GZIP_ERROR:
            return None
        parts.append(part)
        unpacked += len(part)
        if unpacked > max_bytes:
            return None
    try:
        record = parse_record(b"".join(parts))
    except StoreFailed:
        return None
    return ScanItem(offset=offset, length=read - len(unpacker.unused_data), record=record)


def _next_own_member(stream: BinaryIO, start: int, owner_id: str, max_bytes: int) -> int | None:
    """Where the next record that names this segment begins; None when there is none."""
    if not owner_id:
        return None
    for offset in _magic_offsets(stream, start):
        found = _member_at(stream, offset, max_bytes)
        if found is not None and found.record.warcinfo_id == owner_id:
            return offset
    return None


def _magic_offsets(stream: BinaryIO, start: int) -> Iterator[int]:
    while True:
        stream.seek(start)
        chunk = stream.read(_CHUNK_BYTES)
        at = chunk.find(_MAGIC)
        if at >= 0:
            yield start + at
            start += at + 1
        elif len(chunk) < len(_MAGIC):
            return
        else:
            start += len(chunk) - len(_MAGIC) + 1


def _field(line: str) -> tuple[str, str]:
    name, separator, value = line.partition(":")
    if not separator:
        raise ValueError("a line of the fields has no colon")
    return name.lower(), value.strip()


def _corrupt(what: str) -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, f"an archive record is damaged: {what}")
