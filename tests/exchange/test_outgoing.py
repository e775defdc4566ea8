"""What leaves of a run, and in which form."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.exchange.cdxj import sort_key_of
from mudroom.snapshot import KeepRule
from mudroom.testing.transports import PaperAnswer

from .conftest import BAD, SITE, Desk

COOKIES = (("Set-Cookie", "sid=secret"), ("set-cookie2", "more=secret"), ("ETag", '"x"'))


@pytest.fixture
def busy(tmp_path: Path) -> Desk:
    """A desk with four pages: stored with cookies, blocked, missing, stored."""
    answers = {
        f"{SITE}/": PaperAnswer(body=b"<p>one", headers=COOKIES),
        f"{SITE}/bad": PaperAnswer(body=b"<p>two"),
        f"{SITE}/gone": PaperAnswer(status=404, body=b"<p>gone"),
        f"{SITE}/last": PaperAnswer(body=b"<p>one"),
    }
    return Desk(tmp_path, answers, [(), (BAD,)])


def read(warc: bytes) -> list[tuple[str, str, bytes]]:
    """Type, URL and body of each record, as warcio reads them, digests checked."""
    found = []
    for record in ArchiveIterator(io.BytesIO(warc), check_digests="raise"):
        headers = record.rec_headers
        found.append((record.rec_type, headers.get_header("WARC-Target-URI"), record.content_stream().read()))
    return found


async def test_accepted_pages_leave_and_nothing_else(busy: Desk) -> None:
    warc = await busy.write_warc(await busy.take_run())
    assert read(warc)[0][0] == "warcinfo"
    assert read(warc)[1:] == [("response", f"{SITE}/", b"<p>one"), ("response", f"{SITE}/last", b"<p>one")]


async def test_the_rest_leaves_when_it_is_asked_for(busy: Desk) -> None:
    warc = await busy.write_warc(await busy.take_run(), is_all=True)
    assert [url for _, url, _ in read(warc)[1:]] == [
        f"{SITE}{path}" for path in ("/", "/bad", "/gone", "/last")
    ]


async def test_cookies_leave_only_when_they_are_asked_for(busy: Desk) -> None:
    run_id = await busy.take_run()
    without = gzip.decompress(await busy.write_warc(run_id, is_all=True))
    with_cookies = gzip.decompress(await busy.write_warc(run_id, with_cookies=True))
    assert b"secret" not in without
    assert b"etag" in without.lower()
    assert b"sid=secret" in with_cookies


async def test_the_same_run_gives_the_same_bytes(busy: Desk) -> None:
    run_id = await busy.take_run()
    assert await busy.write_warc(run_id) == await busy.write_warc(run_id)
    assert await busy.write_wacz(run_id) == await busy.write_wacz(run_id)


async def test_what_was_kept_comes_in_elsewhere_with_the_same_digests_and_verdicts(
    busy: Desk, tmp_path: Path
) -> None:
    run_id = await busy.take_run()
    elsewhere = Desk(tmp_path, scans=[(), (BAD,)])
    manifest = await elsewhere.take_in(await busy.write_warc(run_id, is_all=True), at_once=1)
    original = await busy.house.corpus.read_manifest(run_id)
    keys = ("n", "url", "outcome", "decision", "code", "sha256", "http_status")
    assert [[page[key] for key in keys] for page in manifest["pages"]] == [
        [page[key] for key in keys] for page in original["pages"]
    ]


async def test_a_wacz_holds_the_warc_its_index_and_its_pages(busy: Desk) -> None:
    run_id = await busy.take_run()
    container = zipfile.ZipFile(io.BytesIO(await busy.write_wacz(run_id)))
    assert container.testzip() is None
    warc = container.read("archive/data.warc.gz")
    assert [url for _, url, _ in read(warc)[1:]] == [f"{SITE}/", f"{SITE}/last"]
    lines = container.read("indexes/index.cdxj").decode().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        key, _, fields = line.split(" ", 2)
        entry: dict[str, Any] = json.loads(fields)
        start, size = int(entry["offset"]), int(entry["length"])
        ((_, url, _),) = read(warc[start : start + size])
        assert (url, sort_key_of(url)) == (entry["url"], key)
    pages = [json.loads(line) for line in container.read("pages/pages.jsonl").decode().splitlines()]
    assert pages[0]["format"] == "json-pages-1.0"
    assert [page["url"] for page in pages[1:]] == [f"{SITE}/", f"{SITE}/last"]
    package = json.loads(container.read("datapackage.json"))
    assert package["wacz_version"] == "1.1.1"
    assert {item["path"] for item in package["resources"]} == {
        "archive/data.warc.gz", "indexes/index.cdxj", "pages/pages.jsonl"
    }  # fmt: skip


async def test_a_wacz_comes_in_again(busy: Desk, tmp_path: Path) -> None:
    elsewhere = Desk(tmp_path)
    manifest = await elsewhere.take_in(await busy.write_wacz(await busy.take_run()))
    assert [page["url"] for page in manifest["pages"]] == [f"{SITE}/", f"{SITE}/last"]


async def test_a_page_whose_bytes_were_not_kept_cannot_leave(busy: Desk) -> None:
    run_id = await busy.take_run(KeepRule.NONE)
    with pytest.raises(NotFound) as caught:
        await busy.write_warc(run_id)
    assert caught.value.code is Code.SNAPSHOT_MISSING


async def test_a_record_that_is_damaged_lets_no_file_come_to_be(busy: Desk) -> None:
    run_id = await busy.take_run()

    async def damaged(_: str) -> Any:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record is damaged")

    busy.house.archive.get = damaged  # type: ignore[method-assign]
    with pytest.raises(StoreFailed) as caught:
        await busy.write_warc(run_id)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT
    assert caught.value.message == f"page 1 of {run_id}: a record is damaged; nothing was written"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.Example.com/Path/?b=2&A=1#x", "com,example)/path?a=1&b=2"),
        ("http://example.com", "com,example)/"),
        ("http://example.com:8080/x", "com,example:8080)/x"),
        ("https://www2.example.com/a/b/", "com,example)/a/b"),
        ("http://127.0.0.1:8000/", "1,0,0,127:8000)/"),
        ("file:///a%20b", "file:///a%20b"),
    ],
)
def test_keys_are_those_that_replayers_look_for(url: str, key: str) -> None:
    assert sort_key_of(url) == key
