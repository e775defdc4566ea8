"""Foreign archives taken in: what they hold, what is wrong with them, and how it is told."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from typing import Any

import pytest

from mudroom.errors import Code, FileRefused
from mudroom.model import CrawlState
from mudroom.snapshot import SourceKind, parse_source_ref
from mudroom.testing.guests import CRASH
from mudroom.warc import ForeignLimits

from .conftest import BAD, HTML, SITE, Desk, response, zip_of


def ends(manifest: dict[str, Any]) -> list[str]:
    return [page["code"] or page["outcome"] for page in manifest["pages"]]


def told(manifest: dict[str, Any]) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in manifest["warnings"]}


async def test_a_page_goes_the_whole_way_and_is_marked_as_imported(desk: Desk) -> None:
    manifest = await desk.take_in(response())
    (page,) = manifest["pages"]
    assert (manifest["kind"], manifest["state"], page["outcome"]) == ("file", "COMPLETE", "STORED")
    assert manifest["options"]["imported_from"] == "foreign"
    assert (page["url"], page["http_status"]) == (f"{SITE}/", 200)
    metadata = await desk.house.corpus.read_metadata(manifest["run_id"], 1)
    assert metadata["retrieved_at"] == "2020-02-02T20:20:20.000Z"
    assert metadata["imported_at"] is not None
    assert metadata["hops"] == []
    snapshot = await desk.house.archive.get(page["source_ref"])
    assert snapshot.body == b"<p>Kept by somebody."
    assert snapshot.envelope.fetched_at == "2020-02-02T20:20:20.000Z"
    assert desk.house.transport.dialled == ()


async def test_what_a_stranger_says_of_a_page_is_never_taken_for_the_page(desk: Desk) -> None:
    manifest = await desk.take_in(response(headers=(*HTML, ("ETag", '"x"'))))
    ref = parse_source_ref(manifest["pages"][0]["source_ref"])
    assert ref.kind is SourceKind.FILE
    assert await desk.house.archive.list(f"page::{SITE}/") == ()


async def test_guests_are_not_shared_with_pages_of_the_site(desk: Desk) -> None:
    manifest = await desk.take_in(response() + response("https://www.site.example/2"))
    assert set(desk.house.guests.sites) == {("archived https://site.example", manifest["run_id"])}


async def test_verdicts_are_those_of_any_page(tmp_path: Any) -> None:
    desk = Desk(tmp_path, scans=[(BAD,), CRASH])
    manifest = await desk.take_in(response() + response(f"{SITE}/2") + response(f"{SITE}/3"), at_once=1)
    assert ends(manifest) == ["PROMPT_INJECTION", "SCANNER_FAILURE", "STORED"]
    assert manifest["totals"]["blocked"] == 2


ROWS: dict[str, tuple[bytes, list[str]]] = {
    "an error": (response(status="404 Not Found"), ["HTTP_STATUS"]),
    "a wall": (response(status="403 Forbidden", headers=(("cf-mitigated", "challenge"),)), ["BOT_WALL"]),
    "a resource": (response(kind="resource"), ["STORED"]),
    "packed content": (
        response(body=gzip.compress(b"<p>x"), headers=(*HTML, ("Content-Encoding", "gzip"))),
        ["STORED"],
    ),
    "packed content that is none": (
        response(body=b"<p>x", headers=(*HTML, ("Content-Encoding", "gzip"))),
        ["DECODE_FAILED"],
    ),
    "an unknown coding": (response(headers=(("Content-Encoding", "rot13"),)), ["UNSUPPORTED_ENCODING"]),
    "chunks": (response(body=b"4\r\n<p>x\r\n0\r\n\r\n", headers=(("Transfer-Encoding", "chunked"),)), ["STORED"]),
    "no URL of the web": (response("ftp://site.example/x"), ["INVALID_URL"]),
    "a URL that is none": (response("http://[/"), ["INVALID_URL"]),
    "a URL with a password": (response("https://me:secret@site.example/"), ["STORED"]),
    "no date": (response(date="yesterday"), ["SNAPSHOT_CORRUPT"]),
    "a date before the first": (response(date="0001-01-01T00:00:00+14:00"), ["SNAPSHOT_CORRUPT"]),
    "a date after the last": (response(date="9999-12-31T23:59:59-14:00"), ["SNAPSHOT_CORRUPT"]),
    "a block digest that does not hold": (
        response(more=(("WARC-Block-Digest", f"sha256:{'0' * 64}"),)),
        ["SNAPSHOT_CORRUPT"],
    ),
    "a payload digest that does not hold": (
        response(more=(("WARC-Payload-Digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),)),
        ["SNAPSHOT_CORRUPT"],
    ),
    "an address of ours": (response("http://10.0.0.1/"), ["STORED"]),
}  # fmt: skip


@pytest.mark.parametrize(("archive", "expected"), ROWS.values(), ids=ROWS)
async def test_each_record_has_a_typed_end(desk: Desk, archive: bytes, expected: list[str]) -> None:
    manifest = await desk.take_in(archive + response("https://after.example/"))
    assert ends(manifest) == [*expected, "STORED"]
    assert manifest["state"] == CrawlState.COMPLETE
    assert "secret" not in str(manifest)
    assert desk.house.transport.dialled == ()


async def test_a_revisit_has_the_body_of_its_original(desk: Desk) -> None:
    manifest = await desk.take_in(
        response()
        + response(date="2021-01-01T00:00:00Z", kind="revisit",
                   more=(("WARC-Refers-To-Target-URI", f"{SITE}/"), ("WARC-Refers-To-Date", "2020-02-02T20:20:20Z")))
        + response(f"{SITE}/gone", kind="revisit", more=(("WARC-Refers-To", "<urn:uuid:nowhere>"),))
    )  # fmt: skip
    assert ends(manifest) == ["STORED", "STORED", "SNAPSHOT_MISSING"]
    first, second = manifest["pages"][:2]
    assert first["sha256"] == second["sha256"]
    assert first["source_ref"] != second["source_ref"]


async def test_a_revisit_whose_digest_is_not_that_of_the_body_it_names_is_damaged(desk: Desk) -> None:
    body = b"<p>Kept by somebody."
    refers = ("WARC-Refers-To-Date", "2020-02-02T20:20:20Z")
    digests = [
        f"sha1:{hashlib.sha1(body, usedforsecurity=False).hexdigest()}",
        f"sha256:{hashlib.sha256(b'another').hexdigest()}",
        "blake9:zz",
    ]
    manifest = await desk.take_in(
        response()
        + b"".join(
            response(
                date=f"2021-01-0{n}T00:00:00Z", kind="revisit", more=(refers, ("WARC-Payload-Digest", digest))
            )
            for n, digest in enumerate(digests, 1)
        )
    )
    assert ends(manifest) == ["STORED", "STORED", "SNAPSHOT_CORRUPT", "STORED"]


async def test_a_revisit_may_repeat_the_digest_of_its_original_taken_over_chunks(desk: Desk) -> None:
    chunks = b"4\r\n<p>x\r\n0\r\n\r\n"
    digest = ("WARC-Payload-Digest", f"sha256:{hashlib.sha256(chunks).hexdigest()}")
    coded = (*HTML, ("Transfer-Encoding", "chunked"))
    manifest = await desk.take_in(
        response(body=chunks, headers=coded, more=(digest,))
        + response(
            date="2021-01-01T00:00:00Z",
            kind="revisit",
            more=(digest, ("WARC-Refers-To-Date", "2020-02-02T20:20:20Z")),
        )
    )
    assert ends(manifest) == ["STORED", "STORED"]


async def test_records_of_other_types_are_counted(desk: Desk) -> None:
    others = [response(kind=kind) for kind in ("warcinfo", "request", "metadata", "continuation", "made-up")]
    manifest = await desk.take_in(b"".join(others) + response("dns:site.example") + response())
    assert ends(manifest) == ["STORED"]
    assert told(manifest) == {
        "RECORDS_PASSED_OVER": "foreign: continuation 1, metadata 1, other 1, request 1, response 1, warcinfo 1"
    }


async def test_damage_is_told_and_what_is_behind_it_is_read(desk: Desk) -> None:
    archive = (
        response() + response(f"{SITE}/2", length=3) + response(f"{SITE}/3")[:-4] + response(f"{SITE}/4")
    )
    manifest = await desk.take_in(archive)
    assert [page["url"] for page in manifest["pages"]][-1] == f"{SITE}/4"
    assert "LENGTH" in told(manifest)["ARCHIVE_DAMAGED"]
    assert "GZIP" in told(manifest)["ARCHIVE_DAMAGED"]


async def test_no_more_pages_are_taken_in_than_asked_for(desk: Desk) -> None:
    archive = b"".join(response(f"{SITE}/{number}") for number in range(5))
    manifest = await desk.take_in(archive, max_pages=3)
    assert (len(manifest["pages"]), manifest["state"]) == (3, CrawlState.LIMIT_REACHED)
    manifest = await desk.take_in(archive, foreign=ForeignLimits(max_records=2))
    assert (len(manifest["pages"]), manifest["state"]) == (2, CrawlState.LIMIT_REACHED)


async def test_a_wacz_is_read_by_the_warcs_in_it(desk: Desk) -> None:
    manifest = await desk.take_in(
        zip_of(
            ("archive/b.warc.gz", response(f"{SITE}/b")),
            ("archive/a.warc", gzip.decompress(response(f"{SITE}/a"))),
            ("datapackage.json", b"not looked at"),
            ("pages/pages.jsonl", b""),
            ("archive/readme.txt", response(f"{SITE}/no")),
            ("other/c.warc.gz", response(f"{SITE}/no")),
        )
    )
    assert [page["url"] for page in manifest["pages"]] == [f"{SITE}/a", f"{SITE}/b"]


async def test_an_empty_archive_is_a_run_without_pages(desk: Desk) -> None:
    manifest = await desk.take_in(gzip.compress(b""))
    assert (manifest["pages"], manifest["state"]) == ([], CrawlState.COMPLETE)


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18])
async def test_what_is_no_archive_is_refused_before_there_is_a_run(desk: Desk, content: bytes) -> None:
    with pytest.raises(FileRefused) as caught:
        await desk.take_in(content)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
    assert await desk.house.corpus.list_runs() == []


async def test_a_cancelled_import_leaves_a_manifest(desk: Desk) -> None:
    class Stops:
        """A guest that is never done."""

        started = asyncio.Event()

    async def hang(*_: Any, **__: Any) -> Any:
        Stops.started.set()
        await asyncio.Event().wait()

    desk.house.guests.extract = hang  # type: ignore[method-assign]
    task = asyncio.create_task(desk.take_in(response()))
    await Stops.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (run,) = await desk.house.corpus.list_runs()
    assert run.state == CrawlState.CANCELLED
