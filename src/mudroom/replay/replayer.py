"""The same crawl again from the archive: the same crawler, the same way in, and no network.

Only what fetches is another: pages and robots.txt come from what the run kept, in the order that it recorded.
The replay is a run of its own, which says what it replays; that run is left as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

from mudroom.address import EgressPolicy, parse_url
from mudroom.corpus import CorpusStore
from mudroom.crawl import (
    CancelToken,
    Crawler,
    CrawlObserver,
    CrawlParts,
    CrawlPolicy,
    RecordedOrder,
    ShouldFollow,
    Stop,
    page_key,
    read_retries,
)
from mudroom.errors import Code, InvalidConfig, MudroomError, StoreFailed
from mudroom.intake import (
    HEADER_NAMES_OPTION,
    Intake,
    Parts,
    RecordSource,
    RobotsGates,
    RobotsMode,
    RobotsReader,
    Sitemaps,
)
from mudroom.model import CrawlState, RunKind, WarningCode
from mudroom.replay.compare import REPLAY_OPTION, Difference, compare_manifests, compare_versions
from mudroom.replay.egress import find_egress
from mudroom.replay.fetcher import ArchiveFetcher
from mudroom.replay.priors import RecordedPriors
from mudroom.replay.record import RunRecord, read_run
from mudroom.replay.robots import RecordedRobots
from mudroom.replay.sources import ArchiveSources
from mudroom.snapshot import KeepRule, SourceKind

__all__ = ["KEEP_OPTION", "ReplayReport", "Replayer"]

KEEP_OPTION = "archive_keep"
"""The option of a run that says which bytes it kept."""

_ENDED = frozenset({CrawlState.COMPLETE, CrawlState.LIMIT_REACHED, CrawlState.CANCELLED, CrawlState.FAILED})
_STOPS: Mapping[str, Stop] = {
    WarningCode.BYTE_LIMIT.value: Stop.BYTES,
    WarningCode.TIME_LIMIT.value: Stop.TIME,
    Code.CANCELLED.value: Stop.CANCELLED,
    Code.STORE_UNAVAILABLE.value: Stop.STORE,
}
"""The warnings of a run that was stopped, by what stopped it; its number of pages stops a replay by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """A replay, and how it compares with the run that it replays."""

    replay_of: str
    manifest: Mapping[str, Any]
    """Of the replay."""
    differences: tuple[Difference, ...]
    versions: Mapping[str, tuple[str | None, str | None]]
    """What is of another version now: part to the version then and now."""
    unreadable: tuple[tuple[int, MudroomError], ...]
    """Pages whose bytes the archive cannot give, and why."""
    missing: tuple[int, ...]
    """Pages that no page led to this time."""

    @property
    def is_equal(self) -> bool:
        """Whether the crawl came out the same."""
        return not self.differences


class Replayer:
    """Replays crawls of one workspace; `parts` are those of its way in, whose fetcher is not asked."""

    def __init__(
        self, parts: Parts, corpus: CorpusStore, observer: CrawlObserver, *, max_decoded_bytes: int
    ) -> None:
        self._parts = parts
        self._corpus = corpus
        self._observer = observer
        self._max_decoded_bytes = max_decoded_bytes

    async def replay(
        self,
        run_id: str,
        *,
        cancel: CancelToken | None = None,
        corpus: CorpusStore | None = None,
        should_follow: ShouldFollow | None = None,
    ) -> ReplayReport:
        """The crawl again, and what differs.

        Shapes: `corpus` is where the replay's own record goes; None for where the run's stands;
            `should_follow` is the function by which the run's links were scored, if they were.
        Raises: NotFound RUN_NOT_FOUND; InvalidConfig for a run that cannot be replayed; StoreFailed.
        """
        run = await read_run(self._corpus, run_id)
        check_replayable(run)
        policy = _read_policy(run, should_follow)
        egress = find_egress(run.options)
        max_bytes = self._max_decoded_bytes
        fetcher = ArchiveFetcher(run, self._parts.archive, max_decoded_bytes=max_bytes)
        order = RecordedOrder(
            _list_pages(run),
            stop=_find_stop(run),
            began_at=datetime.fromisoformat(run.manifest["started_at"]),
            retries=read_retries(run.manifest["warnings"]),
        )
        crawler = self._join(run, fetcher, egress, corpus or self._corpus)
        manifest = await crawler.crawl(run.manifest["root_url"], policy, cancel=cancel, order=order)
        return ReplayReport(
            replay_of=run.run_id,
            manifest=manifest,
            differences=compare_manifests(run.manifest, manifest),
            versions=compare_versions(run.manifest["versions"], manifest["versions"]),
            unreadable=tuple(sorted(fetcher.unreadable, key=lambda each: each[0])),
            missing=tuple(number for number, _ in order.missing),
        )

    def _join(
        self,
        run: RunRecord,
        fetcher: ArchiveFetcher,
        egress: EgressPolicy,
        corpus: CorpusStore,
    ) -> Crawler:
        parts = replace(
            self._parts,
            fetcher=fetcher,
            egress=egress,
            keep=KeepRule.ALL,
            observer=self._observer,
            priors=RecordedPriors(run),
        )
        return Crawler(
            CrawlParts(
                intake=Intake(parts),
                corpus=corpus,
                robots=RecordedRobots(run, self._open_reading),
                sitemaps=self._list_sitemaps(run),
                egress=egress,
                clock=parts.clock,
                sleep=_wait_for_ever,
                observer=self._observer,
                options={**run.options, REPLAY_OPTION: run.run_id},
            )
        )

    def _open_reading(self, run: RunRecord, mode: RobotsMode, record: RecordSource | None) -> RobotsReader:
        gates = RobotsGates(self._list(run, SourceKind.ROBOTS), None, self._parts.clock, _go_on)
        return gates.open_gate(run.run_id, mode, record)

    def _list_sitemaps(self, run: RunRecord) -> Sitemaps | None:
        """The sitemaps of a run; None where it was stopped before it looked for any."""
        is_cut = _find_stop(run) is not None
        if is_cut and not _has_looked_for_sitemaps(run):
            return None
        parts = self._parts
        return Sitemaps(self._list(run, SourceKind.SITEMAP, is_cut=is_cut), parts.guests, None, parts.clock)

    def _list(self, run: RunRecord, kind: SourceKind, *, is_cut: bool = False) -> ArchiveSources:
        max_bytes = self._max_decoded_bytes
        return ArchiveSources(run, self._parts.archive, kind, max_decoded_bytes=max_bytes, is_cut=is_cut)


