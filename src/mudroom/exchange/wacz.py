"""A run as a WACZ file: its WARC, an index of it, the list of its pages, and what they all are.

The WARC is stored in the zip as it is, so that a reader can fetch one record by its offset.
Source: WACZ 1.1.1 (webrecorder), sections 5.1 to 5.3.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from mudroom.corpus import CorpusStore
from mudroom.exchange.cdxj import format_cdxj_line
from mudroom.exchange.outgoing import ExportSummary, WrittenRecord, encode_warcinfo, write_records
from mudroom.exchange.selection import ExportRule
from mudroom.snapshot import SnapshotStore

__all__ = ["export_wacz"]

_VERSION = "1.1.1"
_WARC_NAME = "data.warc.gz"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: the same run gives the same bytes."""


@dataclass(slots=True)
class _Resource:
    """A file in the zip, as datapackage.json names it."""

    path: str
    digest: Any = field(default_factory=hashlib.sha256)
    size_bytes: int = 0

    def write(self, entry: IO[bytes], content: bytes) -> None:
        entry.write(content)
        self.digest.update(content)
        self.size_bytes += len(content)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.path.rpartition("/")[2],
            "path": self.path,
            "hash": f"sha256:{self.digest.hexdigest()}",
            "bytes": self.size_bytes,
        }


async def export_wacz(
    target: IO[bytes],
    corpus: CorpusStore,
    archive: SnapshotStore,
    run_id: str,
    rule: ExportRule,
    *,
    software: str,
    summary: ExportSummary,
) -> None:
    """The file, written to a stream that can seek. Raises as `choose_records`; OSError of the stream."""
    manifest = await corpus.read_manifest(run_id)
    index: list[str] = []
    pages: list[dict[str, str]] = []
    warc = _Resource(f"archive/{_WARC_NAME}")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as container:
        with container.open(_entry(warc.path), "w", force_zip64=True) as entry:
            warc.write(entry, encode_warcinfo(run_id, manifest["started_at"], software))
            async for record in write_records(corpus, archive, run_id, rule):
                index.append(_index_line(record, warc.size_bytes))
                pages += _list_page(record)
                warc.write(entry, record.content)
                summary.count(record.chosen)
        cdxj = _write_text(container, "indexes/index.cdxj", "".join(sorted(index)))
        listing = _write_text(container, "pages/pages.jsonl", "".join(_page_lines(pages)))
        package = {
            "profile": "data-package",
            "wacz_version": _VERSION,
            "title": f"mudroom {run_id}",
            "created": manifest["started_at"],
            "software": software,
            **({"mainPageUrl": pages[0]["url"], "mainPageDate": pages[0]["ts"]} if pages else {}),
            "resources": [resource.describe() for resource in (warc, cdxj, listing)],
        }
        described = _write_text(container, "datapackage.json", json.dumps(package, indent=2))
        digest = {"path": "datapackage.json", "hash": described.describe()["hash"]}
        _write_text(container, "datapackage-digest.json", json.dumps(digest, indent=2))


def _entry(path: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, _EPOCH)
    info.external_attr = 0o100644 << 16
    return info


def _write_text(container: zipfile.ZipFile, path: str, text: str) -> _Resource:
    resource = _Resource(path)
    with container.open(_entry(path), "w") as entry:
        resource.write(entry, text.encode())
    return resource


def _index_line(record: WrittenRecord, offset: int) -> str:
    moment = datetime.fromisoformat(record.chosen.snapshot.envelope.fetched_at)
    return format_cdxj_line(
        url=record.url,
        timestamp=moment.strftime("%Y%m%d%H%M%S"),
        status=record.status,
        media_type=record.media_type,
        sha256=record.payload_sha256,
        length=len(record.content),
        offset=offset,
        file_name=_WARC_NAME,
    )


def _list_page(record: WrittenRecord) -> list[dict[str, str]]:
    """The page as its list has it; nothing for what is no accepted page."""
    chosen = record.chosen
    if not chosen.is_page:
        return []
    name = hashlib.sha256(chosen.snapshot.source_ref.encode()).hexdigest()[:22]
    page = {"id": name, "url": record.url, "ts": chosen.snapshot.envelope.fetched_at}
    return [{**page, "title": chosen.title} if chosen.title else page]


def _page_lines(pages: list[dict[str, str]]) -> Iterator[str]:
    yield (
        json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": False}) + "\n"
    )
    for page in pages:
        yield json.dumps(page) + "\n"
