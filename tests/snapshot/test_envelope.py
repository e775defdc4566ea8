from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mudroom.errors import Code, StoreFailed
from mudroom.model import Hop
from mudroom.snapshot import SnapshotInput, SourceKind, parse_source_ref, prepare_snapshot
from mudroom.snapshot.envelope import decode_envelope, encode_envelope

_HOP = Hop(url="https://example.org/p", address="93.184.216.34", status=200, protocol="HTTP/2")
_INPUT = SnapshotInput(
    kind=SourceKind.PAGE,
    requested_url="https://example.org/p",
    url="https://example.org/p",
    status=200,
    fetched_at=datetime(2026, 11, 30, 12, 0, 0, 123456, UTC),
    body=b"caf\xe9",
    headers=(("Content-Type", "text/html; charset=windows-1252"), ("X-Note", 'a "b" \\ é \u2028\t')),
    redirects=(_HOP,),
    run_id="crawl_1",
)


def test_the_envelope_is_written_as_pinned() -> None:
    # Our own vector, in RFC 8785 form; a change here makes every reference ever cited unreadable.
    prepared = prepare_snapshot(_INPUT)
    assert prepared.envelope_json.decode() == (
        '{"charset":"windows-1252","fetched_at":"2026-11-30T12:00:00.123Z",'
        '"headers":[["Content-Type","text/html; charset=windows-1252"],["X-Note","a \\"b\\" \\\\ é \u2028\\t"]],'
        '"redirects":[{"address":"93.184.216.34","exception":null,"protocol":"HTTP/2","status":200,'
        '"url":"https://example.org/p"}],"rendered":false,'
        '"sha256":"dafd66c0b98965e688be1fc12942c09f0350e6be0685017c3f234e97d0adc92e",'
        '"source_id":"page::https://example.org/p","status":200,"url":"https://example.org/p"}'
    )
    assert prepared.source_ref == (
        "mudroom-snapshot:page%3A%3Ahttps%3A%2F%2Fexample.org%2Fp?url=https%3A%2F%2Fexample.org%2Fp"
        "&sha256=dafd66c0b98965e688be1fc12942c09f0350e6be0685017c3f234e97d0adc92e"
        "&fetched_at=2026-11-30T12%3A00%3A00.123Z"
        "&record=4fb1beb6e62fa638331099ceb79f87085b7d8f415f3527fc3142e40862b9cd5a"
    )


def test_the_hash_is_over_bytes_and_the_declared_charset_is_noted() -> None:
    envelope = prepare_snapshot(_INPUT).envelope
    assert envelope.charset == "windows-1252"
    assert envelope.sha256 == "dafd66c0b98965e688be1fc12942c09f0350e6be0685017c3f234e97d0adc92e"


_CHANGES = [
    ("kind", {"kind": SourceKind.RENDER}),
    ("requested URL", {"requested_url": "https://example.org/q"}),
    ("URL", {"url": "https://example.org/q"}),
    ("status", {"status": 404}),
    ("moment", {"fetched_at": _INPUT.fetched_at + timedelta(milliseconds=1)}),
    ("body", {"body": b"cafe"}),
    ("a header's value", {"headers": (("Content-Type", "text/html; charset=utf-8"), _INPUT.headers[1])}),
    ("a header's name", {"headers": (("content-type", _INPUT.headers[0][1]), _INPUT.headers[1])}),
    ("order of headers", {"headers": _INPUT.headers[::-1]}),
    ("a header fewer", {"headers": _INPUT.headers[:1]}),
    ("no redirects", {"redirects": ()}),
    ("address dialled", {"redirects": (replace(_HOP, address="93.184.216.35"),)}),
    ("rendered", {"rendered": True}),
]


