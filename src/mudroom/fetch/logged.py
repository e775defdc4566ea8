"""A context that writes what happens to a log: hosts and figures, and never the path or query of a URL."""

from __future__ import annotations

import logging

from mudroom.address import parse_url
from mudroom.fetch.context import FetchContext, FetchLabel
from mudroom.fetch.events import (
    BlockedEvent,
    CancelledEvent,
    FailedEvent,
    FetchEvent,
    FinishedEvent,
    IoEvent,
    ProgressEvent,
    RedirectedEvent,
    ResponseHeadersEvent,
    StartedEvent,
    WarningEvent,
)
from mudroom.fetch.observing import ObservingContext

__all__ = ["LoggingContext"]

_MAX_WORDS = 300


class LoggingContext(ObservingContext):
    """Logs each request, around another context or none.

    A line names the request by its id, and hosts by their origin: paths, queries and header fields hold
    secrets often enough that no level shows them. Nothing in a line can act on a terminal, or begin another.
    Levels: WARNING what failed, was refused or is odd; INFO beginnings, redirects, answers and ends;
    DEBUG progress.
    """

    def __init__(self, inner: FetchContext | None = None, *, logger: logging.Logger | None = None) -> None:
        super().__init__(self._make_observer, inner)
        self._logger = logger or logging.getLogger("mudroom.requests")

    def _make_observer(self, label: FetchLabel) -> _LoggingObserver:
        return _LoggingObserver(self._logger, label)


class _LoggingObserver:
    """Writes the lines of one request."""

    def __init__(self, logger: logging.Logger, label: FetchLabel) -> None:
        self._logger = logger
        self._label = label

    def on_event(self, event: FetchEvent) -> None:
        """Write a line, where its level is wanted."""
        level = _LEVELS.get(type(event), logging.INFO)
        if self._logger.isEnabledFor(level):
            reference = f" ({_inert(self._label.reference)})" if self._label.reference else ""
            self._logger.log(
                level, "request %s%s %s", _inert(self._label.request_id), reference, _describe(event)
            )


_LEVELS: dict[type[FetchEvent], int] = {
    BlockedEvent: logging.WARNING,
    FailedEvent: logging.WARNING,
    IoEvent: logging.WARNING,
    WarningEvent: logging.WARNING,
    ProgressEvent: logging.DEBUG,
}


def _describe(event: FetchEvent) -> str:  # noqa: PLR0911 - a line for each kind of event
    match event:
        case StartedEvent():
            return f"asks {_origin(event.url)}"
        case RedirectedEvent():
            return f"is led on by {_origin(event.from_url)} to {_origin(event.to_url)} ({event.status})"
        case ResponseHeadersEvent():
            return f"has an answer from {_origin(event.url)}: {event.status}"
        case ProgressEvent():
            of = "" if event.expected_bytes is None else f" of {event.expected_bytes}"
            return f"has {event.received_bytes}{of} bytes"
        case FinishedEvent():
            return f"is done: {event.received_bytes} bytes in {event.duration_seconds:.3f} s"
        case FailedEvent():
            return f"failed: {event.code.value}, {_inert(event.message)}"
        case CancelledEvent():
            return "was cancelled"
        case BlockedEvent():
            return f"was refused {_inert(event.host)}: {event.code.value}"
        case WarningEvent() | IoEvent():
            return f"warns: {_inert(event.message)}"


def _origin(untrusted_url: str) -> str:
    parsed = parse_url(untrusted_url)
    return "a URL that is none" if parsed is None else _inert(parsed.origin)


def _inert(untrusted_text: str) -> str:
    """One line of bounded length in which nothing acts: controls, bidi and the like are escapes."""
    text = untrusted_text[:_MAX_WORDS]
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )
