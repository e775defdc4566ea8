"""What does it cost to keep a page: in the archive, against bare fastwarc and warcio, and in the corpus?

Prints CPU milliseconds a page and pages a second, each writer in the same run on the same pages. The peers
write the response record alone, without envelope, index or sync; "their" record with our compression shows
what the record itself costs.

    python benchmarks/archive_cost.py [--pages 1000] [--page-bytes 22000] [--html FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fastwarc.warc import WarcRecord, WarcRecordType
from isal import isal_zlib
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from mudroom.corpus import FailedRecord, FileCorpus, RunVersions
from mudroom.errors import Code
from mudroom.model import CrawlState, Hop, RunKind
from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SnapshotOptions, SourceKind

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

    def show(self, name: str, pages: int, size: int) -> None:
        """Print it."""
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        print(f"{name:44}{cpu / pages * 1e3:9.3f}{pages / wall:11.0f}{size / pages:12.0f}")


def _fastwarc(bodies: list[bytes], pages: int, pack: Callable[[bytes], bytes]) -> int:
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
        size += len(pack(stream.getvalue()))
    return size


def _warcio(bodies: list[bytes], pages: int) -> int:
    stream = io.BytesIO()
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
        async with gate:
            refs.append((await store.put(_snapshot(number, bodies[number % len(bodies)]))).source_ref)

    row = Row()
    await asyncio.gather(*(put(number) for number in range(pages)))
    size = _size_of(folder, "*.warc.gz")
    synced = "synced" if options.is_synced else "not synced"
    row.show(f"mudroom put, {at_once} at once, {synced}, level {options.gzip_level}", pages, size)
    if at_once == 16 and options.is_synced:
        row = Row()
        for ref in refs:
            await store.get(ref)
        row.show("mudroom get, every digest checked", pages, 0)
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
    parser.add_argument("--html", help="a folder of HTML files to take pages from")
    options = parser.parse_args()
    bodies = _pages(options)
    mean = sum(map(len, bodies)) / len(bodies)
    print(f"{options.pages} pages of {mean:.0f} bytes\n{'':44}{'CPU ms':>9}{'pages/s':>11}{'bytes/page':>12}")
    for name, pack in [("zlib 1", _zlib(1)), ("zlib 3", _zlib(3)), ("zlib 6", _zlib(6))] + [
        (f"isal {level}", _isal(level)) for level in (0, 1, 2, 3)
    ]:
        row = Row()
        row.show(f"fastwarc, {name}", options.pages, _fastwarc(bodies, options.pages, pack))
    row = Row()
    row.show("warcio, zlib 9", options.pages, _warcio(bodies, options.pages))
    with tempfile.TemporaryDirectory() as scratch:
        for at_once in (1, 8, 16):
            folder = Path(scratch) / f"archive-{at_once}"
            asyncio.run(_archive(folder, bodies, options.pages, at_once, SnapshotOptions()))
        for level in (1, 3):
            folder = Path(scratch) / f"archive-level-{level}"
            archive = SnapshotOptions(gzip_level=level, is_synced=False)
            asyncio.run(_archive(folder, bodies, options.pages, 16, archive))
        asyncio.run(_corpus(Path(scratch) / "workspace", options.pages))


if __name__ == "__main__":
    main()
