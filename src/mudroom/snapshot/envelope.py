"""What is true of a snapshot beside its bytes, in one canonical form whose digest a reference carries."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import datetime

from mudroom.clock import format_time
from mudroom.errors import Code, StoreFailed
from mudroom.model import Hop
from mudroom.snapshot.reference import SourceKind, SourceRef, build_source_id, build_source_ref, is_citable

__all__ = [
    "Envelope",
    "PreparedSnapshot",
    "Snapshot",
    "SnapshotInput",
    "StoredSnapshot",
    "decode_envelope",
    "encode_envelope",
    "prepare_snapshot",
    "reference_of",
]

_CHARSET = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,64}")

# RFC 8785 for what an envelope holds: keys of ASCII letters, strings, small integers, true, false, null.
# There it asks for sorted keys, no white space, and the shortest escapes, as this encoder writes them.
_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotInput:
    """What was fetched, for the archive to keep."""

    kind: SourceKind
    requested_url: str
    """The normal URL that was asked for; of a file, a URL of its own, its name percent-encoded."""
    url: str
    """The URL that answered."""
    status: int | None
    """None where nothing answered: files."""
    fetched_at: datetime
    body: bytes
    """As received, transfer coding removed, content coding kept."""
    headers: tuple[tuple[str, str], ...] = ()
    raw_header: bytes = b""
    """The header block as received; empty where there is none."""
    redirects: tuple[Hop, ...] = ()
    """The whole chain in order; the last hop is the one that gave the body."""
    rendered: bool = False
    run_id: str = ""
    """Which run took it in; no part of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """All of a snapshot but its bytes."""

    source_id: str
    url: str
    status: int | None
    fetched_at: str
    sha256: str
    charset: str | None
    """As the Content-Type declared it, lower case; None when it did not or not in a readable way."""
    headers: tuple[tuple[str, str], ...]
    redirects: tuple[Hop, ...]
    rendered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSnapshot:
    """A snapshot that has its reference and is not stored yet."""

    envelope: Envelope
    envelope_json: bytes = field(repr=False)
    record_sha256: str
    source_ref: str
    body: bytes = field(repr=False)
    raw_header: bytes = field(repr=False)
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """A snapshot that the archive holds."""

    source_ref: str
    source_id: str
    record_sha256: str
    sha256: str
    fetched_at: str
    size_bytes: int
    is_new: bool = True
    """False when the archive held this very record before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot as it was read back, every digest of it checked."""

    source_ref: str
    envelope: Envelope
    body: bytes = field(repr=False)
    http_block: bytes = field(repr=False)
    """The header block as stored; empty for files."""
    run_id: str

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The header fields in order, as received."""
        return self.envelope.headers


def prepare_snapshot(snapshot: SnapshotInput) -> PreparedSnapshot:
    """The snapshot with its reference; nothing is written.

    Raises: StoreFailed SNAPSHOT_MISMATCH when a URL or header holds what no record can: a lone surrogate, in
    a URL a control character, nothing, or more than a reference may have.
    """
    envelope = Envelope(
        source_id=build_source_id(snapshot.kind, snapshot.requested_url),
        url=snapshot.url,
        status=snapshot.status,
        fetched_at=format_time(snapshot.fetched_at),
        sha256=hashlib.sha256(snapshot.body).hexdigest(),
        charset=_declared_charset(snapshot.headers),
        headers=snapshot.headers,
        redirects=snapshot.redirects,
        rendered=snapshot.rendered,
    )
    envelope_json = encode_envelope(envelope)
    record_sha256 = hashlib.sha256(envelope_json).hexdigest()
    return PreparedSnapshot(
        envelope=envelope,
        envelope_json=envelope_json,
        record_sha256=record_sha256,
        source_ref=build_source_ref(reference_of(envelope, record_sha256)),
        body=snapshot.body,
        raw_header=snapshot.raw_header,
        run_id=snapshot.run_id,
    )


def reference_of(envelope: Envelope, record_sha256: str) -> SourceRef:
    """The reference that names this envelope."""
    return SourceRef(
        source_id=envelope.source_id,
        url=envelope.url,
        sha256=envelope.sha256,
        fetched_at=envelope.fetched_at,
        record=record_sha256,
    )


def encode_envelope(envelope: Envelope) -> bytes:
    """The envelope as RFC 8785 JSON in UTF-8.

    Raises: StoreFailed SNAPSHOT_MISMATCH when a string of it has no UTF-8.
    """
    value = {
        "charset": envelope.charset,
        "fetched_at": envelope.fetched_at,
        "headers": envelope.headers,
        "redirects": [
            {
                "address": hop.address,
                "exception": hop.exception,
                "protocol": hop.protocol,
                "status": hop.status,
                "url": hop.url,
            }
            for hop in envelope.redirects
        ],
        "rendered": envelope.rendered,
        "sha256": envelope.sha256,
        "source_id": envelope.source_id,
        "status": envelope.status,
        "url": envelope.url,
    }
    refusal = StoreFailed(
        Code.SNAPSHOT_MISMATCH, "the answer has a URL or header that no archive record can hold"
    )
    if not (is_citable(envelope.url) and is_citable(envelope.source_id.partition("::")[2])):
        raise refusal
    try:
        return _CANONICAL.encode(value).encode()
    except ValueError as fault:
        raise refusal from fault


def decode_envelope(untrusted_json: bytes) -> Envelope:
    """The envelope, if these bytes are its one encoding.

    Raises: StoreFailed SNAPSHOT_CORRUPT otherwise.
    """
    try:
        value = json.loads(untrusted_json)
        hops = tuple(Hop(**hop) for hop in value.pop("redirects"))
        headers = tuple((name, text) for name, text in value.pop("headers"))
        envelope = Envelope(redirects=hops, headers=headers, **value)
        is_canonical = encode_envelope(envelope) == untrusted_json
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, StoreFailed) as fault:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, "the envelope of an archive record cannot be read"
        ) from fault
    if not is_canonical:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, "the envelope of an archive record is not in its canonical form"
        )
    return envelope


def _declared_charset(headers: tuple[tuple[str, str], ...]) -> str | None:
    """The charset parameter of the first Content-Type that has one in readable form.

    Source: RFC 9110 section 8.3; quotes are allowed, the first parameter of the name counts.
    """
    for name, value in headers:
        if name.lower() != "content-type":
            continue
        for parameter in value.split(";")[1:]:
            key, _, text = parameter.partition("=")
            if key.strip().lower() == "charset":
                label = text.strip().strip('"').lower()
                return label if _CHARSET.fullmatch(label) else None
    return None
