"""Progress of a crawl: a live line on a terminal, one line per page elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from mudroom.cli.console import VERDICT_STYLES, Voice
from mudroom.cli.inert import make_inert, shorten
from mudroom.crawl import CrawlEvent
from mudroom.intake import PageEvent
from mudroom.model import PageState

if TYPE_CHECKING:  # rich is loaded for terminals only
    from mudroom.cli.terminal import LiveLine

__all__ = ["CrawlProgress"]

_FINAL = (PageState.STORED, PageState.QUARANTINED, PageState.BLOCKED, PageState.FAILED)
_URL_WIDTH = 100


class CrawlProgress:
    """An observer that shows a person how far a crawl has come, from `with` to its end.

    Without `is_naming` only the live line is shown: a table of all pages follows.
    """

    def __init__(self, voice: Voice, *, is_naming: bool = True) -> None:
        self._voice = voice
        self._is_naming = is_naming and not voice.is_quiet
        self._counts = dict.fromkeys(_FINAL, 0)
        self._waiting = 0
        self._live: LiveLine | None = None
        if voice.is_on_terminal and not voice.is_quiet:
            from mudroom.cli.terminal import LiveLine  # noqa: PLC0415 - rich is loaded for terminals only

            self._live = LiveLine()

    def __enter__(self) -> Self:
        """Begin the live line, on a terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.stop()

    def on_page(self, event: PageEvent) -> None:
        """Count final states, and name each page that reaches one."""
        if event.state not in self._counts:
            if self._voice.is_verbose:
                self._name(event)
            return
        self._counts[event.state] += 1
        # On a terminal only what is not stored is worth a line of its own; a log wants every page.
        if self._voice.is_verbose or self._live is None or event.state is not PageState.STORED:
            self._name(event)
        self._refresh()

    def on_crawl(self, event: CrawlEvent) -> None:
        """Take over how many URLs wait."""
        self._waiting = event.waiting
        self._refresh()

    def _name(self, event: PageEvent) -> None:
        if not self._is_naming:
            return
        code = f"  {event.code.value}" if event.code else ""
        show = self._voice.print if self._live is None else self._live.print_above
        label, style = f"{event.state.value.lower():<12}", VERDICT_STYLES.get(event.state.value, "")
        show(label, shorten(make_inert(event.url), _URL_WIDTH) + code, style)

    def _refresh(self) -> None:
        if self._live is not None:
            counts = ", ".join(f"{self._counts[state]} {state.value.lower()}" for state in _FINAL)
            self._live.update(f"{counts}; {self._waiting} waiting")
