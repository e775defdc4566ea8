"""What happens to a request, told while it happens.

    Started ─▶ (Redirected)* ─▶ ResponseHeaders ─▶ (Progress)* ─▶ Finished | Failed | Cancelled
    Blocked     policy refused a URL on the way; Failed follows
    Warning     something a person should know, which ended nothing
    Io          a consumer's own file failed, and the transfer went on without it

Requests that share one exchange each have events of their own; the exchange has those of its first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mudroom.errors import Code
from mudroom.net import Headers

__all__ = [
    "BlockedEvent",
    "CancelledEvent",
    "EventSink",
    "FailedEvent",
    "FetchEvent",
    "FinishedEvent",
    "IoEvent",
    "ProgressEvent",
    "RedirectedEvent",
    "ResponseHeadersEvent",
    "StartedEvent",
    "WarningEvent",
]


@dataclass(frozen=True, slots=True)
class StartedEvent:
    """A hop has its slot and begins; `url` is untrusted and in normal form."""

    url: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class RedirectedEvent:
    """A hop led on: by an answer's status, or by HSTS, whose `status` is 307."""

    from_url: str
    to_url: str
    status: int


@dataclass(frozen=True, slots=True)
class ResponseHeadersEvent:
    """The headers of the final answer are here."""

    url: str
    status: int
    headers: Headers
    protocol: str = ""
    """HTTP/1.0, HTTP/1.1 or HTTP/2; empty where it is not told."""
    address: str = ""
    """The IP address that was dialled, as text; empty where it is not told."""


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """Body bytes so far, as received; `expected_bytes` is what the peer declared, which may be untrue."""

    received_bytes: int
    expected_bytes: int | None


@dataclass(frozen=True, slots=True)
class FinishedEvent:
    """All of it came."""

    received_bytes: int
    duration_seconds: float


@dataclass(frozen=True, slots=True)
class FailedEvent:
    """It ended otherwise."""

    code: Code
    message: str


@dataclass(frozen=True, slots=True)
class CancelledEvent:
    """Its caller gave up."""


@dataclass(frozen=True, slots=True)
class WarningEvent:
    """Something to know that ended nothing."""

    message: str


@dataclass(frozen=True, slots=True)
class IoEvent:
    """A file that the body was written to failed."""

    message: str


@dataclass(frozen=True, slots=True)
class BlockedEvent:
    """Policy refused a URL: the guard, a redirect rule, or the host's own hook."""

    host: str
    code: Code


FetchEvent = (
    StartedEvent
    | RedirectedEvent
    | ResponseHeadersEvent
    | ProgressEvent
    | FinishedEvent
    | FailedEvent
    | CancelledEvent
    | WarningEvent
    | IoEvent
    | BlockedEvent
)


class EventSink(Protocol):
    """Where what happens to a request is told; one or many may hear it, and nothing that they do comes back."""

    def tell(self, event: FetchEvent) -> None:
        """Have an event heard. Raises: nothing."""
        ...
