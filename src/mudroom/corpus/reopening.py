"""A run that did not come to its end, taken up again: what it had recorded stays, and more is recorded."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mudroom.corpus.manifest import ManifestHead, check_rows, encode_line
from mudroom.corpus.recorder import RunRecorder
from mudroom.corpus.sink import JournalName
from mudroom.errors import Code, StoreFailed
from mudroom.model import CrawlState, OutcomeKind, RunKind

__all__ = ["NumberedLine", "RecordedPage", "ReopenedRun", "RunRemains", "run_is_active"]

NumberedLine = tuple[int, bytes]


class RecordedPage(NamedTuple):
    """A page whose outcome the run has recorded. A tuple, since there may be a million."""

    number: int
    url: str
    final_url: str | None
    depth: int
    outcome: OutcomeKind
    code: Code | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedRun:
    """A run that goes on."""

    writer: RunRecorder
    state: CrawlState
    """In which it was found: RUNNING when its program was killed."""
    root_url: str
    options: Mapping[str, Any]
    started_at: str
    pages: Sequence[RecordedPage]
    """In order of their numbers."""
    source_bytes: int
    """What robots.txt files and sitemaps have cost so far."""
    has_other_versions: bool
    """Whether what verdicts depend on has changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRemains:
    """What a run left: its manifest, and the lines of its journals where they are still there."""

    manifest: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    findings: Sequence[Mapping[str, Any]]
    sources: Sequence[Mapping[str, Any]]

    @classmethod
    def gather(
        cls,
        manifest: Mapping[str, Any],
        findings: bytes,
        sources: Sequence[Mapping[str, Any]],
        journals: Mapping[JournalName, Sequence[bytes]],
        given_up: Collection[Code],
    ) -> RunRemains:
        """All that was recorded, without the pages that were given up. Raises: StoreFailed SNAPSHOT_CORRUPT.

        Of a run that was killed the journals are right, of one that was ended its manifest.
        """
        try:
            if manifest["state"] == CrawlState.RUNNING and JournalName.PAGES in journals:
                rows = [json.loads(line) for line in journals[JournalName.PAGES]]
                found = [json.loads(line) for line in journals.get(JournalName.FINDINGS, ())]
            else:
                rows, found = manifest["pages"], json.loads(findings)["documents"]
            check_rows(rows)
            dropped = {row["n"] for row in rows if row["code"] in given_up}
            kept = sorted((row for row in rows if row["n"] not in dropped), key=lambda row: int(row["n"]))
            numbers = {row["n"] for row in kept}
            return cls(
                manifest=manifest,
                rows=kept,
                findings=[each for each in found if each["n"] in numbers],
                sources=sources,
            )
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            raise _damaged() from fault

    def make_head(self, versions: Mapping[str, str]) -> ManifestHead:
        """The head that the run goes on with."""
        manifest = self.manifest
        try:
            return ManifestHead(
                run_id=manifest["run_id"],
                kind=RunKind(manifest["kind"]),
                root_url=manifest["root_url"],
                options=manifest["options"],
                started_at=manifest["started_at"],
                versions=versions,
            )
        except (ValueError, KeyError) as fault:
            raise _damaged() from fault

    def list_lines(self) -> Mapping[JournalName, Sequence[NumberedLine]]:
        """The journals with which it goes on."""
        return {
            JournalName.PAGES: [(row["n"], encode_line(row)) for row in self.rows],
            JournalName.FINDINGS: [(each["n"], encode_line(each)) for each in self.findings],
            JournalName.SOURCES: [(at, encode_line(each)) for at, each in enumerate(self.sources, 1)],
        }

    def resume(self, recorder: RunRecorder) -> ReopenedRun:
        """Let the recorder know of all this, and begin. Blocks; raises StoreFailed."""
        try:
            recorder.restore(self.rows, self.findings, len(self.sources))
            pages = [_read_page(row) for row in self.rows]
            recorder.begin()
            return ReopenedRun(
                writer=recorder,
                state=CrawlState(self.manifest["state"]),
                root_url=self.manifest["root_url"],
                options=self.manifest["options"],
                started_at=self.manifest["started_at"],
                pages=pages,
                source_bytes=sum(int(source["wire_bytes"]) for source in self.sources),
                has_other_versions=self.manifest["versions"] != dict(recorder.versions),
            )
        except (ValueError, KeyError, TypeError) as fault:
            raise _damaged() from fault


def _read_page(row: Mapping[str, Any]) -> RecordedPage:
    return RecordedPage(
        number=int(row["n"]),
        url=row["url"],
        final_url=row["final_url"],
        depth=int(row["depth"]),
        outcome=OutcomeKind(row["outcome"]),
        code=None if row["code"] is None else Code(row["code"]),
    )


def run_is_active(run_id: str) -> StoreFailed:
    """Somebody writes this run at this moment."""
    return StoreFailed(Code.RUN_ACTIVE, f"{run_id} is being written at this moment")


def _damaged() -> StoreFailed:
    return StoreFailed(
        Code.SNAPSHOT_CORRUPT, "the record of the run is damaged, so it cannot be taken up again"
    )
