"""What a crawl tells its observer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mudroom.crawl.events import CrawlEvent, CrawlObserver
from mudroom.crawl.frontier import FrontierEntry
from mudroom.errors import Code
from mudroom.intake import PageEvent
from mudroom.model import CrawlState, PageState

__all__ = ["CrawlTeller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTeller:
    """Tells of one crawl."""

    observer: CrawlObserver
    run_id: str
    count: Callable[[], tuple[int, int, int, int]]
    """Pages attempted, URLs discovered, URLs waiting, bytes."""

    def tell(self, state: CrawlState) -> None:
        """How the crawl stands."""
        attempted, discovered, waiting, wire_bytes = self.count()
        self.observer.on_crawl(
            CrawlEvent(
                run_id=self.run_id,
                state=state,
                attempted=attempted,
                discovered=discovered,
                waiting=waiting,
                wire_bytes=wire_bytes,
            )
        )

    def tell_page(
        self, entry: FrontierEntry, state: PageState, *, number: int = 0, code: Code | None = None
    ) -> None:
        """A page entered a state."""
        self.observer.on_page(
            PageEvent(run_id=self.run_id, number=number, url=entry.url, state=state, code=code)
        )
