"""What is kept of a page that has ended until its turn to be taken in: its links, not its text."""

from __future__ import annotations

from dataclasses import dataclass, field

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.intake import Outcome, Stored
from mudroom.model import Hop, Link

__all__ = ["EndedPage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPage:
    """A page that has ended, whatever became of it."""

    number: int
    depth: int
    final_url: str | None = None
    """Where redirects led."""
    hops: tuple[Hop, ...] = ()
    """The requests that led there."""
    links: tuple[Link, ...] = ()
    """None of them unless the page was accepted."""
    base: ParsedUrl | None = None
    link_scope: ExceptionScope = field(default_factory=ExceptionScope.none)

    @property
    def weight(self) -> int:
        """How much room it takes: its links."""
        return len(self.links) + 1

    @classmethod
    def of(cls, outcome: Outcome) -> EndedPage:
        """What a page leaves behind."""
        facts = outcome.facts
        if not isinstance(outcome, Stored):
            return cls(number=facts.number, depth=facts.depth, hops=facts.hops)
        return cls(
            number=facts.number,
            depth=facts.depth,
            final_url=facts.final_url,
            hops=facts.hops,
            links=outcome.links,
            base=outcome.base,
            link_scope=outcome.link_scope,
        )
