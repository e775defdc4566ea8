"""A run as a WARC file of its own: one response a page, whole, readable without anything of ours.

No record is a revisit, since what it would name may not be in the file. Credentials of requests were never
archived; Set-Cookie fields, which are the other half of one, stay here unless they are asked for.
Source: WARC/1.1 (IIPC) sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote

from mudroom.corpus import CorpusStore
from mudroom.exchange.selection import ChosenRecord, ExportRule, choose_records
from mudroom.model import Hop
from mudroom.snapshot import Snapshot, SnapshotStore
from mudroom.warc import RecordInput, RecordType, derive_record_id, encode_record

__all__ = ["ExportRule", "ExportSummary", "WrittenRecord", "encode_warcinfo", "export_warc", "write_records"]

_GZIP_LEVEL = 2
_COOKIES = (b"set-cookie:", b"set-cookie2:")
_PROTOCOLS = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2": "h2", "HTTP/3": "h3"}


@dataclass(slots=True, kw_only=True)
class ExportSummary:
    """What an export has written so far."""

    pages: int = 0
    others: int = 0

    def count(self, record: ChosenRecord) -> None:
        """Count a record."""
        self.pages += record.is_page
        self.others += not record.is_page


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRecord:
    """A record as bytes, and what an index says of it."""

    content: bytes
    chosen: ChosenRecord
    url: str
    status: int | None
    media_type: str
    payload_sha256: str


async def export_warc(
    corpus: CorpusStore,
    archive: SnapshotStore,
    run_id: str,
    rule: ExportRule,
    *,
    software: str,
    summary: ExportSummary,
) -> AsyncIterator[bytes]:
    """The bytes of the file, a record at a time; the same run gives the same bytes. Raises as `choose_records`."""
    manifest = await corpus.read_manifest(run_id)
    yield encode_warcinfo(run_id, manifest["started_at"], software)
    async for record in write_records(corpus, archive, run_id, rule):
        summary.count(record.chosen)
        yield record.content


def encode_warcinfo(run_id: str, created_at: str, software: str) -> bytes:
    """The first record: which run this is."""
    lines = (f"software: {software}", "format: WARC File Format 1.1", f"isPartOf: {run_id}")
    record = RecordInput(
        type=RecordType.WARCINFO,
        record_id=_warcinfo_id(run_id),
        date=created_at,
        content_type="application/warc-fields",
        payload="".join(f"{line}\r\n" for line in lines).encode(),
        fields=(("WARC-Filename", f"{run_id}.warc.gz"),),
    )
    return encode_record(record, _GZIP_LEVEL)


async def write_records(
    corpus: CorpusStore, archive: SnapshotStore, run_id: str, rule: ExportRule
) -> AsyncIterator[WrittenRecord]:
    """Each record of a run as bytes. Raises as `choose_records`."""
    async for chosen in choose_records(corpus, archive, run_id, rule):
        yield _write(chosen, run_id, with_cookies=rule.with_cookies)


def _write(chosen: ChosenRecord, run_id: str, *, with_cookies: bool) -> WrittenRecord:
    snapshot = chosen.snapshot
    envelope = snapshot.envelope
    is_response = envelope.status is not None
    media_type = _media_type(snapshot)
    url = _target_uri(snapshot)
    head = snapshot.http_block if with_cookies else _without_cookies(snapshot.http_block)
    record = RecordInput(
        type=RecordType.RESPONSE if is_response else RecordType.RESOURCE,
        record_id=derive_record_id("export", run_id, snapshot.source_ref, str(with_cookies)),
        date=envelope.fetched_at,
        target_uri=url,
        content_type="application/http; msgtype=response" if is_response else media_type,
        head=head if is_response else b"",
        payload=snapshot.body,
        payload_sha256=envelope.sha256,
        fields=(
            ("WARC-Warcinfo-ID", f"<{_warcinfo_id(run_id)}>"),
            *_connection(envelope.redirects),
            ("Mudroom-Source-Ref", snapshot.source_ref),
        ),
    )
    return WrittenRecord(
        content=encode_record(record, _GZIP_LEVEL),
        chosen=chosen,
        url=url,
        status=envelope.status,
        media_type=media_type,
        payload_sha256=envelope.sha256,
    )


def _warcinfo_id(run_id: str) -> str:
    return derive_record_id("export", run_id)


def _target_uri(snapshot: Snapshot) -> str:
    """The URL; of a file that has none, its name as one."""
    url = snapshot.envelope.url
    return url if "://" in url else f"file:///{quote(url, safe='')}"


def _media_type(snapshot: Snapshot) -> str:
    declared = next((value for name, value in snapshot.headers if name.lower() == "content-type"), "")
    return (
        declared if declared.isprintable() and declared.isascii() and declared else "application/octet-stream"
    )


def _connection(hops: tuple[Hop, ...]) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    if hops and hops[-1].address:
        fields.append(("WARC-IP-Address", hops[-1].address))
    if hops and (protocol := _PROTOCOLS.get(hops[-1].protocol)):
        fields.append(("WARC-Protocol", protocol))
    return fields


def _without_cookies(http_block: bytes) -> bytes:
    """A header block without the fields that set cookies, lines that fold into one included."""
    kept: list[bytes] = []
    is_cookie = False
    for line in http_block.split(b"\r\n"):
        is_folded = line[:1] in {b" ", b"\t"}
        is_cookie = is_cookie if is_folded else line.lower().startswith(_COOKIES)
        if not is_cookie:
            kept.append(line)
    return b"\r\n".join(kept)
