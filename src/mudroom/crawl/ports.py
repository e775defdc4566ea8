"""What a crawl needs of the floors below: a way in for a page, a run to write, robots.txt, the time."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mudroom.address import EgressSource
from mudroom.clock import Clock
from mudroom.corpus import CorpusStore, RunWriter
from mudroom.crawl.events import CrawlObserver, SilentObserver
from mudroom.crawl.frontier import FrontierShelf
from mudroom.crawl.memory_frontier import MemoryShelf
from mudroom.intake import Outcome, PageRequest, RecordSource, RobotsMode, RobotsReader, SitemapReader

__all__ = ["CrawlParts", "PageTaker", "RobotsOpener", "Sleep"]

Sleep = Callable[[float], Awaitable[None]]
"""Waits that many seconds of the crawl's clock."""


class PageTaker(Protocol):
    """The way in for one page. The real one is `intake.Intake`."""

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        """One URL through the whole path. Every failure is an outcome; only cancellation is raised."""
        ...


class RobotsOpener(Protocol):
    """Opens what a run asks about robots.txt. The real one is `intake.RobotsGates`."""

    def open_gate(self, run_id: str, mode: RobotsMode, record: RecordSource | None = None) -> RobotsReader:
        """The gate of one run, which has `record` note each file that was asked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlParts:
    """The floors joined: what crawls are made with."""

    intake: PageTaker
    corpus: CorpusStore
    robots: RobotsOpener
    egress: EgressSource
    clock: Clock
    sleep: Sleep
    sitemaps: SitemapReader | None = None
    """None where crawls know links alone."""
    observer: CrawlObserver = field(default_factory=SilentObserver)
    options: Mapping[str, object] = field(default_factory=dict)
    """What stands among the options of every run beside its policy: what else its result depends on."""
    frontiers: FrontierShelf = field(default_factory=MemoryShelf)
    """Where the queues of crawls are; those in memory are gone with the process."""
    chance: Callable[[], float] = random.random
    """A number from 0 to 1, by which back-offs are spread."""
