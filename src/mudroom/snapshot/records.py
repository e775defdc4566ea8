"""A snapshot as two WARC records and back: the response (or resource), then its envelope as metadata.

One span in the segment holds both, so that either both are there or the snapshot is not. Where the run holds
the same body already, the first is a revisit: it names the record that has the body, and holds the header
block alone.
Source: WARC/1.1 section 6.7.2, profile identical-payload-digest.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.envelope import Envelope, PreparedSnapshot, Snapshot, decode_envelope, reference_of
from mudroom.snapshot.reference import build_source_ref
from mudroom.warc import (
    ReadRecord,
    RecordInput,
    RecordType,
    build_http_block,
    compress_member,
    decompress_member,
    derive_record_id,
    encode_record,
    read_record,
)

__all__ = [
    "Original",
    "ParsedSpan",
    "check_content",
    "encode_span",
    "encode_warcinfo",
    "join_span",
    "move_span",
    "read_span",
    "verify_span",
]

_RUN_FIELD = "Mudroom-Run-ID"
_ORIGINAL_FIELD = "Mudroom-Original-Record"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OWNER_FIELD = "WARC-Warcinfo-ID"
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_PROTOCOLS = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2": "h2", "HTTP/3": "h3"}
_MAX_ENVELOPE_BYTES = 4 * 1024**2  # 256 KiB of header, twenty hops of 8 KiB, each byte escaped to six


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSpan:
    """The two records of a snapshot and what the second says of the first."""

    content: ReadRecord
    metadata: ReadRecord
    envelope: Envelope
    record_sha256: str

    @property
    def original_sha256(self) -> str | None:
        """Of a revisit, the record that holds its body."""
        if self.content.type != RecordType.REVISIT:
            return None
        return self.content.fields.get(_ORIGINAL_FIELD.lower(), "")

    @property
    def run_id(self) -> str:
        """Of the run that took it in."""
        return self.metadata.fields.get(_RUN_FIELD.lower(), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The record whose body a revisit repeats."""

    record_sha256: str
    url: str
    fetched_at: str


def encode_warcinfo(*, segment_name: str, created_at: str, software: str) -> tuple[bytes, str]:
    """The first record of a segment, and its id, which the others name."""
    warcinfo_id = derive_record_id("warcinfo", segment_name)
    payload = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    record = RecordInput(
        type=RecordType.WARCINFO,
        record_id=warcinfo_id,
        date=created_at,
        content_type="application/warc-fields",
        payload=payload,
        fields=(("WARC-Filename", segment_name),),
    )
    return encode_record(record), warcinfo_id


def encode_span(
    prepared: PreparedSnapshot, *, warcinfo_id: str, gzip_level: int, original: Original | None = None
) -> bytes:
    """The bytes that stand for a snapshot in a segment; with an original, as a revisit of it."""
    envelope = prepared.envelope
    owner = (_OWNER_FIELD, f"<{warcinfo_id}>")
    content_id = derive_record_id("content", prepared.record_sha256)
    metadata = RecordInput(
        type=RecordType.METADATA,
        record_id=derive_record_id("metadata", prepared.record_sha256),
        date=envelope.fetched_at,
        content_type="application/json",
        payload=prepared.envelope_json,
        payload_sha256=prepared.record_sha256,
        # A URI of its own: indexers would take the page's for another capture of the page.
        target_uri=f"urn:mudroom:envelope:{prepared.record_sha256}",
        fields=(owner, ("WARC-Refers-To", f"<{content_id}>"), (_RUN_FIELD, prepared.run_id)),
    )
    content = _content_record(prepared, content_id, owner)
    if original is not None:
        content = _as_revisit(content, original)
    return encode_record(content, gzip_level) + encode_record(metadata, gzip_level)


def _as_revisit(response: RecordInput, original: Original) -> RecordInput:
    refers_to = (
        ("WARC-Profile", _PROFILE),
        ("WARC-Refers-To", f"<{derive_record_id('content', original.record_sha256)}>"),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", original.fetched_at),
        (_ORIGINAL_FIELD, original.record_sha256),
    )
    return replace(response, type=RecordType.REVISIT, payload=b"", fields=response.fields + refers_to)


def _content_record(prepared: PreparedSnapshot, record_id: str, owner: tuple[str, str]) -> RecordInput:
    envelope = prepared.envelope
    fields = [owner]
    if envelope.redirects and envelope.redirects[-1].address:
        fields.append(("WARC-IP-Address", envelope.redirects[-1].address))
    if envelope.redirects and (protocol := _PROTOCOLS.get(envelope.redirects[-1].protocol)):
        fields.append(("WARC-Protocol", protocol))
    is_response = envelope.status is not None
    return RecordInput(
        type=RecordType.RESPONSE if is_response else RecordType.RESOURCE,
        record_id=record_id,
        date=envelope.fetched_at,
        target_uri=envelope.url,
        content_type="application/http; msgtype=response" if is_response else _media_type(envelope),
        head=b""
        if envelope.status is None
        else build_http_block(
            untrusted_raw_header=prepared.raw_header,
            status=envelope.status,
            headers=envelope.headers,
            body_bytes=len(prepared.body),
        ),
        payload=prepared.body,
        payload_sha256=envelope.sha256,
        fields=tuple(fields),
    )


def _media_type(envelope: Envelope) -> str:
    declared = next((value for name, value in envelope.headers if name.lower() == "content-type"), "")
    return declared if declared.isprintable() and declared else "application/octet-stream"


def read_span(untrusted_span: bytes, max_content_bytes: int) -> ParsedSpan:
    """The two records of a span.

    Raises: StoreFailed SNAPSHOT_CORRUPT when it does not hold exactly them.
    """
    content, length = read_record(untrusted_span, max_content_bytes)
    metadata, rest = read_record(untrusted_span[length:], _MAX_ENVELOPE_BYTES)
    if length + rest != len(untrusted_span):
        raise _corrupt("more follows than its envelope")
    return join_span(content, metadata)


def join_span(content: ReadRecord, metadata: ReadRecord) -> ParsedSpan:
    """The two records as one snapshot, if the second is the envelope of the first.

    Raises: StoreFailed SNAPSHOT_CORRUPT otherwise.
    """
    envelope = decode_envelope(metadata.block)
    expected = {"resource"} if envelope.status is None else {"response", "revisit"}
    refers_to = metadata.fields.get("warc-refers-to", "").strip("<>")
    if content.type == "revisit" and not _SHA256.fullmatch(content.fields.get(_ORIGINAL_FIELD.lower(), "")):
        raise _corrupt("it repeats a record that it does not name")
    if metadata.type != "metadata" or content.type not in expected or refers_to != content.record_id:
        raise _corrupt("its envelope belongs to another record")
    record_sha256 = hashlib.sha256(metadata.block).hexdigest()
    return ParsedSpan(content=content, metadata=metadata, envelope=envelope, record_sha256=record_sha256)


def verify_span(span: ParsedSpan, original: ParsedSpan | None = None) -> Snapshot:
    """The snapshot, after every digest of it was computed again.

    Shapes: of a revisit, `original` is the span that it names, which is checked too.
    Raises: StoreFailed SNAPSHOT_CORRUPT when content and envelope disagree, or the body is not there.
    """
    check_content(span)
    source = span if span.original_sha256 is None else _checked_original(span, original)
    body = source.content.payload if span.envelope.status is not None else source.content.block
    if hashlib.sha256(body).hexdigest() != span.envelope.sha256:
        raise _corrupt("its body is not the one that was kept")
    head_bytes = len(span.content.block) - (len(body) if source is span else 0)
    return Snapshot(
        source_ref=build_source_ref(reference_of(span.envelope, span.record_sha256)),
        envelope=span.envelope,
        body=body,
        http_block=span.content.block[:head_bytes],
        run_id=span.run_id,
    )


def check_content(span: ParsedSpan) -> None:
    """Refuse a span whose content record is not the one that was kept; what a revisit names is not looked at.

    Raises: StoreFailed SNAPSHOT_CORRUPT.
    """
    envelope, content = span.envelope, span.content
    block_digest = f"sha256:{hashlib.sha256(content.block).hexdigest()}"
    if content.fields.get("warc-block-digest") != block_digest:
        raise _corrupt("its header block is not the one that was kept")
    if (content.fields.get("warc-target-uri"), content.fields.get("warc-date")) != (
        envelope.url,
        envelope.fetched_at,
    ):
        raise _corrupt("its URL or date is not the one that was kept")


def _checked_original(span: ParsedSpan, original: ParsedSpan | None) -> ParsedSpan:
    """The original of a revisit, if it is the one that the revisit names and has a body of its own."""
    if original is None:
        raise _corrupt("the record that holds its body is gone")
    named = span.content.fields.get("warc-refers-to", "").strip("<>")
    if (
        original.record_sha256 != span.original_sha256
        or original.content.record_id != named
        or original.content.type != RecordType.RESPONSE
    ):
        raise _corrupt("the record that it names as the holder of its body is another")
    check_content(original)
    return original


def move_span(
    untrusted_span: bytes, *, max_content_bytes: int, old_id: str, new_id: str, gzip_level: int
) -> bytes:
    """The same two records as they stand in another segment: all but the warcinfo record that they name.

    Raises: StoreFailed SNAPSHOT_CORRUPT when they are not whole, or name another segment than the old one.
    """
    check_content(read_span(untrusted_span, max_content_bytes))
    content, length = decompress_member(untrusted_span, max_content_bytes)
    metadata, _ = decompress_member(untrusted_span[length:], _MAX_ENVELOPE_BYTES)
    return b"".join(
        compress_member(_renamed(record, old_id, new_id), gzip_level) for record in (content, metadata)
    )


def _renamed(record: bytes, old_id: str, new_id: str) -> tuple[bytes, ...]:
    fields, end, block = record.partition(b"\r\n\r\n")
    old_line = f"\r\n{_OWNER_FIELD}: <{old_id}>".encode()
    if fields.count(old_line) != 1:
        raise _corrupt("it belongs to another segment")
    return fields.replace(old_line, f"\r\n{_OWNER_FIELD}: <{new_id}>".encode()), end, block


def _corrupt(what: str) -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, f"an archive record is damaged: {what}")
