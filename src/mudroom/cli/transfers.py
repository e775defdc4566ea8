"""The transfers of one `mudroom download`: so many at a time, each to its destination, each with a report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from mudroom.address import parse_url
from mudroom.assembly import Fetcher
from mudroom.cli.partial import PartialFile
from mudroom.cli.saving import Destination, FileDestination
from mudroom.errors import Code, ContentRefused, FetchFailed, MudroomError
from mudroom.fetch import BodyVersion, Continuation, FetchRequest, Streamed, find_total, judge_continuation
from mudroom.settings import Settings

__all__ = ["Order", "Report", "TransferOptions", "TransferWatcher", "Transfers"]

_FIRST_ERROR_STATUS = 400
_AS_IT_IS = ("Accept-Encoding", "identity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One URL and where its bytes go."""

    number: int
    untrusted_url: str
    destination: Destination
    is_continued: bool = False
    """Whether a part that lies there is gone on with, and one that breaks off is left there."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of an order, so far."""

    order: Order
    size: int = 0
    total: int | None = None
    continued_from: int = 0
    """What lay here before, of a file that was gone on with."""
    kept_bytes: int = 0
    """What lies here of a file that broke off."""
    error: MudroomError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOptions:
    """What holds for each transfer."""

    headers: tuple[tuple[str, str], ...] = ()
    concurrency: int = 8
    max_bytes: int | None = None
    """Of a whole file; None for the settings' limits."""
    max_seconds: float | None = None


class TransferWatcher(Protocol):
    """Who is told how transfers come on. Must not block."""

    def on_begin(self, report: Report) -> None:
        """It is asked for."""
        ...

    def on_end(self, report: Report) -> None:
        """It is done, or has failed."""
        ...


class Transfers:
    """Does orders; in the order of their ends, watchers hear of them."""

    def __init__(self, settings: Settings, options: TransferOptions, watcher: TransferWatcher) -> None:
        self._settings = settings
        self._options = options
        self._watcher = watcher

    async def run(self, orders: Iterable[Order]) -> list[Report]:
        """A report an order, in their order. What ends one otherwise than with a code ends all."""
        reports: list[Report] = []
        waiting = iter(orders)
        async with Fetcher(self._settings) as fetcher:
            workers = [
                asyncio.ensure_future(self._work(fetcher, waiting, reports))
                for _ in range(self._options.concurrency)
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        return sorted(reports, key=lambda report: report.order.number)

    async def _work(self, fetcher: Fetcher, orders: Iterator[Order], reports: list[Report]) -> None:
        for order in orders:
            report = Report(order=order)
            reports.append(report)
            self._watcher.on_begin(report)
            try:
                await self._transfer(fetcher, report)
            except MudroomError as error:
                report.error = error
            self._watcher.on_end(report)

    async def _transfer(self, fetcher: Fetcher, report: Report) -> None:
        seconds = self._options.max_seconds
        try:
            async with asyncio.timeout(seconds):
                destination = report.order.destination
                if (
                    report.order.is_continued
                    and isinstance(destination, FileDestination)
                    and not destination.leads_through()
                ):
                    await self._continue(fetcher, report, destination)
                else:
                    await self._take(fetcher, report)
        except TimeoutError:
            asked = parse_url(report.order.untrusted_url)
            who = "the site" if asked is None else asked.host
            raise FetchFailed(
                Code.TOTAL_TIMEOUT,
                f"{who} had not sent all of it after the {seconds:g} seconds of --max-time",
            ) from None

    async def _take(self, fetcher: Fetcher, report: Report) -> None:
        """The body from its beginning, whole or not at all."""
        async with fetcher.stream(self._request(report, self._options.headers)) as answer:
            _check_status(answer)
            report.total = find_total(answer.status, answer.headers)
            await report.order.destination.take(_counted(report, answer))

    async def _continue(self, fetcher: Fetcher, report: Report, destination: FileDestination) -> None:
        """The rest of the body where a part lies here that it fits, else all of it."""
        part = PartialFile(destination.target, report.order.untrusted_url)
        try:
            with part:
                if await self._try_continue(fetcher, report, part) is Continuation.AGAIN:
                    part.forget()
                    await self._try_continue(fetcher, report, part)
                report.size = part.finish()
        finally:
            report.kept_bytes = part.kept_bytes

    async def _try_continue(self, fetcher: Fetcher, report: Report, part: PartialFile) -> Continuation:
        """One request, and what it meant; where it must be asked AGAIN nothing was written."""
        held = part.held
        headers = (*self._options.headers, _AS_IT_IS, *held.range_headers)
        async with fetcher.stream(self._request(report, headers)) as answer:
            meaning = judge_continuation(held, answer.status, answer.headers)
            if meaning is not Continuation.RESTART and not part.is_from(answer.final.normalized):
                meaning = Continuation.AGAIN  # a redirect leads elsewhere now
            if meaning in {Continuation.AGAIN, Continuation.COMPLETE}:
                return meaning
            _check_status(answer)
            total = find_total(answer.status, answer.headers)
            if meaning is Continuation.APPEND:
                self._check_total(total)
                part.expect(total)
                report.continued_from = report.size = held.size
            else:
                report.continued_from = report.size = 0
                part.begin(BodyVersion.of(answer.headers), total, answer.final.normalized)
            report.total = total
            await part.take(_counted(report, answer))
        return meaning

    def _check_total(self, total: int | None) -> None:
        """Of a file in parts the limit holds for all of them together. Raises: ContentRefused."""
        limit = self._options.max_bytes or self._settings.fetch.max_body_bytes
        if total is not None and total > limit:
            raise ContentRefused(Code.BODY_TOO_LARGE, f"it is {total} bytes long, and {limit} are taken")

    def _request(self, report: Report, headers: tuple[tuple[str, str], ...]) -> FetchRequest:
        limit = self._options.max_bytes
        return FetchRequest(
            "GET",
            report.order.untrusted_url,
            headers=headers,
            max_body_bytes=limit,
            max_decoded_bytes=limit,
        )


async def _counted(report: Report, answer: Streamed) -> AsyncIterator[bytes]:
    async for chunk in answer.chunks():
        report.size += len(chunk)
        yield chunk


def _check_status(answer: Streamed) -> None:
    if answer.status >= _FIRST_ERROR_STATUS:
        raise FetchFailed(Code.HTTP_STATUS, f"{answer.final.host} answered with status {answer.status}")
