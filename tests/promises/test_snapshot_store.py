"""What every snapshot store promises, run on each that we ship."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mudroom.errors import Code, MudroomError
from mudroom.model import Hop
from mudroom.snapshot import (
    FileSnapshotStore,
    MemorySnapshotStore,
    SnapshotInput,
    SnapshotOptions,
    SnapshotStore,
    SourceKind,
    parse_source_ref,
)

_START = datetime(2026, 11, 30, 12, 0, 0, 0, UTC)


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SnapshotStore]:
    options = SnapshotOptions(max_bytes=200_000)
    made: SnapshotStore = (
        FileSnapshotStore(tmp_path / "private" / "archive", options)
        if request.param == "file"
        else MemorySnapshotStore(options)
    )
    yield made
    await made.aclose()


def _page(path: str = "p", body: bytes = b"<p>hello", *, seconds: int = 0, **more: object) -> SnapshotInput:
    url = f"https://example.org/{path}"
    return SnapshotInput(
        kind=SourceKind.PAGE,
        requested_url=url,
        url=url,
        status=200,
        fetched_at=_START + timedelta(seconds=seconds),
        body=body,
        headers=(("Content-Type", "text/html"), ("Set-Cookie", "a=b")),
        raw_header=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\n\r\n",
        redirects=(Hop(url=url, address="93.184.216.34", status=200, protocol="HTTP/1.1"),),
        run_id="crawl_1",
        **more,
    )


async def _code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


async def test_what_was_put_is_got_byte_for_byte(store: SnapshotStore) -> None:
    snapshot = _page(body=b"\xef\xbb\xbf\x00caf\xe9\r\n\r\n\xff")
    stored = await store.put(snapshot)
    got = await store.get(stored.source_ref)
    assert got.body == snapshot.body
    assert got.headers == snapshot.headers
    assert got.http_block == snapshot.raw_header
    assert got.envelope.redirects == snapshot.redirects
    assert (got.envelope.status, got.run_id) == (200, "crawl_1")
    assert got.source_ref == stored.source_ref


@pytest.mark.parametrize("body", [b"", b"\0", b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n", b"\x1f\x8b\x08" * 9])
async def test_any_body_comes_back(store: SnapshotStore, body: bytes) -> None:
    for more in ({}, {"raw_header": b""}, {"status": None, "kind": SourceKind.FILE, "raw_header": b""}):
        stored = await store.put(replace(_page(body=body), **more))
        assert (await store.get(stored.source_ref)).body == body


async def test_the_same_record_again_is_a_success_and_takes_no_room(store: SnapshotStore) -> None:
    first = await store.put(_page())
    second = await store.put(_page())
    assert (first.is_new, second.is_new) == (True, False)
    assert second == replace(first, is_new=False)
    assert len(await store.list("page::https://example.org/p")) == 1


async def test_the_same_record_twice_at_once_is_kept_once(store: SnapshotStore) -> None:
    answers = await asyncio.gather(*(store.put(_page()) for _ in range(20)))
    assert sum(answer.is_new for answer in answers) == 1
    assert len({answer.source_ref for answer in answers}) == 1


async def test_many_puts_at_once_are_all_kept(store: SnapshotStore) -> None:
    answers = await asyncio.gather(*(store.put(_page(str(n), b"%d" % n)) for n in range(100)))
    for number, answer in enumerate(answers):
        assert (await store.get(answer.source_ref)).body == b"%d" % number


async def test_a_prepared_snapshot_has_its_reference_and_is_not_kept(store: SnapshotStore) -> None:
    prepared = await store.prepare(_page())
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    stored = await store.commit(prepared)
    assert stored.source_ref == prepared.source_ref
    assert (await store.get(prepared.source_ref)).body == b"<p>hello"


async def test_the_newest_is_latest_and_comes_first(store: SnapshotStore) -> None:
    for seconds in (5, 9, 1):
        await store.put(_page(body=b"%d" % seconds, seconds=seconds))
    await store.put(_page("other", seconds=99))
    source_id = "page::https://example.org/p"
    assert (await store.latest(source_id)).body == b"9"
    assert [stored.fetched_at[17:19] for stored in await store.list(source_id)] == ["09", "05", "01"]


async def test_a_tie_in_time_is_broken_by_digest(store: SnapshotStore) -> None:
    refs = [(await store.put(_page(body=b"%d" % n))).source_ref for n in range(5)]
    expected = sorted(refs, key=lambda ref: parse_source_ref(ref).sha256, reverse=True)
    listed = await store.list("page::https://example.org/p")
    assert [stored.source_ref for stored in listed] == expected
    assert (await store.latest("page::https://example.org/p")).source_ref == expected[0]


async def test_kinds_of_one_url_are_sources_of_their_own(store: SnapshotStore) -> None:
    await store.put(_page(body=b"page"))
    await store.put(replace(_page(body=b"robots"), kind=SourceKind.ROBOTS))
    assert (await store.latest("robots::https://example.org/p")).body == b"robots"
    assert (await store.latest("page::https://example.org/p")).body == b"page"


async def test_what_is_not_there_is_missing(store: SnapshotStore) -> None:
    prepared = await store.prepare(_page())
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    assert await _code(store.latest("page::https://example.org/p")) is Code.SNAPSHOT_MISSING
    assert await store.list("page::https://example.org/p") == ()
    await store.put(_page("other"))
    assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISSING
    assert await store.list("page::https://example.org/p") == ()


async def test_a_reference_to_another_form_of_a_kept_moment_is_a_mismatch(store: SnapshotStore) -> None:
    await store.put(_page())
    changed = [
        await store.prepare(_page(body=b"changed")),
        await store.prepare(replace(_page(), status=404)),
        await store.prepare(replace(_page(), headers=())),
        await store.prepare(replace(_page(), rendered=True)),
        await store.prepare(replace(_page(), url="https://example.org/elsewhere")),
    ]
    for prepared in changed:
        assert await _code(store.get(prepared.source_ref)) is Code.SNAPSHOT_MISMATCH


async def test_a_reference_whose_parts_are_not_of_one_record_is_a_mismatch(store: SnapshotStore) -> None:
    stored = await store.put(_page())
    other = await store.put(_page("other", b"other"))
    for old, new in (
        (stored.sha256, other.sha256),
        ("url=https%3A%2F%2Fexample.org%2Fp", "url=https%3A%2F%2Fexample.org%2Fother"),
        ("12%3A00%3A00.000Z", "12%3A00%3A01.000Z"),
        ("page%3A%3A", "robots%3A%3A"),
    ):
        assert old in stored.source_ref
        code = await _code(store.get(stored.source_ref.replace(old, new)))
        assert code is Code.SNAPSHOT_MISMATCH


async def test_what_is_no_reference_is_invalid(store: SnapshotStore) -> None:
    for text in ("", "mudroom-snapshot:", "../../private", "x" * 100_000):
        assert await _code(store.get(text)) is Code.INVALID_REFERENCE


async def test_a_full_archive_refuses_and_keeps_what_it_has(store: SnapshotStore) -> None:
    kept = await store.put(_page())
    noise = bytes((n * 7919 + n // 251 * 13) % 256 for n in range(300_000))
    assert await _code(store.put(_page("big", _incompressible(noise)))) is Code.ARCHIVE_FULL
    assert (await store.get(kept.source_ref)).body == b"<p>hello"
    small = await store.put(_page("small", b"still fits"))
    assert (await store.get(small.source_ref)).body == b"still fits"


def _incompressible(noise: bytes) -> bytes:
    from hashlib import sha256

    return b"".join(
        sha256(noise[at : at + 32]).digest() + sha256(b"%d" % at).digest() for at in range(0, len(noise), 64)
    )


async def test_a_closed_store_refuses(store: SnapshotStore) -> None:
    stored = await store.put(_page())
    await store.aclose()
    await store.aclose()
    assert await _code(store.get(stored.source_ref)) is Code.STORE_UNAVAILABLE
    assert await _code(store.put(_page("next"))) is Code.STORE_UNAVAILABLE


async def test_what_no_record_can_hold_costs_one_snapshot(store: SnapshotStore) -> None:
    bad = replace(_page(), headers=(("X", "\udc80"),))
    assert await _code(store.put(bad)) is Code.SNAPSHOT_MISMATCH
    assert (await store.put(_page())).is_new
