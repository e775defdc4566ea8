"""What does it cost to keep a page and to read it back: in the archive, against bare fastwarc and warcio?

Prints CPU milliseconds a page, pages and megabytes of body a second, and bytes kept a page, each writer and
reader in the same run on the same pages. The peers write the response record alone, without envelope, index
or sync, and read it from start to end, with and without checking its digest; "their" record with our
compression shows what the record itself costs. Then `latest` of a source with many records, and what it
opens; a run that repeats its pages; a prune.

    python benchmarks/archive_cost.py [--pages 1000] [--page-bytes 22000] [--html FOLDER] [--history 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import isal_zlib
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from mudroom.corpus import FailedRecord, FileCorpus, RunVersions
from mudroom.errors import Code
from mudroom.model import CrawlState, Hop, RunKind
from mudroom.snapshot import (
    ArchivedRecord,
    FileSnapshotStore,
    PruneRule,
    SnapshotInput,
    SnapshotOptions,
    SourceKind,
)

_RAW = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    b'Content-Type: text/html; charset=utf-8\r\nETag: "5e1f-62a"\r\nCache-Control: max-age=600\r\n'
    b"Last-Modified: Sun, 29 Nov 2026 12:00:00 GMT\r\nVary: Accept-Encoding\r\n\r\n"
)
_HEADERS = tuple(tuple(line.split(": ", 1)) for line in _RAW.decode().split("\r\n")[1:-2])


def _pages(options: argparse.Namespace) -> list[bytes]:
    """Pages of a folder near the wanted size, or made-up ones that pack about as well (to a quarter)."""
    if options.html:
        files = [path for path in Path(options.html).rglob("*.html") if path.is_file()]
        near = [
            path for path in files if options.page_bytes / 2 < path.stat().st_size < options.page_bytes * 2
        ]
        return [path.read_bytes() for path in near[:200]]
    chance = random.Random(7)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(900)
    ]
    pages = []
    for _ in range(100):
        parts, size = [], 0
        while size < options.page_bytes:
            parts.append(f"<p class='{chance.choice(words)}'>{' '.join(chance.choices(words, k=12))}</p>\n")
            size += len(parts[-1])
        pages.append("".join(parts).encode())
    return pages


def _snapshot(number: int, body: bytes) -> SnapshotInput:
    url = f"https://example.org/page/{number}"
    return SnapshotInput(
        kind=SourceKind.PAGE,
        requested_url=url,
        url=url,
        status=200,
        fetched_at=datetime(2026, 11, 30, 12, 0, 0, 0, UTC),
        body=body,
        headers=_HEADERS,
        raw_header=_RAW,
        redirects=(Hop(url=url, address="93.184.216.34", status=200, protocol="HTTP/1.1"),),
        run_id="crawl_01KD4000000000000000000000",
    )


class Row:
    """One line of the table."""

    def __init__(self) -> None:
        self.cpu = time.process_time()
        self.wall = time.perf_counter()

    def show(self, name: str, pages: int, size: int, body_bytes: int = 0) -> None:
        """Print it."""
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        rate = f"{body_bytes / wall / 1e6:10.0f}" if body_bytes else f"{'':10}"
        print(f"{name:44}{cpu / pages * 1e3:9.3f}{pages / wall:11.0f}{rate}{size / pages:12.0f}")


def _fastwarc(
    bodies: list[bytes], pages: int, pack: Callable[[bytes], bytes], kept: list[bytes] | None = None
) -> int:
    size = 0
    for number in range(pages):
        record = WarcRecord()
        record.init_headers(
            WarcRecordType.response, record_urn=b"uuid:00000000-0000-0000-0000-%012d" % number
        )
        record.headers["WARC-Target-URI"] = f"https://example.org/page/{number}"
        record.is_http = True
        record.set_bytes_content(_RAW + bodies[number % len(bodies)])
        stream = io.BytesIO()
        record.write(stream, checksum_data=True)
        packed = pack(stream.getvalue())
        size += len(packed)
        if kept is not None:
            kept.append(packed)
    return size


def _read_fastwarc(data: bytes, *, is_checked: bool) -> int:
    records = 0
    for record in FastIterator(io.BytesIO(data), parse_http=not is_checked):
        records += record.verify_block_digest() if is_checked else len(record.reader.read()) > 0
    return records


def _read_warcio(data: bytes, *, is_checked: bool) -> int:
    records = 0
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise" if is_checked else False):
        records += len(record.content_stream().read()) > 0
    return records


def _warcio(bodies: list[bytes], pages: int, stream: io.BytesIO) -> int:
    writer = WARCWriter(stream, gzip=True)
    for number in range(pages):
        record = writer.create_warc_record(
            f"https://example.org/page/{number}",
            "response",
            payload=io.BytesIO(bodies[number % len(bodies)]),
            http_headers=StatusAndHeaders("200 OK", list(_HEADERS), protocol="HTTP/1.1"),
        )
        writer.write_record(record)
    return stream.tell()


def _zlib(level: int) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        packer = zlib.compressobj(level, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()

    return pack


def _isal(level: int) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        packer = isal_zlib.compressobj(level, isal_zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()

    return pack


def _size_of(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


async def _archive(
    folder: Path, bodies: list[bytes], pages: int, at_once: int, options: SnapshotOptions
) -> None:
    store = FileSnapshotStore(folder, options)
    gate = asyncio.Semaphore(at_once)
    refs: list[str] = []

    async def put(number: int) -> None:
        body = bodies[number % len(bodies)]
        # A run of its own for each round of the pages: the same body again in one run is not kept again.
        run_id = f"crawl_01KD{number // len(bodies):022}"
        async with gate:
            refs.append((await store.put(replace(_snapshot(number, body), run_id=run_id))).source_ref)

    body_bytes = sum(len(bodies[number % len(bodies)]) for number in range(pages))
    row = Row()
    await asyncio.gather(*(put(number) for number in range(pages)))
    size = _size_of(folder, "*.warc.gz")
    synced = "synced" if options.is_synced else "not synced"
    row.show(f"mudroom put, {at_once} at once, {synced}, level {options.gzip_level}", pages, size, body_bytes)
    if at_once == 16 and options.is_synced:
        row = Row()
        for ref in refs:
            await store.get(ref)
        row.show("mudroom get, every digest checked", pages, 0, body_bytes)
        row = Row()
        async for record in store.iterate_all():
            assert isinstance(record, ArchivedRecord)
        row.show("mudroom iterate, every digest checked", pages, 0, body_bytes)
        row = Row()
        await store.prune(PruneRule())
        row.show("mudroom prune that finds nothing", pages, 0)
    await store.aclose()


async def _history(folder: Path, records: int) -> None:
    """Many records of one source; what `latest` costs and opens, and a prune of all but one."""
    store = FileSnapshotStore(folder, SnapshotOptions(is_synced=False))
    row = Row()
    moment = datetime(2026, 11, 30, 12, 0, 0, 0, UTC)
    await asyncio.gather(
        *(
            store.put(replace(_snapshot(0, b"%d" % n), fetched_at=moment + timedelta(seconds=n)))
            for n in range(records)
        )
    )
    row.show(f"mudroom put, one source, {records} records", records, _size_of(folder, "*.warc.gz"))
    source_id = "page::https://example.org/page/0"
    await store.latest(source_id)
    opened: list[str] = []
    watching = [True]
    sys.addaudithook(
        lambda event, arguments: (
            opened.append(str(arguments[0])) if event == "open" and watching else None  # type: ignore[func-returns-value]
        )
    )
    row = Row()
    for _ in range(200):
        await store.latest(source_id)
    watching.clear()
    row.show(f"mudroom latest of them, {len(opened) / 200:.0f} opened each", 200, 0)
    row = Row()
    for _ in range(5):
        await store.read_verified_head(source_id)
    row.show("mudroom verified head of them", 5, 0)
    row = Row()
    report = await store.prune(PruneRule(keep_last=records // 2))
    row.show(f"mudroom prune, {report.removed} removed and as many moved", records, 0)
    await store.aclose()


async def _repeats(folder: Path, bodies: list[bytes], pages: int) -> None:
    """One run that meets each page many times, under another URL each time."""
    store = FileSnapshotStore(folder, SnapshotOptions(is_synced=False))
    row = Row()
    stored = await asyncio.gather(*(store.put(_snapshot(n, bodies[n % len(bodies)])) for n in range(pages)))
    row.show("mudroom put, bodies repeated in the run", pages, _size_of(folder, "*.warc.gz"))
    row = Row()
    for one in stored:
        await store.get(one.source_ref)
    row.show("mudroom get of them, two records each", pages, 0)
    await store.aclose()


async def _corpus(folder: Path, pages: int) -> None:
    corpus = FileCorpus(folder, RunVersions(mudroom="1", scanner="1", policy="1"))
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    row = Row()
    hop = Hop(url="https://example.org/page", address="93.184.216.34", status=404, protocol="HTTP/1.1")
    for number in range(1, pages + 1):
        failed = FailedRecord(
            number=number,
            requested_url=f"https://example.org/page/{number}",
            code=Code.HTTP_STATUS,
            message="example.org answered 404",
            http_status=404,
            hops=(hop,),
            source_ref="mudroom-snapshot:" + "x" * 300,
            sha256="0" * 64,
        )
        await run.record_failed(failed)
    await run.finish(CrawlState.COMPLETE)
    size = _size_of(folder, "runs/**/*")
    row.show("corpus: a page's metadata, row and manifests", pages, size)
    await corpus.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--page-bytes", type=int, default=22_000)
    parser.add_argument("--history", type=int, default=10_000, help="records of one source")
    parser.add_argument("--html", help="a folder of HTML files to take pages from")
    options = parser.parse_args()
    bodies = _pages(options)
    mean = sum(map(len, bodies)) / len(bodies)
    print(
        f"{options.pages} pages of {mean:.0f} bytes\n{'':44}{'CPU ms':>9}{'pages/s':>11}{'MB/s':>10}{'bytes/page':>12}"
    )
    for name, pack in [("zlib 1", _zlib(1)), ("zlib 3", _zlib(3)), ("zlib 6", _zlib(6))] + [
        (f"isal {level}", _isal(level)) for level in (0, 1, 2, 3)
    ]:
        row = Row()
        row.show(f"fastwarc, {name}", options.pages, _fastwarc(bodies, options.pages, pack))
    body_bytes = sum(len(bodies[number % len(bodies)]) for number in range(options.pages))
    stream = io.BytesIO()
    row = Row()
    row.show("warcio, zlib 9", options.pages, _warcio(bodies, options.pages, stream), body_bytes)
    kept: list[bytes] = []
    _fastwarc(bodies, options.pages, _isal(2), kept)
    for is_checked in (False, True):
        digests = "digests checked" if is_checked else "digests not checked"
        row = Row()
        _read_fastwarc(b"".join(kept), is_checked=is_checked)
        row.show(f"fastwarc reads, {digests}", options.pages, 0, body_bytes)
        row = Row()
        _read_warcio(stream.getvalue(), is_checked=is_checked)
        row.show(f"warcio reads, {digests}", options.pages, 0, body_bytes)
    with tempfile.TemporaryDirectory() as scratch:
        for at_once in (1, 8, 16):
            folder = Path(scratch) / f"archive-{at_once}"
            asyncio.run(_archive(folder, bodies, options.pages, at_once, SnapshotOptions()))
        for level in (1, 3):
            folder = Path(scratch) / f"archive-level-{level}"
            archive = SnapshotOptions(gzip_level=level, is_synced=False)
            asyncio.run(_archive(folder, bodies, options.pages, 16, archive))
        asyncio.run(_repeats(Path(scratch) / "repeats", bodies, options.pages))
        asyncio.run(_history(Path(scratch) / "history", options.history))
        asyncio.run(_corpus(Path(scratch) / "workspace", options.pages))


if __name__ == "__main__":
    main()
