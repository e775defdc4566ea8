"""Runs and documents read back from a workspace; what does not agree with its digest is never returned."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mudroom.corpus.file_sink import JOURNAL_FOLDERS, RUNS_FOLDER, journal_name
from mudroom.corpus.files import map_faults, open_below, open_folder, read_file
from mudroom.corpus.journal import JournalLeft, read_journal
from mudroom.corpus.manifest import HEAD_BYTES, Totals, check_rows, read_summary
from mudroom.corpus.naming import is_run_id, run_not_found
from mudroom.corpus.recorder import FINDINGS_FILE, SOURCES_FILE, metadata_path
from mudroom.corpus.records import RunSummary, StoredPage
from mudroom.corpus.reopening import RunRemains, run_is_active
from mudroom.corpus.sink import JournalName
from mudroom.errors import Code, StoreFailed
from mudroom.model import CrawlState, OutcomeKind

__all__ = [
    "add_rows",
    "check_stored",
    "count_rows",
    "list_entries",
    "list_sources",
    "lock_run",
    "parse_record",
    "read_findings",
    "read_manifest",
    "read_metadata",
    "read_remains",
    "read_run_summary",
    "read_sources",
    "read_stored",
    "stored_path",
]


def read_run_summary(workspace: Path, run_id: str) -> RunSummary:
    """The head of a run's manifest; of one that has not ended, with what its journal counts."""
    summary = _read_head(workspace, run_id)
    if summary.state is not CrawlState.RUNNING:
        return summary
    journal = _read_journal(workspace, run_id, JournalName.PAGES)
    if journal is None:
        return _read_head(workspace, run_id)  # it ended meanwhile, and took its journal away
    totals = count_rows(check_rows([parse_record(line) for line in journal.lines]))
    return replace(summary, totals=totals, is_live=journal.is_live)


def _read_head(workspace: Path, run_id: str) -> RunSummary:
    with _run_folder(workspace, run_id) as folder:
        beginning = read_file(folder, "manifest.json", max_bytes=HEAD_BYTES)
        if len(beginning) == HEAD_BYTES and b'\n  "pages": [' not in beginning:
            beginning = read_file(folder, "manifest.json")
    return read_summary(beginning, run_id)


def read_manifest(workspace: Path, run_id: str) -> dict[str, Any]:
    """A run's manifest; of one that has not ended, with the pages of its journal."""
    with _run_folder(workspace, run_id) as folder:
        manifest = parse_record(read_file(folder, "manifest.json"))
        if manifest.get("state") == CrawlState.RUNNING:
            journal = _read_journal(workspace, run_id, JournalName.PAGES)
            if journal is not None:
                add_rows(manifest, journal.lines)
    if manifest.get("run_id") != run_id:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the manifest of {run_id} is another run's")
    check_rows(manifest.get("pages"))
    return manifest


def read_sources(workspace: Path, run_id: str) -> list[dict[str, Any]]:
    """What a run asked for beside its pages; of one that has not ended, from its journal."""
    with _run_folder(workspace, run_id) as folder:
        journal = _read_journal(workspace, run_id, JournalName.SOURCES)
        if journal is not None:
            return [parse_record(line) for line in journal.lines]
        try:
            content = read_file(folder, SOURCES_FILE)
        except FileNotFoundError:
            return []  # it asked for nothing beside its pages
    return list_sources(content)


def list_sources(content: bytes) -> list[dict[str, Any]]:
    """The entries of sources.json. Raises StoreFailed SNAPSHOT_CORRUPT when they are none."""
    return list_entries(content, "sources")


def list_entries(content: bytes, key: str) -> list[dict[str, Any]]:
    """The entries of a record that is a list of them. Raises StoreFailed SNAPSHOT_CORRUPT when it is none."""
    entries = parse_record(content).get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record of the workspace is damaged")
    return entries


def read_findings(workspace: Path, run_id: str) -> list[dict[str, Any]]:
    """What was found in a run's pages; of one that has not ended, from its journal."""
    with _run_folder(workspace, run_id) as folder:
        journal = _read_journal(workspace, run_id, JournalName.FINDINGS)
        if journal is not None:
            return [parse_record(line) for line in journal.lines]
        return list_entries(_read_within(folder, FINDINGS_FILE), "documents")


def _read_journal(workspace: Path, run_id: str, name: JournalName) -> JournalLeft | None:
    with map_faults(workspace):
        try:
            journals = open_below(workspace, *JOURNAL_FOLDERS)
        except FileNotFoundError:
            return None
        try:
            return read_journal(journals, journal_name(run_id, name))
        finally:
            os.close(journals)


