"""Where an exchange stands."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["UNANSWERED", "Phase"]


class Phase(Enum):
    """The states of an exchange, in their order; SENDING only with a body that is sent as it comes."""

    CONNECTING = auto()
    SENDING = auto()
    WAITING = auto()
    READING = auto()
    DONE = auto()


UNANSWERED = frozenset({Phase.CONNECTING, Phase.SENDING, Phase.WAITING})
