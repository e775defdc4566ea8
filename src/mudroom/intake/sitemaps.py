"""One sitemap: asked for through the same guarded way as a page, kept, and read by a guest."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from mudroom.address import AllowedUrl, ExceptionScope, ParsedUrl, site_of
from mudroom.clock import Clock
from mudroom.corpus import SourceRecord
from mudroom.errors import Code, ContentRefused, FetchFailed, MudroomError, StoreFailed
from mudroom.extract import SitemapLimits
from mudroom.fetch import FetchRequest, HopCheck, RedirectRule, Streamed, find_retry_after
from mudroom.intake.ports import Guests
from mudroom.intake.robots_record import RecordSource, record_answer, record_failure
from mudroom.jail import SitemapRequest
from mudroom.media import header_values, parse_content_type
from mudroom.model import SitemapReading
from mudroom.snapshot import SnapshotInput, SnapshotStore, SourceKind, StoredSnapshot

__all__ = ["SitemapAnswer", "SitemapAsk", "SitemapReader", "Sitemaps"]

_FIRST_ERROR_STATUS = 300
_ONE_PIECE_BYTES = 1 << 20
"""By how much one chunk may unpack beyond the limit before it is given up."""
_UNBOUNDED_BYTES = 1 << 50
"""What the fetcher is told of a body whose reading ends at a bound of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapAsk:
    """One sitemap to read, and how far that may go."""

    url: AllowedUrl
    run_id: str
    record: RecordSource | None = None
    """Notes in the run's record what came of it."""
    check: HopCheck
    """Awaited before each request on the way to it."""
    redirects: RedirectRule
    max_body_bytes: int
    """As received; what stands behind them is neither read nor kept."""
    max_wire_bytes: int = _UNBOUNDED_BYTES
    """Of all bodies on the way, redirects included; one that says it is larger is refused unread."""
    limits: SitemapLimits = field(default_factory=SitemapLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapAnswer:
    """What came of one sitemap that was asked for."""

    reading: SitemapReading | None = None
    """None where there is none to read: `code` and `message` say why."""
    code: Code | None = None
    message: str = ""
    final: ParsedUrl | None = None
    """Where the redirects ended: what locations are relative to."""
    http_status: int | None = None
    link_scope: ExceptionScope = field(default_factory=ExceptionScope.none)
    """The exceptions that its locations may use: those it was itself dialled in."""
    is_truncated: bool = False
    """It was longer than was asked for."""
    wire_bytes: int = 0
    retry_after_seconds: float | None = None
    not_kept: Code | None = None
    """Why the archive or the run's record did not take it; None where they did, or were not to."""


class SitemapReader(Protocol):
    """Reads sitemaps. The real one is `Sitemaps`."""

    async def read(self, ask: SitemapAsk) -> SitemapAnswer:
        """What came of one. Every failure is an answer; only cancellation is raised."""
        ...


class SitemapFetcher(Protocol):
    """One URL to its answer, read as far as wanted. The real one is `fetch.Fetcher`."""

    def stream(self, request: FetchRequest) -> AbstractAsyncContextManager[Streamed]:
        """The answer, entered at its headers. Raises EgressRefused, FetchFailed, ContentRefused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A sitemap as far as it was read."""

    answer: Streamed
    untrusted_body: bytes
    """As received; this is what is archived."""
    untrusted_content: bytes
    """Without HTTP's content codings."""
    is_truncated: bool


class Sitemaps:
    """Reads sitemaps for all runs."""

    def __init__(
        self, fetcher: SitemapFetcher, guests: Guests, archive: SnapshotStore | None, clock: Clock
    ) -> None:
        """Shapes: `archive` is None where raw bytes are not all kept (archive.keep)."""
        self._fetcher = fetcher
        self._guests = guests
        self._archive = archive
        self._clock = clock

    async def read(self, ask: SitemapAsk) -> SitemapAnswer:
        """What came of one sitemap: fetched, kept whatever its status, read by a guest of its site."""
        name = ask.url.url.normalized
        try:
            file = await self._fetch(ask)
        except MudroomError as error:
            record = record_failure(name, error, error.wire_bytes, SourceKind.SITEMAP)
            return SitemapAnswer(
                code=error.code,
                message=error.message,
                wire_bytes=error.wire_bytes,
                not_kept=await _tell(ask, record),
            )
        kept, not_kept = await self._keep(ask, file)
        record = record_answer(name, file.answer, kept, file.answer.wire_bytes, SourceKind.SITEMAP)
        not_kept = await _tell(ask, record) or not_kept
        reading: SitemapReading | None = None
        code: Code | None = None
        message = ""
        try:
            reading = await self._read(ask, file)
        except MudroomError as error:
            code, message = error.code, error.message
        answer = file.answer
        return SitemapAnswer(
            reading=reading,
            code=code,
            message=message,
            final=answer.final,
            http_status=answer.status,
            link_scope=ExceptionScope.of(answer.exception) if answer.exception else ExceptionScope.none(),
            is_truncated=file.is_truncated,
            wire_bytes=answer.wire_bytes,
            retry_after_seconds=find_retry_after(answer.headers, self._clock.now()),
            not_kept=not_kept,
        )

    async def _fetch(self, ask: SitemapAsk) -> _File:
        """The answer up to the limit; what follows is left in the socket, which is closed."""
        limit = ask.max_body_bytes
        request = FetchRequest(
            "GET",
            ask.url,
            redirects=ask.redirects,
            hop_check=ask.check,
            max_body_bytes=ask.max_wire_bytes,
            max_decoded_bytes=limit + _ONE_PIECE_BYTES,
        )
        body, content = bytearray(), bytearray()
        is_truncated = False
        async with self._fetcher.stream(request) as answer:
            async for chunk in answer.raw_chunks():
                body += chunk
                is_truncated = (
                    not _decode_into(content, chunk, answer) or max(len(content), len(body)) > limit
                )
                if is_truncated:
                    break
            else:
                content += answer.decoder.finish() if body else b""
        return _File(
            answer=answer,
            untrusted_body=bytes(body),
            untrusted_content=bytes(content[:limit]),
            is_truncated=is_truncated,
        )

    async def _keep(self, ask: SitemapAsk, file: _File) -> tuple[StoredSnapshot | None, Code | None]:
        """Its bytes into the archive, or why they are not there."""
        if self._archive is None:
            return None, None
        snapshot = SnapshotInput(
            kind=SourceKind.SITEMAP,
            requested_url=ask.url.url.normalized,
            url=file.answer.final.normalized,
            status=file.answer.status,
            fetched_at=self._clock.now(),
            body=file.untrusted_body,
            headers=file.answer.headers,
            raw_header=file.answer.raw_header,
            redirects=file.answer.hops,
            run_id=ask.run_id,
        )
        try:
            return await self._archive.put(snapshot), None
        except StoreFailed as error:
            return None, error.code

    async def _read(self, ask: SitemapAsk, file: _File) -> SitemapReading:
        """Raises: FetchFailed HTTP_STATUS; GuestFailed."""
        answer = file.answer
        if answer.status >= _FIRST_ERROR_STATUS:
            raise FetchFailed(Code.HTTP_STATUS, f"{answer.final.host} answered with status {answer.status}")
        declared = parse_content_type("".join(header_values(answer.headers, "content-type")[-1:]))
        request = SitemapRequest(
            body=file.untrusted_content,
            charset=(declared.charset if declared else None) or "",
            limits=ask.limits,
        )
        return await self._guests.read_sitemap(request, site=site_of(answer.final), run_id=ask.run_id)


async def _tell(ask: SitemapAsk, record: SourceRecord) -> Code | None:
    """Have the run's record say what came of it; why it does not, or None."""
    if ask.record is None:
        return None
    try:
        await ask.record(record)
    except StoreFailed as error:
        return error.code
    return None


def _decode_into(content: bytearray, chunk: bytes, answer: Streamed) -> bool:
    """Whether a chunk without its content codings was no more than may be read; what came before it stands."""
    try:
        content += answer.decoder.feed(chunk)
    except ContentRefused as error:
        if error.code is not Code.DECODED_TOO_LARGE:
            raise
        return False
    return True
