"""The robots.txt files of a run as it read them; of a run that was gone on with, in each of its sittings.

Why: what a file says may change between two sittings, and which of them took a page in stands nowhere. So a page
    is refused only where every reading refuses it alike; in all else the run's own record of the page holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mudroom.address import ExceptionScope, ParsedUrl, parse_url
from mudroom.errors import EgressRefused
from mudroom.intake import RecordSource, RobotsMode, RobotsNotice, RobotsReader
from mudroom.replay.record import RunRecord
from mudroom.snapshot import SourceKind

__all__ = ["OpenReading", "RecordedRobots"]

OpenReading = Callable[[RunRecord, RobotsMode, RecordSource | None], RobotsReader]
"""Opens a gate that reads each file of a record once."""


class RecordedRobots:
    """A `RobotsOpener` that holds one run's readings."""

    def __init__(self, run: RunRecord, open_reading: OpenReading) -> None:
        self._run = run
        self._open_reading = open_reading

    def open_gate(self, run_id: str, mode: RobotsMode, record: RecordSource | None = None) -> RobotsReader:
        """The gate of the run's replay."""
        del run_id
        readings = _list_readings(self._run.sources)
        gates = [
            self._open_reading(replace(self._run, sources=sources), mode, record) for sources in readings
        ]
        return _RecordedGate(gates, self._run.sources)


class _RecordedGate:
    """A `RobotsReader` over the readings of every sitting."""

    def __init__(self, gates: Sequence[RobotsReader], sources: Sequence[Mapping[str, Any]]) -> None:
        self._gates = gates
        self._counts = Counter(_list_origins(sources))
        self._counts_at_sitemaps = Counter(_list_origins(sources[: _find_last_sitemap(sources)]))

    @property
    def notices(self) -> tuple[RobotsNotice, ...]:
        """What there is to warn of so far, of all readings."""
        return tuple(dict.fromkeys(notice for gate in self._gates for notice in gate.notices))

    @property
    def received_bytes(self) -> int:
        """Body bytes that the files have cost so far."""
        return sum(gate.received_bytes for gate in self._gates)

    def crawl_delay_seconds(self, origin: str) -> float | None:
        """The longest Crawl-delay that was read."""
        delays = [gate.crawl_delay_seconds(origin) for gate in self._gates]
        return max((delay for delay in delays if delay is not None), default=None)

    async def check(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        """Nothing, unless all readings refuse the URL alike. Raises EgressRefused."""
        refusals: list[EgressRefused] = []
        gates = self._gates[: max(1, self._counts[url.origin])]
        for gate in gates:
            try:
                await gate.check(url, scope)
            except EgressRefused as error:
                refusals.append(error)
        if len(refusals) == len(gates) and len({error.code for error in refusals}) == 1:
            raise refusals[-1]

    async def list_sitemaps(self, url: ParsedUrl, scope: ExceptionScope) -> tuple[str, ...]:
        """The sitemaps that the last reading before the run's sitemaps names."""
        at = max(1, self._counts_at_sitemaps[url.origin]) - 1
        return await self._gates[at].list_sitemaps(url, scope)

    async def aclose(self) -> None:
        """Close every gate."""
        for gate in self._gates:
            await gate.aclose()


def _list_readings(sources: Sequence[Mapping[str, Any]]) -> Sequence[Sequence[Mapping[str, Any]]]:
    """The files that were read once, those that were read a second time, and so on; one at least."""
    readings: list[list[Mapping[str, Any]]] = [[]]
    times: Counter[str] = Counter()
    for source in sources:
        if source.get("kind") == SourceKind.ROBOTS:
            url = str(source.get("url"))
            times[url] += 1
            if times[url] > len(readings):
                readings.append([])
            readings[times[url] - 1].append(source)
    return readings


def _list_origins(sources: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The origin of each robots.txt that was read."""
    urls = [
        parse_url(str(source.get("url"))) for source in sources if source.get("kind") == SourceKind.ROBOTS
    ]
    return [url.origin for url in urls if url is not None]


def _find_last_sitemap(sources: Sequence[Mapping[str, Any]]) -> int:
    """Where the last sitemap stands; 0 where there is none."""
    kinds = [source.get("kind") for source in sources]
    return max((at for at, kind in enumerate(kinds) if kind == SourceKind.SITEMAP), default=0)
