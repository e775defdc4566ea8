"""What a `SiteServer` answers, as data: routes, and the steps of a body that can misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum, unique

from mudroom.testing.seen import SeenRequest

__all__ = [
    "Answer",
    "Body",
    "Delay",
    "Drop",
    "Endless",
    "Framing",
    "Reset",
    "Route",
    "Stall",
    "Step",
    "Wait",
]


@unique
class Framing(StrEnum):
    """How the end of a body is told."""

    LENGTH = "length"
    CHUNKED = "chunked"
    UNTIL_CLOSE = "until-close"


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on when the event is set (or the peer is gone)."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Delay:
    """Go on after some seconds; prefer `Wait`, which does not make a test slow."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing more, and hold the connection until the peer closes it."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection in good order (FIN), whatever was promised."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Tear the connection down (RST)."""


@dataclass(frozen=True, slots=True)
class Endless:
    """Send the same bytes again and again, until the peer is gone or `max_bytes` were sent."""

    chunk: bytes = b"and so on, and so on. " * 512
    max_bytes: int | None = None


Step = bytes | Wait | Delay | Stall | Drop | Reset | Endless
"""One part of a body: bytes to send as one write (and one chunk), or something to do."""

Body = bytes | str | tuple[Step, ...]
"""A whole body, or its steps in order; text is sent as UTF-8."""

Answer = Callable[[SeenRequest], "Route"]
"""An answer that depends on the request; for echoes and endless sites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One address of a site and what it answers.

    Shapes: `path` is the path as requested (percent-encoding kept); with a "?" in it the query must match
    too; with a "*" at its end it is a prefix. `host` is a Host header without port, lower case; None
    answers for every host. `headers` are sent as they stand, duplicates too. `raw`, when given, is the
    whole answer byte by byte (over HTTP/2 its frames), and everything but `gate` is ignored.
    """

    path: str
    host: str | None = None
    method: str | None = None
    """None answers every method."""
    status: int = 200
    reason: str = ""
    content_type: str | None = "text/html; charset=utf-8"
    """None sends no Content-Type."""
    headers: tuple[tuple[str, str], ...] = ()
    body: Body = b""
    framing: Framing = Framing.LENGTH
    content_length: int | None = None
    """A length to claim instead of the true one."""
    etag: str | None = None
    """As sent, quotes included; a request with the same If-None-Match gets a 304."""
    closes: bool = False
    """Whether the connection is closed after this answer."""
    gate: asyncio.Event | None = None
    """Waited for before the first byte of the answer."""
    interim: bytes = b""
    """Bytes before the status line: 1xx answers, or garbage."""
    raw: tuple[Step, ...] | None = None
    frames: tuple[bytes, ...] = ()
    """HTTP/2 only: frames nobody asked for, sent before the answer (see `hostile.http2_frame`)."""
    answer: Answer | None = None
    """Asked for the route to send instead of this one."""
    then: tuple[Route, ...] = field(default=())
    """The answers to the second hit, the third …; the last one is repeated. None: this one always."""

    def steps(self) -> tuple[Step, ...]:
        """The body as steps."""
        if isinstance(self.body, tuple):
            return self.body
        encoded = self.body.encode() if isinstance(self.body, str) else self.body
        return (encoded,) if encoded else ()

    def declared_length(self) -> int | None:
        """The Content-Length to send; None where the body is chunked or ends with the connection."""
        if self.content_length is not None or self.framing is not Framing.LENGTH:
            return self.content_length
        if any(isinstance(step, Endless) for step in self.steps()):
            return None
        return sum(len(step) for step in self.steps() if isinstance(step, bytes))

    def nth(self, hit: int) -> Route:
        """The answer to hit number `hit`, from 1."""
        if hit <= 1 or not self.then:
            return self
        return self.then[min(hit - 2, len(self.then) - 1)]
