"""Records of archives that others wrote: read leniently, within bounds, each fault a value.

Any version from WARC/0.17 on, lines ended by CR LF or LF, folded fields, plain or gzip. A record that does
not end where it says is given up, and reading goes on at the next line that begins one. What a hostile body
can gain by that is to be read as a record of the same archive, which could have held one anyway.
Source: ISO 28500:2017; WARC/1.1 (IIPC) sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique

from mudroom.warc.unpacking import ByteSource, UnpackedStream

__all__ = ["ForeignDamage", "ForeignFault", "ForeignLimits", "ForeignRecord", "read_foreign"]

_VERSION = re.compile(rb"WARC/(?:0\.1[78]|1\.[01])[ \t]*\r?\n")
_LINE_BYTES = 1 << 16
_LENGTH = re.compile(r"[0-9]{1,18}")
_ONCE = frozenset(
    {"warc-type", "warc-record-id", "warc-date", "warc-target-uri", "content-length", "content-type"}
)
_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n")
_SHORT_ENDS = (b"\r\n", b"\n")
"""What some writers leave at the very end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLimits:
    """Bounds of reading one archive."""

    max_record_bytes: int = 18 << 20
    """Of one block; a larger one is passed over."""
    max_fields_bytes: int = 128 << 10
    """Of the fields of one record."""
    max_unpacked_bytes: int = 64 << 30
    """Of the whole archive; what stands behind is not read."""
    max_records: int = 1_000_000


@unique
class ForeignFault(StrEnum):
    """Why a stretch of an archive is no record."""

    NO_RECORD = "NO_RECORD"
    """It begins with something else."""
    FIELDS = "FIELDS"
    LENGTH = "LENGTH"
    """It does not end where it says."""
    TOO_LARGE = "TOO_LARGE"
    TRUNCATED = "TRUNCATED"
    """The archive ends before it does."""
    GZIP = "GZIP"
    LIMIT = "LIMIT"
    """The archive holds more than is read of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRecord:
    """A record as somebody wrote it. Nothing in it is known to be true."""

    fields: Mapping[str, str]
    """Names in lower case; of a field that comes twice the first."""
    block: bytes

    @property
    def type(self) -> str:
        """WARC-Type in lower case."""
        return self.fields.get("warc-type", "").lower()

    @property
    def record_id(self) -> str:
        """WARC-Record-ID without its angle brackets."""
        return self.fields.get("warc-record-id", "").strip("<>")

    @property
    def target_uri(self) -> str:
        """WARC-Target-URI; some writers put it in angle brackets."""
        return self.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignDamage:
    """A stretch that is no record."""

    fault: ForeignFault


def read_foreign(
    untrusted_source: ByteSource, limits: ForeignLimits
) -> Iterator[ForeignRecord | ForeignDamage]:
    """The records of an archive in order, and each stretch that is none. Raises: what reading the source does.

    Memory: one record at a time, and a piece of a megabyte.
    """
    reader = _Reader(UnpackedStream(untrusted_source, limits.max_unpacked_bytes), limits)
    for count, item in enumerate(reader.items()):
        if count >= limits.max_records:
            yield ForeignDamage(fault=ForeignFault.LIMIT)
            return
        yield item


class _Reader:
    """One archive on its way through."""

    def __init__(self, stream: UnpackedStream, limits: ForeignLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._told_breaks = 0

    def items(self) -> Iterator[ForeignRecord | ForeignDamage]:
        """What there is, in order."""
        while self._skip_blank():
            item = self._read_record()
            yield from self._new_breaks()
            yield item
            if isinstance(item, ForeignDamage) and item.fault is not ForeignFault.TOO_LARGE:
                self._resync()
        yield from self._new_breaks()
        if self._stream.is_cut:
            yield ForeignDamage(fault=ForeignFault.LIMIT)

    def _skip_blank(self) -> bool:
        """Whether anything stands behind the empty lines."""
        while (start := self._stream.peek(1)) and start in b"\r\n":
            self._stream.read(1)
        return bool(start)

    def _read_record(self) -> ForeignRecord | ForeignDamage:
        if not _VERSION.fullmatch(self._stream.read_line(_LINE_BYTES)):
            return ForeignDamage(fault=ForeignFault.NO_RECORD)
        fields = self._read_fields()
        length = None if fields is None else _LENGTH.fullmatch(fields.get("content-length", ""))
        if fields is None or length is None:
            return ForeignDamage(fault=ForeignFault.FIELDS)
        size = int(length[0])
        if size > self._limits.max_record_bytes:
            is_whole = self._stream.skip(size) == size
            return ForeignDamage(fault=ForeignFault.TOO_LARGE if is_whole else ForeignFault.TRUNCATED)
        block = self._stream.read(size)
        if len(block) < size:
            return ForeignDamage(fault=ForeignFault.TRUNCATED)
        if (end := self._stream.peek(4)) and not end.startswith(_ENDS) and end not in _SHORT_ENDS:
            return ForeignDamage(fault=ForeignFault.LENGTH)
        return ForeignRecord(fields=fields, block=block)

    def _read_fields(self) -> dict[str, str] | None:
        """The fields up to the empty line; None where they are none, or too many."""
        fields: dict[str, str] = {}
        last, left = "", self._limits.max_fields_bytes
        while True:
            line = self._stream.read_line(min(left, _LINE_BYTES))
            left -= len(line)
            if not line.endswith(b"\n") or left <= 0:
                return None
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if not text:
                return fields
            if text[0] in " \t" and last:
                fields[last] += f" {text.strip()}"
                continue
            name, colon, value = text.partition(":")
            last = name.strip().lower()
            if not colon or not last:
                return None
            if last in _ONCE and fields.get(last, value.strip()) != value.strip():
                return None
            fields.setdefault(last, value.strip())

    def _resync(self) -> None:
        """Go on at the next line that may begin a record."""
        while (start := self._stream.peek(5)) and start != b"WARC/":
            while (line := self._stream.read_line(_LINE_BYTES)) and not line.endswith(b"\n"):
                pass

    def _new_breaks(self) -> Iterator[ForeignDamage]:
        while self._told_breaks < self._stream.breaks:
            self._told_breaks += 1
            yield ForeignDamage(fault=ForeignFault.GZIP)
