"""What observers, progress displays and metrics read: each change of a page's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mudroom.errors import Code
from mudroom.model import PageState

__all__ = ["IntakeObserver", "NullObserver", "PageEvent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEvent:
    """A page entered a state."""

    run_id: str
    number: int
    url: str
    """The URL as requested; from outside, so surfaces make it inert before they show it."""
    state: PageState
    code: Code | None = None
    wire_bytes: int = 0


class IntakeObserver(Protocol):
    """Receives events. Called on the event loop: it must not block, and must not raise."""

    def on_page(self, event: PageEvent) -> None:
        """Take note of a change."""
        ...


class NullObserver:
    """Takes no note of anything."""

    def on_page(self, event: PageEvent) -> None:
        """Nothing."""
