"""A WARC/1.1 record from values: same values, same bytes.

Ids and dates are given, never made here. Both digests are SHA-256; warcio, pywb and fastwarc read them.
Source: WARC/1.1 (IIPC), sections 4 to 6; the field WARC-Protocol as the crawlers of webrecorder write it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum, unique

from mudroom.warc.compression import DEFAULT_GZIP_LEVEL, compress_member

__all__ = ["RecordInput", "RecordType", "derive_record_id", "encode_record", "serialize_record"]

_CONTROLS = dict.fromkeys((*range(32), 127))


@unique
class RecordType(StrEnum):
    """The types that we write."""

    WARCINFO = "warcinfo"
    RESPONSE = "response"
    RESOURCE = "resource"
    REVISIT = "revisit"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInput:
    """All that a record is made of.

    `head` is the HTTP header block of a response with its empty line, else empty; the block is head and
    payload. `fields` are further WARC fields in the order in which they are written.
    """

    type: RecordType
    record_id: str
    """urn:uuid:…, without angle brackets."""
    date: str
    """RFC 3339 in UTC; WARC/1.1 allows fractions of a second."""
    content_type: str
    payload: bytes
    head: bytes = b""
    target_uri: str | None = None
    payload_sha256: str | None = None
    """Of the payload, 64 hex digits, when the caller knows it; computed otherwise. Of a revisit, of the body
    that it stands for and does not hold."""
    fields: tuple[tuple[str, str], ...] = ()


def derive_record_id(*names: str) -> str:
    """A urn:uuid that is the same for the same names.

    Source: RFC 9562 section 5.8 (version 8, our own derivation: SHA-256 over the names, NUL between them).
    """
    digest = bytearray(hashlib.sha256("\0".join(names).encode()).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"urn:uuid:{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def serialize_record(record: RecordInput) -> tuple[bytes, ...]:
    """The record as pieces that follow one another: WARC fields, head, payload, end.

    Raises: ValueError when a field's value holds a control character, which would start another field.
    """
    payload_digest = record.payload_sha256 or hashlib.sha256(record.payload).hexdigest()
    if record.head or record.type is RecordType.REVISIT:
        block = hashlib.sha256(record.head)
        block.update(record.payload)
        block_digest = block.hexdigest()
    else:
        block_digest = payload_digest
    fields = [
        ("WARC-Type", record.type.value),
        ("WARC-Record-ID", f"<{record.record_id}>"),
        ("WARC-Date", record.date),
    ]
    if record.target_uri is not None:
        fields.append(("WARC-Target-URI", record.target_uri))
    fields += record.fields
    fields += (
        ("WARC-Block-Digest", f"sha256:{block_digest}"),
        ("Content-Type", record.content_type),
        ("Content-Length", str(len(record.head) + len(record.payload))),
    )
    if record.type in {RecordType.RESPONSE, RecordType.REVISIT}:
        fields.append(("WARC-Payload-Digest", f"sha256:{payload_digest}"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    if len(lines.translate(_CONTROLS)) != len(lines) - 2 * len(fields):
        raise ValueError("a WARC field cannot hold a control character")
    return (f"WARC/1.1\r\n{lines}\r\n".encode(), record.head, record.payload, b"\r\n\r\n")


def encode_record(record: RecordInput, level: int = DEFAULT_GZIP_LEVEL) -> bytes:
    """The record as one gzip member."""
    return compress_member(serialize_record(record), level)