def check_replayable(run: RunRecord) -> None:
    """Nothing, when the run can be replayed. Raises: InvalidConfig, which says why not and what to do."""
    run_id, options = run.run_id, run.options
    if run.manifest["kind"] != RunKind.CRAWL:
        _refuse(f"{run_id} is no crawl; check what it took in again with: mudroom verify {run_id}")
    if run.manifest["state"] not in _ENDED:
        _refuse(f"{run_id} has not ended, so there is nothing to compare a replay with")
    if original := options.get(REPLAY_OPTION):
        _refuse(f"{run_id} is a replay itself; replay what it replays: mudroom replay {original}")
    keep = options.get(KEEP_OPTION)
    if keep is None:
        _refuse(f"{run_id} was made by a version of mudroom whose runs cannot be replayed; crawl again")
    if keep != KeepRule.ALL:
        _refuse(
            f"{run_id} was made with archive.keep = {keep}, and a replay needs every byte: "
            'crawl again with archive.keep = "all"'
        )


def _read_policy(run: RunRecord, should_follow: ShouldFollow | None) -> CrawlPolicy:
    """The policy that the run was begun with; values of its seed's headers were never recorded, nor are sent.

    Raises: InvalidConfig.
    """
    names = run.options.get(HEADER_NAMES_OPTION, ())
    try:
        return CrawlPolicy.from_options(
            run.options, seed_headers=tuple((str(name), "") for name in names), should_follow=should_follow
        )
    except (TypeError, ValueError, AttributeError) as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the options of {run.run_id} are damaged") from fault


def _refuse(fault: str) -> NoReturn:
    raise InvalidConfig(fault, is_of_run=True)


def _list_pages(run: RunRecord) -> Sequence[tuple[int, str]]:
    """Every page by number and key, in order."""
    pages: list[tuple[int, str]] = []
    for row in run.rows:
        url = parse_url(row["url"])
        pages.append((int(row["n"]), row["url"] if url is None else page_key(url)))
    return pages


def _find_stop(run: RunRecord) -> Stop | None:
    """What stopped the run, where its policy does not say so by itself."""
    codes = [warning["code"] for warning in run.manifest["warnings"]]
    return next((stop for code, stop in _STOPS.items() if code in codes), None)


def _has_looked_for_sitemaps(run: RunRecord) -> bool:
    warned = (str(warning["code"]).startswith("SITEMAP_") for warning in run.manifest["warnings"])
    return any(warned) or any(source["kind"] == SourceKind.SITEMAP for source in run.sources)


async def _go_on(seconds: float) -> None:
    """Wait for nobody: nobody is asked."""
    del seconds


async def _wait_for_ever(seconds: float) -> None:
    """What the time of a crawl ends is recorded; a replay is not held to it."""
    del seconds
    await asyncio.Event().wait()
