"""A way in on paper: the real intake, joined from the fakes of every floor below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope
from mudroom.corpus import MemoryCorpus, RunVersions, RunWriter
from mudroom.extract import ExtractLimits
from mudroom.fetch import Fetcher, FetchOptions
from mudroom.intake import Intake, NullObserver, PageEvent, PageRequest, Parts
from mudroom.model import Initiator, RunKind
from mudroom.screen import PolicyOptions, WarnHandling
from mudroom.snapshot import KeepRule, MemorySnapshotStore
from mudroom.testing.clocks import FixedClock
from mudroom.testing.guests import ScriptedGuests
from mudroom.testing.resolvers import LookUp, ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

__all__ = ["PUBLIC", "SITE", "NotingObserver", "PaperHouse", "ask"]

SITE = "https://site.example/"
"""The page that a paper house is asked for unless a test says otherwise."""
PUBLIC = "93.184.216.34"
"""The address of its host; nothing is ever sent there."""


class NotingObserver(NullObserver):
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[PageEvent] = []

    def on_page(self, event: PageEvent) -> None:
        """Keep it."""
        self.events.append(event)


@dataclass
class PaperHouse:
    """An intake on paper, and everything it was joined from."""

    answers: Mapping[str, PaperAnswer | Sequence[PaperAnswer]] = field(default_factory=dict)
    names: Mapping[str, LookUp | Sequence[LookUp]] = field(default_factory=lambda: {"site.example": PUBLIC})
    guests: ScriptedGuests = field(default_factory=ScriptedGuests)
    keep: KeepRule = KeepRule.ALL
    warn: WarnHandling = WarnHandling.FLAG
    allow_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Join the parts."""
        self.clock = FixedClock()
        self.transport = ScriptedTransport(self.answers)
        self.resolver = ScriptedResolver(self.names)
        self.archive = MemorySnapshotStore()
        self.observer = NotingObserver()
        self.versions = RunVersions(mudroom="0", scanner="scripted/1", policy="p")
        self.corpus = MemoryCorpus(self.versions, self.clock)
        egress = EgressPolicy(allow_origins=tuple(AllowedOrigin.parse(text) for text in self.allow_origins))
        self.fetcher = Fetcher(self.transport, self.resolver, egress, FetchOptions(), self.clock)
        self.intake = Intake(
            Parts(
                fetcher=self.fetcher,
                guests=self.guests,
                archive=self.archive,
                keep=self.keep,
                egress=egress,
                extract_limits=ExtractLimits(),
                policy=PolicyOptions(warn=self.warn),
                clock=self.clock,
                observer=self.observer,
            )
        )

    async def begin(self) -> RunWriter:
        """A run to write into."""
        return await self.corpus.begin_run(RunKind.OPEN, SITE, {})


def ask(url: str = SITE, **changes: Any) -> PageRequest:
    """A request as a person makes it; `changes` are fields of PageRequest."""
    fields: dict[str, Any] = {
        "untrusted_url": url,
        "number": 1,
        "initiator": Initiator.OPERATOR,
        "scope": ExceptionScope.operator(),
    }
    return PageRequest(**fields | changes)
