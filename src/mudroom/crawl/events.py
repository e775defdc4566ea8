"""What observers read of a crawl: each change of its state, and of its pages' states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mudroom.intake import IntakeObserver, PageEvent
from mudroom.model import CrawlState

__all__ = ["CrawlEvent", "CrawlObserver", "SilentObserver"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlEvent:
    """A crawl entered a state, or has something to tell within it."""

    run_id: str
    state: CrawlState
    attempted: int = 0
    discovered: int = 0
    waiting: int = 0
    wire_bytes: int = 0


class CrawlObserver(IntakeObserver, Protocol):
    """Receives events. Called on the event loop: it must not block, and must not raise."""

    def on_crawl(self, event: CrawlEvent) -> None:
        """Take note of a change of the crawl."""
        ...


class SilentObserver:
    """Takes no note of anything."""

    def on_page(self, event: PageEvent) -> None:
        """Nothing."""

    def on_crawl(self, event: CrawlEvent) -> None:
        """Nothing."""
