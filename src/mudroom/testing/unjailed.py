"""Guests for tests alone: the real extraction and the real scan in the test's own process."""

from __future__ import annotations

import os
from functools import cache
from types import TracebackType
from typing import Self

from mudroom.errors import InvalidConfig
from mudroom.extract import extract_document, read_sitemap
from mudroom.jail import ExtractRequest, SitemapRequest
from mudroom.model import ExtractedDocument, Isolation, ScanReport, ScanRequest, SitemapReading
from mudroom.screen import SCANNER_VERSION, ScanLimits, Scanner, load_rules
from mudroom.wire import digest_scan_request

__all__ = ["UnjailedGuests"]


class UnjailedGuests:
    """The real extraction and the real scan in this process, without any isolation.

    Refuses to exist unless MUDROOM_TESTING=1 stands in the environment: outside tests nothing may read
    documents of strangers in the process that holds the network.
    """

    isolation = Isolation.PROCESS

    def __init__(self, scanner: Scanner | None = None) -> None:
        if os.environ.get("MUDROOM_TESTING") != "1":
            raise InvalidConfig(
                "UnjailedGuests reads documents without a jail; only tests with MUDROOM_TESTING=1 may"
            )
        self._scanner = scanner or _standard_scanner()

    async def __aenter__(self) -> Self:
        """Open the pool."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool."""
        await self.aclose()

    async def start(self) -> None:
        """Nothing has to be opened."""

    async def aclose(self) -> None:
        """Nothing has to be closed."""

    async def extract(self, request: ExtractRequest, *, site: str, run_id: str) -> ExtractedDocument:
        """What extraction reads of a document. Raises ContentRefused as a guest does."""
        del site, run_id
        return extract_document(request.body, request.source, request.limits)

    async def read_sitemap(self, request: SitemapRequest, *, site: str, run_id: str) -> SitemapReading:
        """The entries of a sitemap."""
        del site, run_id
        return read_sitemap(request.body, request.charset or None, request.limits)

    async def scan(self, request: ScanRequest, *, site: str, run_id: str) -> ScanReport:
        """What the scanner finds in a document."""
        del site, run_id
        return ScanReport(
            findings=self._scanner.scan(request),
            request_sha256=digest_scan_request(request),
            scanner_version=SCANNER_VERSION,
        )


@cache
def _standard_scanner() -> Scanner:
    """The scanner with the rules of the package; compiling them takes most of a second."""
    return Scanner(load_rules(), ScanLimits())
