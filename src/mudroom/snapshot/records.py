"""A snapshot as two WARC records and back: the response (or resource), then its envelope as metadata.

One span in the segment holds both, so that either both are there or the snapshot is not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.envelope import Envelope, PreparedSnapshot, Snapshot, decode_envelope, reference_of
from mudroom.snapshot.reference import build_source_ref
from mudroom.warc import (
    ReadRecord,
    RecordInput,
    RecordType,
    build_http_block,
    derive_record_id,
    encode_record,
    read_record,
)

__all__ = ["ParsedSpan", "encode_span", "encode_warcinfo", "join_span", "read_span", "verify_span"]

_RUN_FIELD = "Mudroom-Run-ID"
_PROTOCOLS = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2": "h2", "HTTP/3": "h3"}
_MAX_ENVELOPE_BYTES = 4 * 1024**2  # 256 KiB of header, twenty hops of 8 KiB, each byte escaped to six


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSpan:
    """The two records of a snapshot and what the second says of the first."""

    content: ReadRecord
    metadata: ReadRecord
    envelope: Envelope
    record_sha256: str


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


def encode_span(prepared: PreparedSnapshot, *, warcinfo_id: str, gzip_level: int) -> bytes:
    """The bytes that stand for a snapshot in a segment."""
    envelope = prepared.envelope
    owner = ("WARC-Warcinfo-ID", f"<{warcinfo_id}>")
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
    return encode_record(content, gzip_level) + encode_record(metadata, gzip_level)


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
    expected = "resource" if envelope.status is None else "response"
    refers_to = metadata.fields.get("warc-refers-to", "").strip("<>")
    if metadata.type != "metadata" or content.type != expected or refers_to != content.record_id:
        raise _corrupt("its envelope belongs to another record")
    record_sha256 = hashlib.sha256(metadata.block).hexdigest()
    return ParsedSpan(content=content, metadata=metadata, envelope=envelope, record_sha256=record_sha256)


def verify_span(span: ParsedSpan) -> Snapshot:
    """The snapshot, after every digest of it was computed again.

    Raises: StoreFailed SNAPSHOT_CORRUPT when content and envelope disagree.
    """
    envelope, content = span.envelope, span.content
    body = content.payload if envelope.status is not None else content.block
    if hashlib.sha256(body).hexdigest() != envelope.sha256:
        raise _corrupt("its body is not the one that was kept")
    block_digest = f"sha256:{hashlib.sha256(content.block).hexdigest()}"
    if content.fields.get("warc-block-digest") != block_digest:
        raise _corrupt("its header block is not the one that was kept")
    if (content.fields.get("warc-target-uri"), content.fields.get("warc-date")) != (
        envelope.url,
        envelope.fetched_at,
    ):
        raise _corrupt("its URL or date is not the one that was kept")
    return Snapshot(
        source_ref=build_source_ref(reference_of(envelope, span.record_sha256)),
        envelope=envelope,
        body=body,
        http_block=content.block[: len(content.block) - len(body)],
        run_id=span.metadata.fields.get(_RUN_FIELD.lower(), ""),
    )


def _corrupt(what: str) -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, f"an archive record is damaged: {what}")