@pytest.mark.parametrize(("name", "change"), _CHANGES, ids=[row[0] for row in _CHANGES])
def test_any_change_of_the_envelope_changes_the_reference(name: str, change: dict[str, object]) -> None:
    assert prepare_snapshot(replace(_INPUT, **change)).source_ref != prepare_snapshot(_INPUT).source_ref


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("the run", {"run_id": "crawl_2"}),
        ("microseconds", {"fetched_at": _INPUT.fetched_at + timedelta(microseconds=1)}),
        ("the zone", {"fetched_at": _INPUT.fetched_at.astimezone(timezone(timedelta(hours=2)))}),
    ],
)
def test_what_the_envelope_does_not_hold_does_not_change_it(name: str, change: dict[str, object]) -> None:
    assert prepare_snapshot(replace(_INPUT, **change)).source_ref == prepare_snapshot(_INPUT).source_ref


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html", None),
        ("text/html; charset=UTF-8", "utf-8"),
        ('text/html; charset="Shift_JIS"', "shift_jis"),
        ("text/html; boundary=x; Charset = latin1 ; charset=utf-8", "latin1"),
        ("text/html; charset=", None),
        ("text/html; charset=" + "x" * 65, None),
        ("text/html; charset=a b", None),
        ("text/html; charset=\udc80", None),
        ("charset=utf-8", None),
    ],
)
def test_the_declared_charset_is_read_or_left(content_type: str, charset: str | None) -> None:
    headers = (("X", "charset=no"), ("content-type", content_type.replace("\udc80", "\x80")))
    assert prepare_snapshot(replace(_INPUT, headers=headers)).envelope.charset == charset


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a lone surrogate in a header", {"headers": (("X", "\udc80"),)}),
        ("a lone surrogate in the URL", {"url": "https://example.org/\ud800"}),
        ("a line break in the URL", {"url": "https://example.org/\r\nx"}),
        ("a line break in the requested URL", {"requested_url": "https://example.org/\nx"}),
        ("no URL", {"url": ""}),
        ("no requested URL", {"requested_url": ""}),
        ("a URL that no reference takes", {"url": "https://example.org/" + "a" * 8192}),
        ("a requested URL that none takes", {"requested_url": "https://example.org/" + "a" * 8192}),
    ],
)
def test_what_no_record_can_hold_is_refused(name: str, change: dict[str, object]) -> None:
    with pytest.raises(StoreFailed) as caught:
        prepare_snapshot(replace(_INPUT, **change))
    assert caught.value.code is Code.SNAPSHOT_MISMATCH


@pytest.mark.parametrize(
    "url", ["https://example.org/a::", "http://[::1]/", "https://x/" + "\u4e2d" * 8000, "::"]
)
def test_any_other_url_can_be_cited(url: str) -> None:
    prepared = prepare_snapshot(replace(_INPUT, url=url, requested_url=url))
    assert str(parse_source_ref(prepared.source_ref)) == prepared.source_ref


def test_an_envelope_is_read_back() -> None:
    prepared = prepare_snapshot(_INPUT)
    assert decode_envelope(prepared.envelope_json) == prepared.envelope


def _altered(**changes: object) -> bytes:
    value = json.loads(prepare_snapshot(_INPUT).envelope_json) | changes
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


_MALFORMED = [
    ("nothing", b""),
    ("no JSON", b"{"),
    ("no UTF-8", b'{"\xff"}'),
    ("a list", b"[]"),
    ("white space", encode_envelope(prepare_snapshot(_INPUT).envelope) + b" "),
    ("a key too many", _altered(extra=1)),
    ("a key too few", b'{"charset":null,"headers":[],"redirects":[]}'),
    ("headers of three", _altered(headers=[["a", "b", "c"]])),
    ("headers no list", _altered(headers=5)),
    ("a hop of other keys", _altered(redirects=[{"href": "x"}])),
    ("a status that is text with a surrogate", _altered(status="x").replace(b'"x"', b'"\\ud800"')),
    ("depth", b"[" * 100_000),
]


@pytest.mark.parametrize(("name", "data"), _MALFORMED, ids=[row[0] for row in _MALFORMED])
def test_an_envelope_in_any_other_form_is_corrupt(name: str, data: bytes) -> None:
    with pytest.raises(StoreFailed) as caught:
        decode_envelope(data)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT
