"""Guests whose answers are written down: good ones, crashes, hangs, nonsense, the wrong digest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Self

from mudroom.errors import Code, GuestFailed, MudroomError
from mudroom.extract import read_sitemap
from mudroom.jail import ExtractRequest, SitemapRequest
from mudroom.model import (
    ExtractedDocument,
    Finding,
    Isolation,
    Link,
    ScanReport,
    ScanRequest,
    SecurityText,
    SitemapReading,
    View,
)
from mudroom.wire import digest_scan_request

__all__ = [
    "CRASH",
    "NONSENSE",
    "GuestHang",
    "ScriptedGuests",
    "WrongDigest",
    "make_document",
]

_SCRIPTED_VERSION = "scripted/1"

CRASH = GuestFailed(Code.GUEST_CRASHED, "the guest died (scripted)")
NONSENSE = GuestFailed(Code.GUEST_PROTOCOL, "the guest answered nonsense (scripted)")


@dataclass(frozen=True, slots=True)
class GuestHang:
    """A guest that does not answer before the event is set; then it is given up as too slow."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class WrongDigest:
    """A report without findings for something else than what was sent."""


Extraction = ExtractedDocument | MudroomError | GuestHang
Scan = tuple[Finding, ...] | MudroomError | GuestHang | WrongDigest


def make_document(
    text: str = "A page.\n",
    *,
    title: str = "A page",
    links: Sequence[str] = (),
    base_url: str = "",
    views: Mapping[View, str] | None = None,
    security_text: SecurityText | None = None,
    needs_render: bool = False,
) -> ExtractedDocument:
    """An extracted document with every field filled; each view is the text unless others are given."""
    return ExtractedDocument(
        media_type="text/html",
        charset="utf-8",
        title=title,
        views=views if views is not None else MappingProxyType(dict.fromkeys(View, text)),
        links=tuple(Link(untrusted_href=href) for href in links),
        base_url=base_url,
        security_text=security_text if security_text is not None else SecurityText.from_pieces(()),
        visible_chars=len(text),
        hidden_chars=0,
        removed_chars=0,
        needs_render=needs_render,
    )


class ScriptedGuests:
    """A pool of guests whose answers are written down.

    Shapes: `pages` maps a final URL to what extraction gives (one answer, every time); a URL that is not
    in it becomes a document of its body's text. `scans` are given in turn; when they are used up, every
    further scan finds nothing. `sitemaps` too are given in turn; afterwards each is read as it stands.
    """

    def __init__(
        self,
        pages: Mapping[str, Extraction] | None = None,
        scans: Sequence[Scan] = (),
        *,
        sitemaps: Sequence[SitemapReading | MudroomError] = (),
        isolation: Isolation = Isolation.STRICT,
    ) -> None:
        self._pages = dict(pages or {})
        self._scans = list(scans)
        self._sitemaps = list(sitemaps)
        self.isolation = isolation
        self.extracted: list[ExtractRequest] = []
        self.scanned: list[ScanRequest] = []
        self.mapped: list[SitemapRequest] = []
        self.sites: list[tuple[str, str]] = []
        """(site, run_id) of every request, in order."""
        self.is_open = False

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
        """Open the pool."""
        self.is_open = True

    async def aclose(self) -> None:
        """Close the pool."""
        self.is_open = False

    async def extract(self, request: ExtractRequest, *, site: str, run_id: str) -> ExtractedDocument:
        """What is written down for the URL. Raises what is written down."""
        self.extracted.append(request)
        self.sites.append((site, run_id))
        url = request.source.url
        answer = self._pages.get(url)
        match answer:
            case None:
                return make_document(request.body.decode("utf-8", "replace"), base_url=url)
            case GuestHang(event=event):
                raise await _give_up_after(event)
            case MudroomError():
                raise answer
            case ExtractedDocument():
                return answer

    async def read_sitemap(self, request: SitemapRequest, *, site: str, run_id: str) -> SitemapReading:
        """The next reading that is written down, else the real one. Raises what is written down."""
        self.mapped.append(request)
        self.sites.append((site, run_id))
        answer = self._sitemaps.pop(0) if self._sitemaps else None
        if isinstance(answer, MudroomError):
            raise answer
        return answer or read_sitemap(request.body, request.charset or None, request.limits)

    async def scan(self, request: ScanRequest, *, site: str, run_id: str) -> ScanReport:
        """The next report that is written down. Raises what is written down."""
        self.scanned.append(request)
        self.sites.append((site, run_id))
        answer = self._scans.pop(0) if self._scans else ()
        match answer:
            case GuestHang(event=event):
                raise await _give_up_after(event)
            case MudroomError():
                raise answer
            case WrongDigest():
                return ScanReport(findings=(), request_sha256="0" * 64, scanner_version=_SCRIPTED_VERSION)
            case tuple():
                return ScanReport(
                    findings=answer,
                    request_sha256=digest_scan_request(request),
                    scanner_version=_SCRIPTED_VERSION,
                )


async def _give_up_after(event: asyncio.Event) -> GuestFailed:
    await event.wait()
    return GuestFailed(Code.GUEST_TIMEOUT, "the guest did not answer in time (scripted)")
