from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.errors import MudroomError, NotFound
from mudroom.model import Hop
from mudroom.snapshot import SnapshotInput, SourceKind, parse_source_ref, prepare_snapshot
from mudroom.snapshot.envelope import decode_envelope
from mudroom.snapshot.records import Original, encode_span, read_span, verify_span
from mudroom.warc import Damage, build_http_block, derive_record_id, iterate, parse_record, read_record

_OWNER = derive_record_id("warcinfo", "x")
_LATIN = st.text(st.characters(max_codepoint=255), max_size=40)
_URL = st.from_regex(r"\Ahttps?://[a-z0-9.]{1,20}/[!-~]{0,40}\Z")
_HOPS = st.lists(
    st.builds(
        Hop,
        url=_URL,
        address=st.sampled_from(["", "93.184.216.34", "2001:4860::1"]),
        status=st.integers(100, 599),
        protocol=st.sampled_from(["HTTP/1.1", "HTTP/2", "HTTP/3", "weird\r\n"]),
        exception=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
    ),
    max_size=3,
).map(tuple)
_SNAPSHOTS = st.builds(
    SnapshotInput,
    kind=st.sampled_from(SourceKind),
    requested_url=_URL,
    url=_URL,
    status=st.none() | st.integers(100, 599),
    fetched_at=st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
    body=st.binary(max_size=300),
    headers=st.lists(st.tuples(_LATIN, _LATIN), max_size=4).map(tuple),
    raw_header=st.binary(max_size=80)
    | _LATIN.map(lambda text: b"HTTP/1.1 200 OK\r\n" + text.encode() + b"\r\n\r\n"),
    redirects=_HOPS,
    rendered=st.booleans(),
    run_id=st.sampled_from(["", "crawl_1"]),
)


@given(_SNAPSHOTS)
@settings(max_examples=100, deadline=None)
def test_any_snapshot_comes_back_as_it_went_in(snapshot: SnapshotInput) -> None:
    prepared = prepare_snapshot(snapshot)
    span = encode_span(prepared, warcinfo_id=_OWNER, gzip_level=1)
    assert span == encode_span(prepared, warcinfo_id=_OWNER, gzip_level=1)
    read = verify_span(read_span(span, 1 << 20))
    assert read.body == snapshot.body
    assert read.envelope == prepared.envelope
    assert read.source_ref == prepared.source_ref
    assert str(parse_source_ref(read.source_ref)) == prepared.source_ref


@given(_SNAPSHOTS, st.integers(0, 1 << 16), st.binary(max_size=4))
@settings(max_examples=100, deadline=None)
def test_no_damage_is_read_as_another_snapshot(snapshot: SnapshotInput, at: int, bytes_there: bytes) -> None:
    prepared = prepare_snapshot(snapshot)
    span = encode_span(prepared, warcinfo_id=_OWNER, gzip_level=1)
    at %= len(span)
    damaged = span[:at] + bytes_there + span[at + 1 :]
    try:
        read = verify_span(read_span(damaged, 1 << 20))
    except MudroomError:
        return
    assert (read.source_ref, read.body) == (prepared.source_ref, snapshot.body)


@given(st.text(max_size=200) | st.text("mudroom-snapshot:%3A?&=", max_size=80))
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_reference_or_invalid(text: str) -> None:
    with suppress(MudroomError):
        assert str(parse_source_ref(text)) == text


@given(
    st.binary(max_size=300) | st.binary(max_size=60).map(lambda tail: b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + tail)
)
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_record_or_corrupt(data: bytes) -> None:
    for read in (parse_record, decode_envelope, lambda raw: read_record(raw, 1000)):
        with suppress(MudroomError):
            read(data)
    items = list(iterate(io.BytesIO(data), max_record_bytes=1000, owner_id=_OWNER))
    assert sum(item.length for item in items) == len(data)
    assert all(isinstance(item, Damage) for item in items)


@given(st.binary(max_size=200), st.lists(st.tuples(_LATIN, _LATIN), max_size=4), st.integers(100, 599))
@settings(max_examples=100, deadline=None)
def test_any_header_gives_one_block_that_ends_once(
    raw: bytes, headers: list[tuple[str, str]], status: int
) -> None:
    block = build_http_block(untrusted_raw_header=raw, status=status, headers=tuple(headers), body_bytes=3)
    assert block.startswith((b"HTTP/1.1 %d" % status, b"HTTP/1.0 %d" % status))
    assert block.index(b"\r\n\r\n") == len(block) - 4
    assert b"\ntransfer-encoding" not in block.lower()


_REFS = _SNAPSHOTS.map(lambda snapshot: prepare_snapshot(snapshot).source_ref)


@given(
    _REFS,
    st.integers(0, 1 << 16),
    st.text(max_size=3) | st.sampled_from(["%", "&", "=", "+", "%41", "\u0661"]),
)
@settings(max_examples=400, deadline=None)
def test_a_reference_that_almost_parses_is_invalid_or_another_canonical_one(
    ref: str, at: int, put_there: str
) -> None:
    at %= len(ref) + 1
    for changed in (ref[:at] + put_there + ref[at:], ref[:at] + put_there + ref[at + 1 :], ref[:at]):
        with suppress(NotFound):
            assert str(parse_source_ref(changed)) == changed


@given(_REFS, st.permutations(["url", "sha256", "fetched_at", "record"]), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_reference_has_one_spelling(ref: str, keys: list[str], is_lower: bool, is_doubled: bool) -> None:
    head, _, query = ref.partition("?")
    parts = dict(part.partition("=")[::2] for part in query.split("&"))
    text = f"{head}?{'&'.join(f'{key}={parts[key]}' for key in keys)}"
    if is_lower:
        text = text.replace("%3A", "%3a")
    if is_doubled:
        text += f"&record={parts['record']}"
    if text == ref:
        return
    with pytest.raises(NotFound):
        parse_source_ref(text)


@given(_SNAPSHOTS, _SNAPSHOTS, st.integers(0, 1 << 16), st.binary(max_size=4))
@settings(max_examples=100, deadline=None)
def test_no_damage_of_a_revisit_or_its_original_gives_another_body(
    first: SnapshotInput, second: SnapshotInput, at: int, bytes_there: bytes
) -> None:
    body = b"the same"
    held = prepare_snapshot(replace(first, body=body, status=200))
    prepared = prepare_snapshot(replace(second, body=body, status=200))
    original = Original(
        record_sha256=held.record_sha256, url=held.envelope.url, fetched_at=held.envelope.fetched_at
    )
    spans = [
        encode_span(prepared, warcinfo_id=_OWNER, gzip_level=1, original=original),
        encode_span(held, warcinfo_id=_OWNER, gzip_level=1),
    ]
    assert verify_span(*(read_span(span, 1 << 20) for span in spans)).body == body
    for number, span in enumerate(spans):
        place = at % len(span)
        damaged = [*spans]
        damaged[number] = span[:place] + bytes_there + span[place + 1 :]
        with suppress(MudroomError):
            read = verify_span(*(read_span(one, 1 << 20) for one in damaged))
            assert (read.source_ref, read.body) == (prepared.source_ref, body)
