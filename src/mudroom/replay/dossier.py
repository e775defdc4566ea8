"""What is known of a run, a page, a reference or a URL: never a word of what a page says.

Everything is read: nothing is fetched, extracted, scanned or changed. Of an accepted document its title is left
out too, since whoever looks at a record may be no reader of pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mudroom.corpus import CorpusStore
from mudroom.errors import Code, MudroomError, NotFound, StoreFailed
from mudroom.replay.names import PageTarget, RefTarget, RunTarget, Target, UrlTarget
from mudroom.replay.record import read_page, read_run, run_has_no_page
from mudroom.replay.shapes import check_finding
from mudroom.snapshot import (
    Snapshot,
    SnapshotStore,
    SourceKind,
    StoredSnapshot,
    build_source_id,
    parse_source_ref,
)

__all__ = ["Archivist"]

_SCHEMA = "mudroom.dossier/1"
_OF_TEXT = frozenset({"title"})
_MAX_HISTORY = 100
_HEADERS = ("content-type", "etag", "last-modified", "date", "server")
"""Of an answer's headers, those that say where its bytes are from; others may be anything."""


class Archivist:
    """Tells what the records of one workspace say."""

    def __init__(self, archive: SnapshotStore, corpus: CorpusStore) -> None:
        self._archive = archive
        self._corpus = corpus

    async def describe(self, target: Target) -> dict[str, Any]:
        """All that is known, as one JSON object of the kind of the target.

        Raises: NotFound for what is not there; StoreFailed STORE_UNAVAILABLE. What is there and damaged is told.
        """
        match target:
            case RunTarget(run_id=run_id):
                return await self._describe_run(run_id)
            case PageTarget(run_id=run_id, number=number):
                return await self._describe_page(run_id, number)
            case RefTarget(source_ref=source_ref):
                return await self._describe_ref(source_ref)
            case UrlTarget(url=url):
                return await self._describe_url(url)

    async def _describe_run(self, run_id: str) -> dict[str, Any]:
        manifest = dict((await read_run(self._corpus, run_id)).manifest)
        pages = manifest.pop("pages")
        if len(pages) == 1 and manifest["kind"] != "crawl":
            page = await self._describe_page(run_id, int(pages[0]["n"]))
            return page | {"run": _without_schema(manifest)}
        found = await self._read_findings(run_id)
        return {
            "schema": _SCHEMA,
            "kind": "run",
            "run": _without_schema(manifest),
            "sources": list(await self._corpus.read_sources(run_id)),
            "pages": [_summarise(row) for row in pages],
            "findings": [dict(each) for each in found],
        }

    async def _describe_page(self, run_id: str, number: int) -> dict[str, Any]:
        try:
            metadata = (await read_page(self._corpus, run_id, number)).metadata
        except NotFound as missing:
            raise run_has_no_page(run_id, number) from missing
        source_ref = metadata.get("source_ref")
        return {
            "schema": _SCHEMA,
            "kind": "page",
            "run_id": run_id,
            "page": {
                key: value for key, value in metadata.items() if key not in _OF_TEXT and key != "schema"
            },
            "findings": await self._find_findings(run_id, number),
            "archive": await self._describe_record(source_ref) if source_ref else None,
            "history": await self._list_history(parse_source_ref(source_ref).source_id) if source_ref else [],
        }

    async def _describe_ref(self, source_ref: str) -> dict[str, Any]:
        ref = parse_source_ref(source_ref)
        record = await self._describe_record(source_ref)
        if record["code"] == Code.SNAPSHOT_MISSING:
            raise NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")
        if record["code"] == Code.SNAPSHOT_MISMATCH:
            raise StoreFailed(Code.SNAPSHOT_MISMATCH, record["message"])
        return {
            "schema": _SCHEMA,
            "kind": "ref",
            "source_ref": source_ref,
            "source_id": ref.source_id,
            "archive": record,
            "pages": await self._list_pages(record.get("run_id"), source_ref),
            "history": await self._list_history(ref.source_id),
        }

    async def _describe_url(self, url: str) -> dict[str, Any]:
        """What the archive holds of a URL, whatever it was taken for."""
        sources = []
        for kind in SourceKind:
            source_id = build_source_id(kind, url)
            history = await self._list_history(source_id)
            if history:
                sources.append({"source_id": source_id, "kind": kind.value, "history": history})
        if not sources:
            raise NotFound(
                Code.SNAPSHOT_MISSING, "the archive holds nothing that was asked for under this URL"
            )
        newest = next(entry for entry in sources[0]["history"])
        pages: Sequence[Mapping[str, Any]] = []
        if isinstance(newest, dict) and newest.get("source_ref"):
            record = await self._describe_record(newest["source_ref"])
            pages = await self._list_pages(record.get("run_id"), newest["source_ref"])
        return {"schema": _SCHEMA, "kind": "url", "url": url, "sources": sources, "pages": list(pages)}

    async def _describe_record(self, source_ref: str) -> dict[str, Any]:
        """What the archive holds under a reference: found, or how it is not."""
        try:
            return _describe_snapshot(await self._archive.get(source_ref))
        except NotFound as error:
            return {"state": "missing", "code": error.code.value, "message": error.message}
        except StoreFailed as error:
            if error.code is Code.STORE_UNAVAILABLE:
                raise
            return {"state": "damaged", "code": error.code.value, "message": error.message}

    async def _list_history(self, source_id: str) -> list[dict[str, Any]]:
        """The snapshots of a source, newest first; one entry that says so where one of them is damaged."""
        try:
            stored = await self._archive.list(source_id)
        except StoreFailed as error:
            if error.code is Code.STORE_UNAVAILABLE:
                raise
            return [{"state": "damaged", "code": error.code.value, "message": error.message}]
        return [_describe_stored(each) for each in stored[:_MAX_HISTORY]]

    async def _list_pages(self, run_id: str | None, source_ref: str) -> list[dict[str, Any]]:
        """What the run that took a snapshot made of it."""
        if not run_id:
            return []
        try:
            rows = (await read_run(self._corpus, run_id)).rows
        except MudroomError:
            return []  # the run is gone, or its manifest: the bytes are all that is left
        return [_summarise(row) | {"run_id": run_id} for row in rows if row["source_ref"] == source_ref]

    async def _find_findings(self, run_id: str, number: int) -> list[dict[str, Any]]:
        for each in await self._read_findings(run_id):
            if each["n"] == number:
                return list(each["findings"])
        return []

    async def _read_findings(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        found = await self._corpus.read_findings(run_id)
        for each in found:
            check_finding(each)
        return found


def _describe_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    envelope = snapshot.envelope
    return {
        "state": "found",
        "code": None,
        "run_id": snapshot.run_id,
        "url": envelope.url,
        "status": envelope.status,
        "fetched_at": envelope.fetched_at,
        "sha256": envelope.sha256,
        "bytes": len(snapshot.body),
        "charset": envelope.charset,
        "rendered": envelope.rendered,
        "headers": {name.lower(): value for name, value in envelope.headers if name.lower() in _HEADERS},
        "hops": [
            {
                "url": hop.url,
                "address": hop.address,
                "status": hop.status,
                "protocol": hop.protocol,
                "exception": hop.exception,
            }
            for hop in envelope.redirects
        ],
    }


def _describe_stored(stored: StoredSnapshot) -> dict[str, Any]:
    return {
        "source_ref": stored.source_ref,
        "fetched_at": stored.fetched_at,
        "sha256": stored.sha256,
        "bytes": stored.size_bytes,
    }


def _summarise(row: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("n", "url", "outcome", "decision", "code", "depth", "http_status", "source_ref", "warnings")
    return {key: row.get(key) for key in keys}


def _without_schema(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key != "schema"}
