"""What the way in needs of the floors below: five seams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mudroom.address import EgressSource
from mudroom.clock import Clock
from mudroom.extract import ExtractLimits
from mudroom.fetch import Fetched, FetchRequest
from mudroom.intake.events import IntakeObserver
from mudroom.intake.priors import Priors
from mudroom.intake.recall import Recalled
from mudroom.jail import ExtractRequest, SitemapRequest
from mudroom.model import ExtractedDocument, Isolation, ScanReport, ScanRequest, SitemapReading
from mudroom.screen import PolicyOptions
from mudroom.snapshot import KeepRule, SnapshotStore

__all__ = ["Guests", "PageFetcher", "Parts"]


class PageFetcher(Protocol):
    """One URL to its bytes. The real one is `fetch.Fetcher`; a replay has one that reads the archive."""

    async def fetch(self, request: FetchRequest) -> Fetched | Recalled:
        """The answer, whole. Raises EgressRefused, FetchFailed, ContentRefused; StoreFailed in a replay."""
        ...


class Guests(Protocol):
    """The two jailed readers. The real one is `jail.GuestPool`."""

    @property
    def isolation(self) -> Isolation:
        """How strongly the guests are held."""
        ...

    async def extract(self, request: ExtractRequest, *, site: str, run_id: str) -> ExtractedDocument:
        """Both readings of a document. Raises GuestFailed, ContentRefused."""
        ...

    async def read_sitemap(self, request: SitemapRequest, *, site: str, run_id: str) -> SitemapReading:
        """The entries of a sitemap. Raises GuestFailed."""
        ...

    async def scan(self, request: ScanRequest, *, site: str, run_id: str) -> ScanReport:
        """The findings of a finished scan. Raises GuestFailed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The floors joined: what one way in is made of."""

    fetcher: PageFetcher
    guests: Guests
    archive: SnapshotStore
    keep: KeepRule
    egress: EgressSource
    extract_limits: ExtractLimits
    policy: PolicyOptions
    clock: Clock
    observer: IntakeObserver
    priors: Priors | None = None
    """Earlier snapshots that the site may be asked about; None where none ever is."""
