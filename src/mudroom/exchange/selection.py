"""Which records of a run leave with it, in which order: pages as numbered, then what was asked for beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from mudroom.corpus import CorpusStore
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.model import OutcomeKind
from mudroom.snapshot import DamagedRecord, Snapshot, SnapshotStore

__all__ = ["ChosenRecord", "ExportRule", "choose_records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRule:
    """What is written out."""

    is_all: bool = False
    """Withheld and failed pages too, robots.txt files, sitemaps and requisites; else accepted pages alone."""
    with_cookies: bool = False
    """Set-Cookie fields too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRecord:
    """A snapshot that leaves."""

    snapshot: Snapshot
    is_page: bool
    title: str = ""
    """Of an accepted page, as it was scanned."""


async def choose_records(
    corpus: CorpusStore, archive: SnapshotStore, run_id: str, rule: ExportRule
) -> AsyncIterator[ChosenRecord]:
    """The records of a run, each once and each checked.

    Raises: NotFound RUN_NOT_FOUND, or SNAPSHOT_MISSING where a page's bytes were not kept; StoreFailed where
        they cannot be read: an export is whole or is not.
    """
    manifest = await corpus.read_manifest(run_id)
    done: set[str] = set()
    for page in manifest["pages"]:
        is_accepted = page["outcome"] == OutcomeKind.STORED
        if not (is_accepted or rule.is_all):
            continue
        source_ref = page["source_ref"]
        if source_ref is None and is_accepted:
            raise NotFound(
                Code.SNAPSHOT_MISSING,
                f"the bytes of page {page['n']} of {run_id} were not kept (archive.keep)",
            )
        if source_ref is None or source_ref in done:
            continue
        done.add(source_ref)
        title = await _find_title(corpus, run_id, page) if is_accepted else ""
        snapshot = await _read(archive, source_ref, f"page {page['n']} of {run_id}")
        yield ChosenRecord(snapshot=snapshot, is_page=is_accepted, title=title)
    if rule.is_all:
        async for record in archive.iterate_run(run_id):
            if isinstance(record, DamagedRecord):
                raise record.failure
            if record.snapshot.source_ref not in done:
                done.add(record.snapshot.source_ref)
                yield ChosenRecord(snapshot=record.snapshot, is_page=False)


async def _read(archive: SnapshotStore, source_ref: str, what: str) -> Snapshot:
    """A record. Raises: as the archive, and says which page it is of."""
    try:
        return await archive.get(source_ref)
    except (NotFound, StoreFailed) as error:
        raise type(error)(error.code, f"{what}: {error.message}; nothing was written") from error


async def _find_title(corpus: CorpusStore, run_id: str, page: dict[str, Any]) -> str:
    metadata = await corpus.read_metadata(run_id, page["n"])
    return str(metadata.get("title") or "")
