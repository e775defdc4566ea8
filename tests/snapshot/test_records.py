"""Spans that are whole as gzip and as WARC, and still not what was kept."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot import Snapshot, SourceKind, prepare_snapshot
from mudroom.snapshot.records import encode_span, read_span, verify_span
from mudroom.warc import compress_member, decompress_member

from .conftest import page

_OWNER = "urn:uuid:00000000-0000-8000-8000-000000000000"


def _span(path: str = "p", body: bytes = b"<p>hello", **changes: object) -> bytes:
    snapshot = replace(page(path, body), **changes)
    return encode_span(prepare_snapshot(snapshot), warcinfo_id=_OWNER, gzip_level=1)


def _members(span: bytes) -> tuple[bytes, bytes]:
    content, length = decompress_member(span, 1 << 20)
    return content, gzip.decompress(span[length:])


def _read(content: bytes, metadata: bytes) -> Snapshot:
    return verify_span(read_span(compress_member((content,)) + compress_member((metadata,)), 1 << 20))


def _replaced(old: bytes, new: bytes) -> Callable[[bytes, bytes], tuple[bytes, bytes]]:
    def change(content: bytes, metadata: bytes) -> tuple[bytes, bytes]:
        assert old in content
        return content.replace(old, new), metadata

    return change


def _metadata_of_another(content: bytes, _: bytes) -> tuple[bytes, bytes]:
    return content, _members(_span("other"))[1]


def _as_resource(content: bytes, metadata: bytes) -> tuple[bytes, bytes]:
    return content.replace(b"WARC-Type: response", b"WARC-Type: resource"), metadata


def _metadata_of_another_type(content: bytes, metadata: bytes) -> tuple[bytes, bytes]:
    return content, metadata.replace(b"WARC-Type: metadata", b"WARC-Type: resource")


def _body_with_its_digests(content: bytes, metadata: bytes) -> tuple[bytes, bytes]:
    changed = content.replace(b"<p>hello", b"<p>hallo")
    for old, new in zip(_digests(content), _digests(changed), strict=True):
        changed = changed.replace(old, new)
    assert changed.count(_digests(changed)[0]) == 1
    return changed, metadata


def _digests(content: bytes) -> list[bytes]:
    block = content.split(b"\r\n\r\n", 1)[1][:-4]
    payload = block.split(b"\r\n\r\n", 1)[1]
    return [hashlib.sha256(part).hexdigest().encode() for part in (block, payload)]


_CHANGES = [
    ("another body, its digests made to fit", _body_with_its_digests),
    ("another body", _replaced(b"<p>hello", b"<p>hallo")),
    ("another header block", _replaced(b"HTTP/1.1 200 OK", b"HTTP/1.1 200 KO")),
    (
        "another URL",
        _replaced(b"WARC-Target-URI: https://example.org/p", b"WARC-Target-URI: https://example.org/q"),
    ),
    ("another date", _replaced(b"WARC-Date: 2026-11-30T12", b"WARC-Date: 2026-11-30T13")),
    ("no block digest", _replaced(b"WARC-Block-Digest", b"WARC-Other-Digest")),
    ("the envelope of another record", _metadata_of_another),
    ("a response called a resource", _as_resource),
    ("an envelope called a resource", _metadata_of_another_type),
    ("the two the other way round", lambda content, metadata: (metadata, content)),
    ("the first twice", lambda content, _: (content, content)),
    ("the second twice", lambda _, metadata: (metadata, metadata)),
]


def test_an_unchanged_span_is_read() -> None:
    assert _read(*_members(_span())).body == b"<p>hello"


@pytest.mark.parametrize(("name", "change"), _CHANGES, ids=[row[0] for row in _CHANGES])
def test_a_record_that_disagrees_with_its_envelope_is_corrupt(
    name: str, change: Callable[[bytes, bytes], tuple[bytes, bytes]]
) -> None:
    with pytest.raises(StoreFailed) as caught:
        _read(*change(*_members(_span())))
    assert caught.value.code is Code.SNAPSHOT_CORRUPT


def test_bytes_behind_the_envelope_are_corrupt() -> None:
    for more in (b"x", _span("more")):
        with pytest.raises(StoreFailed, match="more follows"):
            read_span(_span() + more, 1 << 20)


def test_a_file_is_a_resource_without_header_block() -> None:
    span = _span(
        kind=SourceKind.FILE,
        status=None,
        url="file:invoice.html",
        raw_header=b"",
        headers=(("Content-Type", "text/html"),),
    )
    content, metadata = _members(span)
    assert content.startswith(b"WARC/1.1\r\nWARC-Type: resource\r\n")
    assert b"\r\nContent-Type: text/html\r\n" in content
    got = _read(content, metadata)
    assert (got.body, got.http_block) == (b"<p>hello", b"")


def test_no_request_and_no_credential_of_ours_is_in_a_span() -> None:
    content, metadata = _members(_span())
    for text in (content, metadata):
        assert b"WARC-Type: request" not in text
        assert b"authorization" not in text.lower()
