"""Progress of a crawl: a live line on a terminal, one line per page elsewhere."""

from __future__ import annotations

from rich.live import Live
from rich.text import Text

from mudroom.cli.console import Voice
from mudroom.cli.inert import make_inert, shorten
from mudroom.crawl import CrawlEvent
from mudroom.intake import PageEvent
from mudroom.model import PageState

__all__ = ["CrawlProgress"]

_FINAL = frozenset({PageState.STORED, PageState.QUARANTINED, PageState.BLOCKED, PageState.FAILED})
_STYLES = {
    PageState.BLOCKED: "bold red",
    PageState.FAILED: "bold yellow",
    PageState.QUARANTINED: "bold magenta",
}
_URL_WIDTH = 100


class CrawlProgress:
    """An observer that shows a person how far a crawl has come."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._counts = dict.fromkeys(_FINAL, 0)
        self._waiting = 0
        self._live: Live | None = None
        if voice.console.is_terminal and not voice.is_quiet:
            self._live = Live(console=voice.console, refresh_per_second=8, transient=True)
            self._live.start()

    def on_page(self, event: PageEvent) -> None:
        """Count final states, and name each page that reaches one."""
        if event.state not in _FINAL:
            return
        self._counts[event.state] += 1
        # On a terminal only what is not stored is worth a line of its own; a log wants every page.
        if not self._voice.is_quiet and (self._live is None or event.state is not PageState.STORED):
            code = f"  {event.code.value}" if event.code else ""
            line = Text(f"{event.state.value.lower():<11}", style=_STYLES.get(event.state, ""))
            self._voice.console.print(line + Text(shorten(make_inert(event.url), _URL_WIDTH) + code))
        self._refresh()

    def on_crawl(self, event: CrawlEvent) -> None:
        """Take over how many URLs wait."""
        self._waiting = event.waiting
        self._refresh()

    def close(self) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.stop()

    def _refresh(self) -> None:
        if self._live is not None:
            counts = "  ".join(f"{self._counts[state]} {state.value.lower()}" for state in _FINAL)
            self._live.update(Text(f"{counts}  {self._waiting} waiting"))