def read_remains(workspace: Path, run_id: str, given_up: Collection[Code]) -> RunRemains:
    """All that a run left. Raises: StoreFailed RUN_ACTIVE while somebody writes it."""
    with _run_folder(workspace, run_id) as folder:
        manifest = parse_record(read_file(folder, "manifest.json"))
        findings = _read_within(folder, FINDINGS_FILE)
    sources = read_sources(workspace, run_id)
    journals: dict[JournalName, list[bytes]] = {}
    for name in JournalName:
        left = _read_journal(workspace, run_id, name)
        if left is not None and left.is_live:
            raise run_is_active(run_id)
        if left is not None:
            journals[name] = left.lines
    return RunRemains.gather(manifest, findings, sources, journals, given_up)


@contextmanager
def lock_run(workspace: Path, run_id: str) -> Iterator[int]:
    """A run's folder, held, so that two cannot take it up at once. Raises: StoreFailed RUN_ACTIVE."""
    with _run_folder(workspace, run_id) as folder:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise run_is_active(run_id) from held
        yield folder


def add_rows(manifest: dict[str, Any], lines: Iterable[bytes]) -> None:
    """Bring the manifest of a run that has not ended up to its journal."""
    rows = sorted(check_rows([parse_record(line) for line in lines]), key=lambda row: int(row["n"]))
    manifest["pages"] = rows
    manifest["totals"] = count_rows(rows)


def count_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The totals of a run that has not ended, from the rows of its pages."""
    totals = Totals()
    for row in rows:
        totals.count(row)
    return totals.as_record(discovered=None, wire_bytes=None)


def read_metadata(workspace: Path, run_id: str, number: int) -> dict[str, Any]:
    """What is known of one page."""
    with _run_folder(workspace, run_id) as folder:
        return _read_metadata(folder, number)


def read_stored(workspace: Path, run_id: str, number: int) -> StoredPage:
    """An accepted document, its digest checked.

    Raises: NotFound for a page that was not stored, as for none; StoreFailed SNAPSHOT_CORRUPT.
    """
    with _run_folder(workspace, run_id) as folder:
        metadata = _read_metadata(folder, number)
        content = _read_within(folder, stored_path(metadata))
    return check_stored(metadata, content)


def stored_path(metadata: dict[str, Any]) -> str:
    """Where the text of an accepted document lies. Raises NotFound when the page was not stored."""
    path = metadata.get("path")
    if metadata.get("outcome") != OutcomeKind.STORED or not isinstance(path, str) or path[:6] != "pages/":
        raise run_not_found()
    return path


def check_stored(metadata: dict[str, Any], content: bytes) -> StoredPage:
    """The document, if its text is the one that was scanned. Raises StoreFailed SNAPSHOT_CORRUPT."""
    if hashlib.sha256(content).hexdigest() != metadata.get("markdown_sha256"):
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a stored document is not the one that was scanned")
    return StoredPage(markdown=content.decode(), metadata=metadata)


def parse_record(data: bytes) -> dict[str, Any]:
    """A record of ours as a value. Raises StoreFailed SNAPSHOT_CORRUPT when it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record of the workspace is damaged") from fault
    if not isinstance(value, dict):
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record of the workspace is damaged")
    return value


def _read_metadata(folder: int, number: int) -> dict[str, Any]:
    return parse_record(_read_within(folder, metadata_path(number)))


def _read_within(folder: int, path: str) -> bytes:
    """A file one folder down, neither of them a link."""
    below, _, name = path.partition("/")
    if not name or "/" in name or below in {"", ".", ".."}:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record of the workspace names a path that is not ours")
    descriptor = open_folder(below, within=folder)
    try:
        return read_file(descriptor, name)
    finally:
        os.close(descriptor)


@contextmanager
def _run_folder(workspace: Path, run_id: str) -> Iterator[int]:
    """The run's folder, open. Raises NotFound RUN_NOT_FOUND for what is no run, or has no such file."""
    if not is_run_id(run_id):
        raise run_not_found()
    with map_faults(workspace):
        try:
            descriptor = open_below(workspace, RUNS_FOLDER, run_id)
        except FileNotFoundError as missing:
            raise run_not_found() from missing
        try:
            yield descriptor
        except FileNotFoundError as missing:
            raise run_not_found() from missing
        finally:
            os.close(descriptor)
