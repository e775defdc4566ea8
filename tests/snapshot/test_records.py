"""Spans that are whole as gzip and as WARC, and still not what was kept."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot import Snapshot, SourceKind, prepare_snapshot
from mudroom.snapshot.records import Original, encode_span, move_span, read_span, verify_span
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


_ORIGINAL = Original(
    record_sha256=prepare_snapshot(page("original")).record_sha256,
    url="https://example.org/original",
    fetched_at="2026-11-30T12:00:00.000Z",
)


def _revisit_span(path: str = "p") -> bytes:
    return encode_span(prepare_snapshot(page(path)), warcinfo_id=_OWNER, gzip_level=1, original=_ORIGINAL)


def _read_revisit(content: bytes, metadata: bytes, original: bytes) -> Snapshot:
    span = read_span(compress_member((content,)) + compress_member((metadata,)), 1 << 20)
    return verify_span(span, read_span(original, 1 << 20))


def test_a_revisit_holds_the_header_block_and_names_what_holds_the_body() -> None:
    content, metadata = _members(_revisit_span())
    assert b"WARC-Type: revisit\r\n" in content
    assert b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n" in content
    assert b"WARC-Refers-To-Target-URI: https://example.org/original\r\n" in content
    assert b"WARC-Refers-To-Date: 2026-11-30T12:00:00.000Z\r\n" in content
    assert f"WARC-Payload-Digest: sha256:{hashlib.sha256(b'<p>hello').hexdigest()}".encode() in content
    assert b"<p>hello" not in content
    got = _read_revisit(content, metadata, _span("original"))
    assert (got.body, got.http_block) == (b"<p>hello", page().raw_header)


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("another record with the same body", lambda: _span("another")),
        ("a revisit in its turn", lambda: _revisit_span("original")),
        ("the same record with another body", lambda: _span("original", b"<p>other")),
    ],
)
def test_a_revisit_takes_its_body_from_no_other_record(name: str, original: Callable[[], bytes]) -> None:
    with pytest.raises(StoreFailed) as caught:
        _read_revisit(*_members(_revisit_span()), original())
    assert caught.value.code is Code.SNAPSHOT_CORRUPT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Mudroom-Original-Record: ", b"Mudroom-Original-Recor: "),
        (_ORIGINAL.record_sha256.encode(), b"0" * 64),
        (_ORIGINAL.record_sha256.encode(), b"../../etc/passwd"),
        (b"WARC-Refers-To: <urn:uuid:", b"WARC-Refers-To: <urn:uuid:0"),
        (b"WARC-Type: revisit", b"WARC-Type: response"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1 200 KO"),
    ],
)
def test_a_changed_revisit_is_corrupt(old: bytes, new: bytes) -> None:
    content, metadata = _members(_revisit_span())
    assert old in content
    with pytest.raises(StoreFailed) as caught:
        _read_revisit(content.replace(old, new), metadata, _span("original"))
    assert caught.value.code is Code.SNAPSHOT_CORRUPT


def test_a_moved_span_names_its_new_segment_and_nothing_else_changes() -> None:
    other = "urn:uuid:11111111-1111-8111-8111-111111111111"
    for span in (_span(), _revisit_span()):
        moved = move_span(span, max_content_bytes=1 << 20, old_id=_OWNER, new_id=other, gzip_level=1)
        before, after = _members(span), _members(moved)
        assert [part.replace(other.encode(), _OWNER.encode()) for part in after] == list(before)
        assert before != after
        with pytest.raises(StoreFailed, match="another segment"):
            move_span(moved, max_content_bytes=1 << 20, old_id=_OWNER, new_id=other, gzip_level=1)


def test_a_damaged_span_is_not_moved() -> None:
    content, metadata = _members(_span())
    damaged = compress_member((content.replace(b"<p>hello", b"<p>hallo"),)) + compress_member((metadata,))
    with pytest.raises(StoreFailed) as caught:
        move_span(damaged, max_content_bytes=1 << 20, old_id=_OWNER, new_id=_OWNER, gzip_level=1)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT
