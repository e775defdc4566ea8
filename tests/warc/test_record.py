from __future__ import annotations

import io

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from mudroom.errors import Code, StoreFailed
from mudroom.warc import (
    RecordInput,
    RecordType,
    compress_member,
    decompress_member,
    derive_record_id,
    encode_record,
    parse_record,
    read_record,
    serialize_record,
)

_BODY = b"<!doctype html><p>caf\xe9</p>" * 50
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def _response(**changes: object) -> RecordInput:
    values: dict[str, object] = {
        "type": RecordType.RESPONSE,
        "record_id": derive_record_id("content", "a"),
        "date": "2026-11-30T12:00:00.123Z",
        "content_type": "application/http; msgtype=response",
        "target_uri": "https://example.org/",
        "head": _HEAD,
        "payload": _BODY,
    }
    return RecordInput(**(values | changes))


def test_same_input_gives_same_bytes() -> None:
    assert encode_record(_response()) == encode_record(_response())


def test_a_record_is_written_as_pinned() -> None:
    # Our own vector: a change here changes every archive that is written from then on.
    lines = serialize_record(
        _response(head=b"", payload=b"x", type=RecordType.RESOURCE, content_type="text/plain")
    )
    assert b"".join(lines).decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: resource\r\n"
        "WARC-Record-ID: <urn:uuid:e1089dc0-ea37-8f0a-953e-2d4b01d4b32f>\r\n"
        "WARC-Date: 2026-11-30T12:00:00.123Z\r\n"
        "WARC-Target-URI: https://example.org/\r\n"
        "WARC-Block-Digest: sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\r\n"
        "Content-Type: text/plain\r\n"
        "Content-Length: 1\r\n"
        "\r\n"
        "x\r\n\r\n"
    )


def test_warcio_reads_a_record_and_finds_its_digests_right() -> None:
    records = [
        (record.rec_type, record.content_stream().read(), record.digest_checker.passed)
        for record in ArchiveIterator(io.BytesIO(encode_record(_response())), check_digests="raise")
    ]
    assert records == [("response", _BODY, True)]


def test_fastwarc_reads_a_record_and_finds_its_digests_right() -> None:
    for record in FastIterator(io.BytesIO(encode_record(_response())), parse_http=False):
        assert record.verify_block_digest()
        record.parse_http()
        assert record.verify_payload_digest()
        assert record.record_date.isoformat() == "2026-11-30T12:00:00.123000+00:00"
        assert record.reader.read() == _BODY


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_what_is_packed_at_any_level_unpacks_to_the_same(level: int) -> None:
    packed = compress_member((b"abc", _BODY), level)
    assert decompress_member(packed + b"tail", 10_000) == (b"abc" + _BODY, len(packed))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("line break in the URL", "https://example.org/\r\nWARC-Type: warcinfo"),
        ("lone line feed", "https://example.org/\nx"),
        ("NUL", "https://example.org/\0"),
    ],
)
def test_a_value_that_would_start_another_field_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="control character"):
        serialize_record(_response(target_uri=value))


def test_ids_are_version_8_uuids_and_differ_by_name() -> None:
    first, second = derive_record_id("content", "a"), derive_record_id("contenta", "")
    assert first != second
    assert first.startswith("urn:uuid:")
    assert first[23] == "8"
    assert first[28] in "89ab"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing", b""),
        ("no end of fields", b"WARC/1.1\r\nContent-Length: 0\r\n"),
        ("not WARC", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
        ("no length", b"WARC/1.1\r\nWARC-Type: response\r\n\r\n\r\n\r\n"),
        ("length not a number", b"WARC/1.1\r\nContent-Length: x\r\n\r\n\r\n\r\n"),
        ("negative length", b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n"),
        ("too short", b"WARC/1.1\r\nContent-Length: 9\r\n\r\nabc\r\n\r\n"),
        ("too long", b"WARC/1.1\r\nContent-Length: 1\r\n\r\nabc\r\n\r\n"),
        ("no end of record", b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabcdefg"),
        ("field twice", b"WARC/1.1\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc\r\n\r\n"),
        ("line without colon", b"WARC/1.1\r\nContent-Length: 3\r\nx\r\n\r\nabc\r\n\r\n"),
        ("no UTF-8", b"WARC/1.1\r\nContent-Length: 3\r\nX: \xff\r\n\r\nabc\r\n\r\n"),
        ("fields without end", b"WARC/1.1\r\n" + b"X: y\r\n" * 100_000),
    ],
)
def test_what_is_no_record_is_corrupt(name: str, content: bytes) -> None:
    with pytest.raises(StoreFailed) as caught:
        parse_record(content)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT


@pytest.mark.parametrize("cut", [1, 5, 20, 100])
def test_a_record_that_ends_early_is_corrupt(cut: int) -> None:
    with pytest.raises(StoreFailed) as caught:
        read_record(encode_record(_response())[:-cut], 1 << 20)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT


def test_a_record_larger_than_allowed_is_corrupt_and_not_unpacked() -> None:
    bomb = compress_member((b"\0" * 10_000_000,))
    with pytest.raises(StoreFailed, match="more than 1000 bytes"):
        decompress_member(bomb, 1000)


def test_any_flipped_bit_is_noticed() -> None:
    packed = bytearray(encode_record(_response(), 1))
    noticed = 0
    for position in range(10, len(packed)):  # the ten bytes before are gzip's own header
        packed[position] ^= 0x10
        with pytest.raises(StoreFailed):
            read_record(bytes(packed), 1 << 20)
        packed[position] ^= 0x10
        noticed += 1
    assert noticed == len(packed) - 10
    assert read_record(bytes(packed), 1 << 20)[1] == len(packed)
