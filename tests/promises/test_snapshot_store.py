"""What every snapshot store promises, run on each that we ship."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from mudroom.errors import Code, MudroomError
from mudroom.model import Hop
from mudroom.snapshot import (
    FileSnapshotStore,
    MemorySnapshotStore,
    PruneRule,
    SnapshotInput,
    SnapshotOptions,
    SnapshotStore,
    SourceKind,
    parse_source_ref,
)

_START = datetime(2026, 11, 30, 12, 0, 0, 0, UTC)


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SnapshotStore]:
    options = SnapshotOptions(max_bytes=200_000, max_records_per_source=5)
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


async def test_the_same_payload_again_in_a_run_is_got_as_it_came(store: SnapshotStore) -> None:
    body = b"<p>the same words</p>" * 50
    first = await store.put(_page("a", body))
    second = await store.put(replace(_page("b", body, seconds=1), headers=(("X", "other"),), raw_header=b""))
    for stored, path in ((first, "a"), (second, "b")):
        got = await store.get(stored.source_ref)
        assert (got.body, got.source_ref) == (body, stored.source_ref)
        assert got.envelope.url.endswith(path)
        assert got.http_block.endswith(b"\r\n\r\n")
    assert (await store.latest("page::https://example.org/b")).headers == (("X", "other"),)
    originals = [record.original_sha256 async for record in store.iterate_all()]
    assert originals == [None, first.record_sha256]


@pytest.mark.parametrize("body", [b"", b"x" * 500])
async def test_a_body_of_another_run_or_of_a_file_or_of_no_run_is_kept_whole(
    store: SnapshotStore, body: bytes
) -> None:
    await store.put(_page("a", body))
    await store.put(replace(_page("b", body), run_id="crawl_2"))
    await store.put(replace(_page("c", body), status=None, kind=SourceKind.FILE, raw_header=b""))
    for path in ("d", "e"):
        await store.put(replace(_page(path, body), run_id=""))
    assert [record.original_sha256 async for record in store.iterate_all()] == [None] * 5


async def test_a_run_finds_its_own_records_in_order_of_time(store: SnapshotStore) -> None:
    mine = [await store.put(_page(body=b"%d" % n, seconds=n)) for n in (5, 9, 1)]
    await store.put(replace(_page(body=b"7", seconds=7), run_id="crawl_2"))
    await store.put(_page("other", b"other", seconds=3))
    found = await store.find_in_run("crawl_1", "page::https://example.org/p")
    assert [stored.source_ref for stored in found] == [mine[n].source_ref for n in (2, 0, 1)]
    assert await store.find_in_run("crawl_3", "page::https://example.org/p") == ()
    assert [record.snapshot.body async for record in store.iterate_run("crawl_1")] == [
        b"1",
        b"other",
        b"5",
        b"9",
    ]
    assert [record.snapshot.body async for record in store.iterate_run("crawl_2")] == [b"7"]
    assert await store.list_run_ids() == ("crawl_1", "crawl_2")


async def test_many_records_are_iterated_each_once(store: SnapshotStore) -> None:
    stored = await asyncio.gather(*(store.put(_page(str(n), b"%d" % n)) for n in range(90)))
    expected = {one.source_ref for one in stored}
    for records in (store.iterate_all(), store.iterate_run("crawl_1")):
        refs = [record.snapshot.source_ref async for record in records]
        assert len(refs) == 90
        assert set(refs) == expected


async def test_a_source_with_as_many_records_as_it_may_have_is_full_and_no_other(
    store: SnapshotStore,
) -> None:
    for number in range(5):
        await store.put(_page(body=b"%d" % number, seconds=number))
    assert await _code(store.put(_page(body=b"6", seconds=6))) is Code.SNAPSHOT_HISTORY_FULL
    assert not (await store.put(_page(body=b"0"))).is_new
    assert (await store.put(_page("other"))).is_new
    assert (await store.latest("page::https://example.org/p")).body == b"4"


_SOURCE = "page::https://example.org/p"


async def _filled(store: SnapshotStore, count: int = 5) -> list[str]:
    """References of so many records of one source, oldest first."""
    return [(await store.put(_page(body=b"%d" % n, seconds=n))).source_ref for n in range(count)]


async def _listed(store: SnapshotStore) -> list[str]:
    return [stored.source_ref for stored in await store.list(_SOURCE)][::-1]


@pytest.mark.parametrize(
    ("keep_last", "left"), [(-1, [4]), (0, [4]), (1, [4]), (3, [2, 3, 4]), (9, [0, 1, 2, 3, 4])]
)
async def test_the_newest_stay_and_the_head_always(
    store: SnapshotStore, keep_last: int, left: list[int]
) -> None:
    refs = await _filled(store)
    await store.put(_page("other"))
    report = await store.prune(PruneRule(keep_last=keep_last))
    assert await _listed(store) == [refs[n] for n in left]
    assert (report.removed, report.retained) == (5 - len(left), len(left) + 1)
    assert (await store.latest("page::https://example.org/other")).body == b"<p>hello"
    for number, ref in enumerate(refs):
        if number in left:
            assert (await store.get(ref)).body == b"%d" % number
        else:
            assert await _code(store.get(ref)) is Code.SNAPSHOT_MISSING


async def test_what_is_cited_young_or_of_another_source_or_run_stays(store: SnapshotStore) -> None:
    refs = await _filled(store)
    for rule in (
        PruneRule(keep=refs),
        PruneRule(older_than=_START),
        PruneRule(source_ids=["page::https://example.org/q"]),
        PruneRule(source_ids=[]),
        PruneRule(run_ids=["crawl_2"]),
        PruneRule(run_ids=[]),
        PruneRule(is_dry_run=True),
    ):
        assert (await store.prune(rule)).retained == (1 if rule.is_dry_run else 5)
        assert await _listed(store) == refs
    rule = PruneRule(
        keep=[refs[1]],
        older_than=_START + timedelta(seconds=3),
        source_ids=[_SOURCE],
        run_ids=["crawl_1"],
    )
    assert (await store.prune(rule)).removed == 2
    assert await _listed(store) == [refs[1], refs[3], refs[4]]


async def test_a_reference_to_keep_that_is_none_changes_nothing(store: SnapshotStore) -> None:
    refs = await _filled(store)
    assert await _code(store.prune(PruneRule(keep=[refs[0], "x"]))) is Code.INVALID_REFERENCE
    assert await _listed(store) == refs


async def test_the_original_that_a_kept_revisit_needs_stays_until_the_revisit_goes(
    store: SnapshotStore,
) -> None:
    body = b"the same words " * 20
    original = await store.put(_page(body=body))
    await store.put(_page(body=b"newer", seconds=5))
    revisit = await store.put(_page("other", body, seconds=1))
    assert (await store.prune(PruneRule())).removed == 0
    assert (await store.get(revisit.source_ref)).body == body
    await store.put(_page("other", b"newer still", seconds=7))
    assert (await store.prune(PruneRule())).removed == 2
    for stored in (original, revisit):
        assert await _code(store.get(stored.source_ref)) is Code.SNAPSHOT_MISSING


async def test_a_full_source_and_a_full_archive_take_records_again_after_a_prune(
    store: SnapshotStore,
) -> None:
    await _filled(store)
    assert await _code(store.put(_page(body=b"6", seconds=6))) is Code.SNAPSHOT_HISTORY_FULL
    await store.prune(PruneRule())
    assert (await store.put(_page(body=b"6", seconds=6))).is_new
    for number in range(2):
        await store.put(_page("big", _noise(number), seconds=number))
    assert await _code(store.put(_page("big", _noise(2), seconds=9))) is Code.ARCHIVE_FULL
    report = await store.prune(PruneRule())
    assert report.freed_bytes > 79_000
    assert (await store.put(_page("big", _noise(2), seconds=9))).is_new


def _noise(number: int) -> bytes:
    return b"".join(sha256(b"%d %d" % (number, at)).digest() for at in range(2500))


async def test_a_pruned_record_can_be_put_again(store: SnapshotStore) -> None:
    refs = await _filled(store)
    await store.prune(PruneRule())
    again = await store.put(_page(body=b"0"))
    assert (again.is_new, again.source_ref) == (True, refs[0])
    assert (await store.get(refs[0])).body == b"0"


async def test_an_archive_that_holds_nothing_is_pruned_of_nothing(store: SnapshotStore) -> None:
    report = await store.prune(PruneRule())
    assert (report.removed, report.retained, report.freed_bytes) == (0, 0, 0)


async def test_a_page_with_the_bytes_of_a_file_of_its_run_is_kept_whole(store: SnapshotStore) -> None:
    body = b"the same bytes " * 30
    await store.put(replace(_page("a", body), status=None, kind=SourceKind.FILE, raw_header=b""))
    stored = await store.put(_page("b", body))
    assert (await store.get(stored.source_ref)).body == body
    assert [record.original_sha256 async for record in store.iterate_all()] == [None, None]
