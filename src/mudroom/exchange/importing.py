"""A foreign archive taken in as one run: each page of it goes the whole path, from the snapshot on.

Reading and unpacking happen in a thread, a record at a time, a few ahead of the guests. Who wrote the archive
could have written anything into it: URLs, dates and answers are what they say, and every record of the run
says so (`imported_at`). Nothing is fetched.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mudroom.corpus import CorpusStore, RunWarning, RunWriter
from mudroom.errors import FileRefused, MudroomError
from mudroom.exchange.incoming import Original, holds_page, judge_record, list_names, list_wanted
from mudroom.exchange.opening import open_archive
from mudroom.intake import IMPORTED_OPTION, Intake, Outcome, RecordRequest
from mudroom.model import CrawlState, RunKind, WarningCode
from mudroom.snapshot import SnapshotStore, parse_source_ref
from mudroom.warc import ForeignDamage, ForeignLimits, ForeignRecord, read_foreign

__all__ = ["ImportLimits", "Importer"]

_Item = ForeignRecord | ForeignDamage


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLimits:
    """Bounds of one import."""

    foreign: ForeignLimits = field(default_factory=ForeignLimits)
    max_pages: int = 100_000
    at_once: int = 4
    """Records with the guests at one time."""
    max_originals: int = 200_000
    """Names of bodies remembered for revisits; the oldest are forgotten first."""


class Importer:
    """Takes foreign archives in."""

    def __init__(
        self,
        intake: Intake,
        corpus: CorpusStore,
        archive: SnapshotStore,
        limits: ImportLimits | None = None,
    ) -> None:
        self._intake = intake
        self._corpus = corpus
        self._archive = archive
        self._limits = limits or ImportLimits()

    async def take(self, path: Path, shown_name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest of the run that holds what was in the archive.

        Raises: FileRefused where the file cannot be opened as an archive, before there is a run; StoreFailed
            where the run cannot be begun or ended; asyncio.CancelledError after the manifest was written.
        """
        records = _read_records(path, self._limits.foreign)
        with closing(records):
            first = await _read_next(records)
            run = await self._corpus.begin_run(
                RunKind.FILE, shown_name, {**options, IMPORTED_OPTION: shown_name}
            )
            work = _Import(self._intake, self._archive, self._limits, run)
            state = CrawlState.FAILED
            try:
                state = await work.take_all(first, records)
            except asyncio.CancelledError:
                state = CrawlState.CANCELLED
                raise
            finally:
                manifest = await run.finish(state, warnings=work.warnings(shown_name))
        return manifest


class _Import:
    """One archive on its way in."""

    def __init__(self, intake: Intake, archive: SnapshotStore, limits: ImportLimits, run: RunWriter) -> None:
        self._intake = intake
        self._archive = archive
        self._limits = limits
        self._run = run
        self._damages: Counter[str] = Counter()
        self._passed_over: Counter[str] = Counter()
        self._bodies: OrderedDict[str, str] = OrderedDict()
        """Names of records by which a revisit may ask for their body, and where it is kept."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal: FileRefused | None = None
        self._pages = 0

    async def take_all(self, first: _Item | None, records: Iterator[_Item]) -> CrawlState:
        """How the run ends: COMPLETE, or LIMIT_REACHED where the archive was not read to its end."""
        item = first
        try:
            while item is not None and self._pages < self._limits.max_pages:
                await self._take(item)
                item = await _read_next(records)
        except FileRefused as refusal:
            self._refusal = refusal
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            raise
        finally:
            if self._tasks:
                await asyncio.gather(*self._tasks, return_exceptions=True)
        for task in self._tasks:
            task.result()
        if self._refusal is not None and not self._pages:
            return CrawlState.FAILED
        is_cut = item is not None or self._damages["LIMIT"] > 0
        return CrawlState.LIMIT_REACHED if is_cut else CrawlState.COMPLETE

    async def _take(self, item: _Item) -> None:
        if isinstance(item, ForeignDamage):
            self._damages[item.fault.value] += 1
            return
        if not holds_page(item):
            self._passed_over[item.type if item.type in _TYPES else "other"] += 1
            return
        self._pages += 1
        original = await self._find_original(item) if item.type == "revisit" else None
        request = judge_record(item, self._run.next_number(), original)
        if len(self._tasks) >= self._limits.at_once:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for done in [task for task in self._tasks if task.done()]:
            self._tasks.discard(done)
            done.result()
        names = () if item.type == "revisit" else list_names(item)
        self._tasks.add(asyncio.create_task(self._take_in(request, names)))

    async def _take_in(self, request: RecordRequest, names: tuple[str, ...]) -> None:
        outcome: Outcome = await self._intake.take_record(request, self._run)
        if outcome.facts.source_ref is None or request.refusal is not None:
            return
        for name in names:
            self._bodies[name] = outcome.facts.source_ref
        while len(self._bodies) > self._limits.max_originals:
            self._bodies.popitem(last=False)

    async def _find_original(self, revisit: ForeignRecord) -> Original | None:
        """The body that a revisit stands for, from our own archive; None where this import brought none."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        for name in list_wanted(revisit):
            source_ref = self._bodies.get(name)
            if source_ref is not None:
                try:
                    body = (await self._archive.get(source_ref)).body
                except MudroomError:
                    return None
                return Original(body=body, has_same_digest=self._is_of_digest(revisit, source_ref))
        return None

    def _is_of_digest(self, revisit: ForeignRecord, source_ref: str) -> bool:
        """Whether a record with this body carried the revisit's digest; it may be over chunks, which are not kept."""
        digest = revisit.fields.get("warc-payload-digest", "").lower()
        known = self._bodies.get(f"of {digest}")
        return known is not None and parse_source_ref(known).sha256 == parse_source_ref(source_ref).sha256

    def warnings(self, shown_name: str) -> list[RunWarning]:
        """What was noticed of the archive as a whole, counted."""
        told = []
        for code, counts in (
            (WarningCode.ARCHIVE_DAMAGED, self._damages),
            (WarningCode.RECORDS_PASSED_OVER, self._passed_over),
        ):
            if counts:
                words = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
                told.append(RunWarning(code=code, url=None, message=f"{shown_name}: {words}"))
        if self._refusal is not None:
            told.append(RunWarning(code=self._refusal.code, url=None, message=self._refusal.message))
        return told


_TYPES = frozenset({"warcinfo", "request", "metadata", "conversion", "continuation", "response", "resource"})


async def _read_next(records: Iterator[_Item]) -> _Item | None:
    """The next record, read in a thread; cancelled, not before that thread has let go of the archive."""
    reading = asyncio.ensure_future(asyncio.to_thread(next, records, None))
    try:
        return await asyncio.shield(reading)
    except asyncio.CancelledError:
        await asyncio.wait({reading})
        raise


def _read_records(path: Path, limits: ForeignLimits) -> Generator[_Item]:
    with open_archive(path) as streams:
        for stream in streams:
            yield from read_foreign(stream, limits)
