"""Guests for extraction and scanning: documents in, measured answers out."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import TracebackType
from typing import Self

from mudroom.errors import Code, GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource, SitemapLimits, is_clean
from mudroom.jail.launch import Launcher
from mudroom.jail.options import JailOptions
from mudroom.jail.probe import probe_level
from mudroom.jail.ward import Ward
from mudroom.model import ExtractedDocument, Isolation, ScanReport, ScanRequest, SitemapReading
from mudroom.wire import (
    AnswerLimits,
    ExtractOrder,
    FrameKind,
    SitemapOrder,
    decode_extracted,
    decode_scan_report,
    decode_sitemap,
    encode_extract_request,
    encode_scan_request,
    encode_sitemap_request,
    refuse,
)

__all__ = ["ExtractRequest", "GuestPool", "SitemapRequest"]

_MAX_UTF8_BYTES = 4
"""What every exposed text may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """A document's bytes and what is known of them."""

    body: bytes
    source: ExtractSource
    limits: ExtractLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRequest:
    """A sitemap's bytes, HTTP's own codings removed, and what is known of them."""

    body: bytes
    charset: str = ""
    """As declared; empty when it was not."""
    limits: SitemapLimits = field(default_factory=SitemapLimits)


class GuestPool:
    """Jailed readers and scanners. Use as an async context manager, or call start and aclose."""

    def __init__(self, options: JailOptions | None = None) -> None:
        self._options = options or JailOptions()
        self._isolation: Isolation | None = None
        self._launcher: Launcher | None = None
        self._extracting: Ward | None = None
        self._scanning: Ward | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def isolation(self) -> Isolation:
        """The level at which guests are held; known once the pool has started."""
        if self._isolation is None:
            raise GuestFailed(Code.JAIL_UNAVAILABLE, "the jail was not opened")
        return self._isolation

    @property
    def held(self) -> tuple[str, ...]:
        """The control groups that cap guests, in words; empty where none is writable."""
        return () if self._launcher is None else self._launcher.held

    async def start(self) -> None:
        """One reader and one scanner are ready, at the level asked for, or at the strongest that holds here.

        Raises: GuestFailed(JAIL_UNAVAILABLE) where the level asked for does not hold, or where a guest
        does not start although the level holds. No level is ever taken that was not tried.
        """
        levels = self._choose_levels()
        for level in levels:
            try:
                await self._start_at(level)
            except GuestFailed as failure:
                # Is it the level that does not hold, or the guest's own work that fails?
                probed = await probe_level(level, self._options)
                if probed.is_available:
                    raise
                if level is levels[-1]:
                    told = f"{probed.detail}. {probed.fix}{self._tell_floor()}"
                    raise GuestFailed(failure.code, told) from failure
            else:
                return

    def _choose_levels(self) -> tuple[Isolation, ...]:
        """The levels to try, strongest first."""
        asked = self._options.isolation
        if asked != "auto":
            return (Isolation(asked),)  # a level may have been given by its word
        levels = tuple(Isolation)
        return levels[: levels.index(self._options.floor) + 1]

    def _tell_floor(self) -> str:
        """What was not tried, and how to have it tried; empty where everything was."""
        floor = self._options.floor
        if self._options.isolation != "auto" or floor is tuple(Isolation)[-1]:
            return ""
        return f" No level weaker than {floor} is taken here unless jail.isolation names it."

    async def extract(self, request: ExtractRequest, *, site: str, run_id: str) -> ExtractedDocument:
        """What a guest of that run and site read of a document; its lengths are measured again here.

        Raises: ContentRefused(EXTRACTION_LIMIT, EXTRACTION_FAILED, UNSUPPORTED_CONTENT_TYPE) as the guest
        found; GuestFailed(GUEST_TIMEOUT, GUEST_MEMORY, GUEST_CRASHED, GUEST_PROTOCOL) when it was given up;
        GuestFailed(JAIL_UNAVAILABLE) when no guest could be started.
        """
        source, limits = request.source, request.limits
        order = ExtractOrder(
            body=request.body,
            url=source.url,
            content_type=source.content_type,
            filename=source.filename,
            no_sniff=source.no_sniff,
            views=source.views,
            limits=_numbers_of(limits),
        )
        decode = partial(_judge_extracted, limits=_answer_limits(self._options.answer, limits))
        ward = _opened(self._extracting)
        return await ward.ask(
            (run_id, site), FrameKind.EXTRACT, encode_extract_request(order), FrameKind.EXTRACTED, decode
        )

    async def scan(self, request: ScanRequest, *, site: str, run_id: str) -> ScanReport:
        """The report of a guest that scanned the request, with the digest of what it scanned.

        Raises: GuestFailed; whatever its code, the document was not scanned.
        """
        decode = partial(decode_scan_report, limits=self._options.answer)
        ward = _opened(self._scanning)
        return await ward.ask(
            (run_id, site), FrameKind.SCAN, encode_scan_request(request), FrameKind.SCANNED, decode
        )

    async def read_sitemap(self, request: SitemapRequest, *, site: str, run_id: str) -> SitemapReading:
        """The entries that a guest of that run and site read of a sitemap. Raises as `extract` does."""
        limits = request.limits
        order = SitemapOrder(
            body=request.body,
            charset=request.charset,
            max_unpacked_bytes=limits.max_unpacked_bytes,
            max_entries=limits.max_entries,
            max_depth=limits.max_depth,
            max_location_chars=limits.max_location_chars,
        )
        decode = partial(decode_sitemap, order=order, max_bytes=self._options.answer.max_links_bytes)
        return await _opened(self._extracting).ask(
            (run_id, site),
            FrameKind.SITEMAP,
            encode_sitemap_request(order),
            FrameKind.SITEMAP_READ,
            decode,
        )

    async def aclose(self) -> None:
        """No process, descriptor, mount or control group is left."""
        wards = [ward for ward in (self._extracting, self._scanning) if ward is not None]
        self._extracting = self._scanning = None
        try:
            await asyncio.gather(*(ward.aclose() for ward in wards))
        finally:
            if self._launcher is not None:
                self._launcher.close()

    async def _start_at(self, level: Isolation) -> None:
        options = self._options
        roles = (options.extract_role, options.scan_role)
        launcher = Launcher(level, roles, options.max_memory_bytes)
        self._launcher = launcher
        self._extracting, self._scanning = (Ward(launcher, role, options) for role in roles)
        try:
            launcher.open()
            outcomes = await asyncio.gather(
                self._extracting.start(), self._scanning.start(), return_exceptions=True
            )
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            self._isolation = level
        finally:
            if self._isolation is None:
                await self.aclose()


