"""What is known of a page so far: facts added stage by stage, so that a failure can name them all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from mudroom.address import strip_credentials
from mudroom.corpus import RunWriter
from mudroom.errors import Code
from mudroom.intake.events import IntakeObserver, PageEvent
from mudroom.intake.outcome import PageFacts
from mudroom.model import PageState, format_document_id

__all__ = ["Trail"]


class Trail:
    """The facts of one page on its way in, and the one who is told of each change."""

    def __init__(self, facts: PageFacts, observer: IntakeObserver) -> None:
        self.facts = facts
        self._observer = observer

    @classmethod
    def begin(
        cls, requested_url: str, number: int, run: RunWriter, observer: IntakeObserver, *, depth: int = 0
    ) -> Self:
        """The trail of a page of which nothing is known but what was asked for."""
        facts = PageFacts(
            number=number,
            depth=depth,
            document_id=format_document_id(run.run_id, number),
            run_id=run.run_id,
            requested_url=strip_credentials(requested_url),
        )
        return cls(facts, observer)

    def add(self, **changes: Any) -> None:
        """Note facts: fields of PageFacts by name."""
        self.facts = replace(self.facts, **changes)

    def enter(self, state: PageState, code: Code | None = None) -> None:
        """Tell the observer that the page entered a state."""
        self._observer.on_page(
            PageEvent(
                run_id=self.facts.run_id,
                number=self.facts.number,
                url=self.facts.requested_url,
                state=state,
                code=code,
                wire_bytes=self.facts.wire_bytes,
            )
        )
