from __future__ import annotations

import gzip
import io
import zlib

import pytest

from mudroom.warc import Damage, RecordInput, RecordType, ScanItem, compress_member, derive_record_id, iterate
from mudroom.warc import encode_record as encode

_OWNER = derive_record_id("warcinfo", "segment")
_MAX = 1 << 20


def _record(name: str, payload: bytes = b"payload", owner: str = _OWNER) -> bytes:
    return encode(
        RecordInput(
            type=RecordType.RESOURCE,
            record_id=derive_record_id(name),
            date="2026-11-30T12:00:00.000Z",
            content_type="text/plain",
            payload=payload,
            target_uri=f"https://example.org/{name}",
            fields=(("WARC-Warcinfo-ID", f"<{owner}>"),),
        )
    )


def _seen(data: bytes, *, owner: str = _OWNER) -> list[str | tuple[int, int]]:
    seen: list[str | tuple[int, int]] = []
    for item in iterate(io.BytesIO(data), max_record_bytes=_MAX, owner_id=owner):
        if isinstance(item, Damage):
            seen.append((item.offset, item.length))
        else:
            assert isinstance(item, ScanItem)
            assert data[item.offset : item.offset + 2] == b"\x1f\x8b"
            seen.append(item.record.fields["warc-target-uri"].rpartition("/")[2])
    return seen


_A, _B, _C = _record("a"), _record("b", b"x" * 300_000), _record("c")


def test_records_come_in_order_with_their_offsets() -> None:
    items = list(iterate(io.BytesIO(_A + _B + _C), max_record_bytes=_MAX))
    assert [(item.offset, item.length) for item in items] == [
        (0, len(_A)),
        (len(_A), len(_B)),
        (len(_A + _B), len(_C)),
    ]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("empty", b"", []),
        ("cut in the last record", _A + _C[:-3], ["a", (len(_A), len(_C) - 3)]),
        ("cut in the first bytes", _A + _C[:1], ["a", (len(_A), 1)]),
        ("zeros at the end", _A + b"\0" * 600_000, ["a", (len(_A), 600_000)]),
        ("zeros, then more", _A + b"\0" * 9 + b"x", ["a", (len(_A), 10)]),
        ("garbage at the end", _A + b"garbage", ["a", (len(_A), 7)]),
        ("garbage between", _A + b"garbage" + _C, ["a", (len(_A), 7), "c"]),
        ("far behind damage", _A + b"g" * 600_000 + _C, ["a", (len(_A), 600_000), "c"]),
        ("first is damaged", b"x" + _A[1:] + _C, [(0, len(_A)), "c"]),
        ("a torn record in the middle", _A + _B[:200] + _C, ["a", (len(_A), 200), "c"]),
        (
            "a gzip that is no record",
            _A + compress_member((b"hello",)) + _C,
            ["a", (len(_A), 25), "c"],
        ),
    ],
)
def test_damage_is_told_and_what_is_whole_behind_it_is_found(
    name: str, data: bytes, expected: list[object]
) -> None:
    assert _seen(data) == expected


def test_a_flipped_bit_costs_one_record() -> None:
    data = bytearray(_A + _B + _C)
    data[len(_A) + 100] ^= 1
    assert _seen(bytes(data)) == ["a", (len(_A), len(_B)), "c"]


def test_a_record_in_a_body_is_not_taken_for_one_of_ours_behind_damage() -> None:
    # Stored without packing, a body stands in the segment as it came: a page can bring a gzip member.
    forged = _record("forged", owner=derive_record_id("warcinfo", "guessed"))
    carrier = zlib.compress(gzip.decompress(_record("carrier", b"-" * 20 + forged + b"-" * 20)), 0, 31)
    assert forged in carrier
    for cut in (1, 10, 30):
        assert _seen(_A + carrier[:-cut])[:1] == ["a"]
        assert "forged" not in _seen(_A + carrier[:-cut])
        assert "forged" not in _seen(_A + carrier[:-cut] + _C)


def test_without_the_owner_nothing_behind_damage_is_believed() -> None:
    assert _seen(_A + b"garbage" + _C, owner="") == ["a", (len(_A), 7 + len(_C))]


def test_a_record_larger_than_allowed_is_damage_and_not_unpacked() -> None:
    bomb = _record("bomb", b"\0" * (_MAX + 1))
    assert _seen(_A + bomb + _C) == ["a", (len(_A), len(bomb)), "c"]