# A run reads its documents under one set of limits.
@lru_cache(maxsize=8)
def _numbers_of(limits: ExtractLimits) -> tuple[int, ...]:
    """Limits in the order of their declaration, as they cross."""
    return dataclasses.astuple(limits)


@lru_cache(maxsize=8)
def _answer_limits(answer: AnswerLimits, limits: ExtractLimits) -> AnswerLimits:
    """The pool's bounds on answers, and those that follow from what the guest was told."""
    return dataclasses.replace(
        answer,
        max_view_bytes=min(answer.max_view_bytes, _MAX_UTF8_BYTES * limits.max_output_chars),
        max_links=min(answer.max_links, limits.max_links),
        max_pieces=min(answer.max_pieces, limits.max_pieces),
    )


def _judge_extracted(untrusted_payload: memoryview, limits: AnswerLimits) -> ExtractedDocument:
    """A document within its limits whose exposed forms hold no character that exposed text may not hold.

    Why: the guest cleans before the scan (decision 13); one that was taken over may not have.
    """
    document = decode_extracted(untrusted_payload, limits)
    if not all(is_clean(text) for text in (document.title, *document.views.values())):
        raise refuse("exposed text with characters that are removed")
    return document


def _opened(ward: Ward | None) -> Ward:
    if ward is None:
        raise GuestFailed(Code.JAIL_UNAVAILABLE, "the jail is not open")
    return ward
