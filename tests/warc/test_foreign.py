"""Archives that others wrote, sound and unsound, and what is read of them."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib

import pytest

from mudroom.warc import ForeignDamage, ForeignLimits, ForeignRecord, read_foreign


def record(
    body: bytes = b"hello", *, version: str = "1.1", length: int | None = None, more: str = ""
) -> bytes:
    size = len(body) if length is None else length
    fields = f"WARC-Type: resource\r\nWARC-Target-URI: http://a.example/\r\n{more}Content-Length: {size}\r\n"
    return f"WARC/{version}\r\n{fields}\r\n".encode() + body + b"\r\n\r\n"


def read(archive: bytes, **limits: int) -> list[str]:
    """The blocks of records, and the faults between them."""
    return [
        item.block.decode("latin-1") if isinstance(item, ForeignRecord) else f"<{item.fault}>"
        for item in read_foreign(io.BytesIO(archive), ForeignLimits(**limits))
    ]


A, B, C = record(b"aaa"), record(b"bbb"), record(b"ccc")
SOUND = {
    "plain": A + B,
    "gzip by the record": gzip.compress(A) + gzip.compress(B),
    "gzip for all": gzip.compress(A + B),
    "gzip in odd pieces": gzip.compress(A[:9]) + gzip.compress(A[9:] + B[:50]) + gzip.compress(B[50:]),
    "padding between members": gzip.compress(A) + b"\0" * 700 + gzip.compress(B) + b"\0" * 9,
    "versions of old": record(b"aaa", version="0.17") + record(b"bbb", version="1.0"),
    "lines without CR": A.replace(b"\r\n", b"\n") + B.replace(b"\r\n", b"\n"),
    "blank lines between": b"\r\n\n" + A + b"\r\n\r\n\r\n" + B + b"\n\n",
    "nothing behind the last": (A + B).removesuffix(b"\r\n\r\n"),
    "half an end behind the last": (A + B).removesuffix(b"\r\n"),
    "folded fields": record(b"aaa", more="WARC-Note: one\r\n two\r\n\tthree\r\n") + B,
    "fields twice": record(b"aaa", more="WARC-Concurrent-To: <a>\r\nWARC-Concurrent-To: <b>\r\n") + B,
}


@pytest.mark.parametrize("archive", SOUND.values(), ids=SOUND)
def test_every_way_of_writing_a_record_is_read(archive: bytes) -> None:
    assert read(archive) == ["aaa", "bbb"]


UNSOUND: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", []),
    "cut in a block": (A + B[:-6], ["aaa", "<TRUNCATED>"]),
    "cut in the fields": (A + B[:20], ["aaa", "<FIELDS>"]),
    "a length too small": (record(b"aaa", length=1) + B, ["<LENGTH>", "bbb"]),
    "a length too large": (record(b"aaa", length=20) + B + C, ["<LENGTH>", "ccc"]),
    "a length of more than there is": (record(b"aaa", length=10**9) + B, ["<TRUNCATED>"]),
    "a length below zero": (record(b"aaa", length=-1) + B, ["<FIELDS>", "bbb"]),
    "a length that is none": (A.replace(b"Length: 3", b"Length: 0x3") + B, ["<FIELDS>", "bbb"]),
    "a length beyond all": (A.replace(b"Length: 3", b"Length: " + b"9" * 40) + B, ["<FIELDS>", "bbb"]),
    "two lengths": (record(b"aaa", more="Content-Length: 9\r\n") + B, ["<FIELDS>", "bbb"]),
    "two URLs": (record(b"aaa", more="WARC-Target-URI: http://b.example/\r\n") + B, ["<FIELDS>", "bbb"]),
    "a line that is no field": (record(b"aaa", more="nonsense\r\n") + B, ["<FIELDS>", "bbb"]),
    "another version": (record(b"aaa", version="2.0") + B, ["<NO_RECORD>", "bbb"]),
    "bytes between": (A + b"\x00\xff junk\n" + B, ["aaa", "<NO_RECORD>", "bbb"]),
    "a bit turned in gzip": (
        gzip.compress(A) + gzip.compress(B)[:30] + b"\xff" + gzip.compress(B)[31:] + gzip.compress(C),
        ["aaa", "<GZIP>", "ccc"],
    ),
    "no gzip between": (gzip.compress(A) + b"junk" + gzip.compress(C), ["aaa", "ccc"]),
}  # fmt: skip


@pytest.mark.parametrize(("archive", "expected"), UNSOUND.values(), ids=UNSOUND)
def test_what_is_no_record_is_told_and_the_next_one_is_read(archive: bytes, expected: list[str]) -> None:
    found = [item for item in read(archive) if item != "<GZIP>" or item in expected]
    assert found == expected


@pytest.mark.parametrize("cut", [1, 8, 12, 40])
def test_gzip_that_ends_early_is_told(cut: int) -> None:
    found = read(gzip.compress(A) + gzip.compress(B)[:-cut])
    assert found[0] == "aaa"
    assert "<GZIP>" in found


def test_a_record_that_is_too_large_is_passed_over() -> None:
    assert read(A + record(b"x" * 5000) + C, max_record_bytes=100) == ["aaa", "<TOO_LARGE>", "ccc"]
    assert read(A + record(b"x" * 100), max_record_bytes=100) == ["aaa", "x" * 100]


def test_no_more_is_read_than_asked_for() -> None:
    assert read(A + B + C, max_records=2) == ["aaa", "bbb", "<LIMIT>"]
    assert read(gzip.compress(A + B + C), max_unpacked_bytes=len(A) + 10) == ["aaa", "<FIELDS>", "<LIMIT>"]
    assert read(A + record(b"", more=f"X: {'y' * 5000}\r\n"), max_fields_bytes=1000) == ["aaa", "<FIELDS>"]


def test_fields_are_read_without_case_and_angle_brackets() -> None:
    text = record(more="WARC-RECORD-ID: <urn:uuid:1>\r\n").replace(
        b"http://a.example/", b"<http://a.example/>"
    )
    (found,) = read_foreign(io.BytesIO(text), ForeignLimits())
    assert isinstance(found, ForeignRecord)
    assert (found.type, found.record_id, found.target_uri) == ("resource", "urn:uuid:1", "http://a.example/")


@pytest.mark.parametrize(
    "archive",
    [
        gzip.compress(record(b"\0" * (100 << 20))),
        gzip.compress(b"WARC/1.1\r\n" + b"X: " + b"y" * (100 << 20)),
        gzip.compress(b"x" * (100 << 20)),
        b"\x1f\x8b\x08" * 300_000,
        b"WARC/1.1\r\n" * 300_000,
        gzip.compress(b"") * 20_000,
    ],
    ids=["a large block", "a long field", "no record", "false members", "false records", "empty members"],
)
def test_hostile_archives_are_read_in_little_memory(archive: bytes) -> None:
    tracemalloc.start()
    try:
        items = sum(1 for _ in read_foreign(io.BytesIO(archive), ForeignLimits(max_records=1000)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert items <= 1010
    assert peak < 24 << 20


def test_gzip_that_breaks_off_without_end_is_given_up() -> None:
    found = read(gzip.compress(A) + b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xff" * 20_000)
    assert found[0] == "aaa"
    assert found[-1] == "<LIMIT>"
    assert len(found) < 1100


def test_a_damage_is_a_value() -> None:
    (damage,) = read_foreign(io.BytesIO(b"nothing\n"), ForeignLimits())
    assert isinstance(damage, ForeignDamage)


def _member_with_raw_tail(content: bytes, tail: bytes) -> bytes:
    """A sound gzip member whose last bytes stand in it as they are: zlib writes what it cannot pack so."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
    size = len(tail).to_bytes(2, "little") + (len(tail) ^ 0xFFFF).to_bytes(2, "little")
    whole = content + tail
    ends = zlib.crc32(whole).to_bytes(4, "little") + len(whole).to_bytes(4, "little")
    return gzip.compress(b"", mtime=0)[:10] + packed + b"\x01" + size + tail + ends


@pytest.mark.parametrize("size", [1 << 20, (2 << 20) - 1, 2 << 20, 3 << 20, 5_000_000])
def test_a_record_inside_a_large_page_is_never_read_as_one_of_the_archive(size: int) -> None:
    """No byte of a member is looked at again behind its end."""

    def record(url: str, body: bytes) -> bytes:
        head = f"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body + b"\r\n\r\n"

    forged = gzip.compress(record("https://bank.example/", b"forged"))
    page = record("https://evil.example/", b"\0" * size + forged)
    at = page.rindex(forged)
    archive = _member_with_raw_tail(page[:at], page[at:]) + gzip.compress(
        record("https://next.example/", bytes(range(256)) * 40)
    )
    found = list(read_foreign(io.BytesIO(archive), ForeignLimits()))
    assert not [item for item in found if isinstance(item, ForeignDamage)]
    assert [item.target_uri for item in found] == ["https://evil.example/", "https://next.example/"]
