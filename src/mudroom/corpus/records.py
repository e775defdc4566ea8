"""What a run is told, and what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mudroom.address import ExceptionScope
from mudroom.errors import Code
from mudroom.model import CrawlState, Finding, Hop, Isolation, Provenance, RobotsState, RunKind, WarningCode

__all__ = [
    "FailedRecord",
    "PageNote",
    "PageRecord",
    "RunSummary",
    "RunVersions",
    "RunWarning",
    "SourceRecord",
    "StoredDocument",
    "StoredPage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVersions:
    """What a run's verdicts depend on."""

    mudroom: str
    scanner: str
    policy: str

    def as_record(self) -> dict[str, str]:
        """As manifests and metadata hold them."""
        return {"mudroom": self.mudroom, "scanner": self.scanner, "policy": self.policy}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """Something noticed in a run that ended no page: a template without text of a page."""

    code: str
    url: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNote:
    """What a run knows of a page beside its document."""

    depth: int = 0
    rendered: bool = False
    warnings: tuple[WarningCode, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Of a blocked document, which itself holds their ids only."""
    provenance: Provenance | None = None
    """Of a blocked document, which itself has none."""
    links_base: str = ""
    """What the links of an accepted document are relative to."""
    link_scope: ExceptionScope = field(default_factory=ExceptionScope.none)
    """The exceptions that they may use."""
    wire_bytes: int = 0
    """Body bytes of every hop as received: what the page cost its run."""
    revalidated_at: str | None = None
    imported_at: str | None = None
    """When the site said that the bytes, taken in before, are still the same; None where none asked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRecord:
    """A page that ended before there was a document: it could not be had, or broke a rule on the way."""

    number: int
    requested_url: str
    code: Code
    message: str
    """For a person; names the host, no text of the page."""
    is_blocked: bool = False
    """A violation met on the way (decision 1), and so BLOCKED rather than FAILED."""
    retryable: bool | None = None
    """None: as the code says."""
    final_url: str | None = None
    depth: int = 0
    http_status: int | None = None
    hops: tuple[Hop, ...] = ()
    robots: RobotsState = RobotsState.NOT_CHECKED
    source_ref: str | None = None
    sha256: str | None = None
    size_bytes: int = 0
    retrieved_at: str | None = None
    isolation: Isolation | None = None
    rendered: bool = False
    warnings: tuple[WarningCode, ...] = ()
    wire_bytes: int = 0
    revalidated_at: str | None = None
    imported_at: str | None = None
    stopped_at: str | None = None
    """The URL at which its chain of requests failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """What a run asked for beside its pages: a robots.txt, a sitemap; and what came of it."""

    kind: str
    """As in the archive: robots, sitemap."""
    url: str
    """As asked for."""
    final_url: str | None = None
    http_status: int | None = None
    source_ref: str | None = None
    """Of the answer in the archive; None where none came, or none was kept."""
    code: Code | None = None
    """How it failed; None when an answer came, of whatever status."""
    message: str | None = None
    """For a person; names the host, no text of an answer."""
    hops: tuple[Hop, ...] = ()
    wire_bytes: int = 0
    """What it cost the run, all tries together."""
    retrieved_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """Where a document lies."""

    document_id: str
    number: int
    path: str
    """Relative to the run's folder."""
    file: Path | None
    """The same on this machine; None where there is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """An accepted document as it was read back, its digest checked."""

    markdown: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a list of runs."""

    run_id: str
    kind: RunKind
    state: CrawlState | None
    """None: its manifest is missing or damaged, and nothing but its id is known."""
    root_url: str
    started_at: str | None
    finished_at: str | None
    totals: Mapping[str, int]
    """Of one that has not ended, as far as it has come."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What it was begun with."""
    is_live: bool = False
    """Whether somebody writes it still; a run that is RUNNING and not live was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord:
    """All that a run writes of one page."""

    number: int
    row: Mapping[str, Any]
    metadata: Mapping[str, Any]
    findings: tuple[Mapping[str, Any], ...]
    path: str | None = None
    content: bytes | None = field(default=None, repr=False)
