"""Fetches in a log: who, where to and what became of it, and nothing that is secret or acts."""

# A host takes what its seam brings, whatever of it a method needs.
# ruff: noqa: ARG002

from __future__ import annotations

import logging

import pytest

from mudroom.address import ParsedUrl
from mudroom.errors import Code
from mudroom.fetch import (
    FetchLabel,
    FetchObserver,
    NullContext,
    RequestInitiator,
    ResourceKind,
    TimedObserver,
)
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
from mudroom.fetch.logged import LoggingContext
from mudroom.fetch.telling import Telling

LABEL = FetchLabel("7", "tab", ResourceKind.DOCUMENT, RequestInitiator.NAVIGATION)
SECRET = "https://example.org/secret/path?token=secret#secret"
HEADERS = (("Set-Cookie", "session=secret"),)

LINES: list[tuple[FetchEvent, str, str]] = [
    (StartedEvent(SECRET), "INFO", "asks https://example.org"),
    (
        RedirectedEvent(SECRET, "https://other.example:8443/secret", 302),
        "INFO",
        "is led on by https://example.org to https://other.example:8443 (302)",
    ),
    (ResponseHeadersEvent(SECRET, 200, HEADERS), "INFO", "has an answer from https://example.org: 200"),
    (ProgressEvent(5, 9), "DEBUG", "has 5 of 9 bytes"),
    (ProgressEvent(5, None), "DEBUG", "has 5 bytes"),
    (FinishedEvent(9, 0.25), "INFO", "is done: 9 bytes in 0.250 s"),
    (
        FailedEvent(Code.DNS_FAILURE, "no\x1b[2J such\nhost"),
        "WARNING",
        "failed: DNS_FAILURE, no\\x1b[2J such\\nhost",
    ),
    (CancelledEvent(), "INFO", "was cancelled"),
    (BlockedEvent("h\u202e.test", Code.DENIED_HOST), "WARNING", "was refused h\\u202e.test: DENIED_HOST"),
    (WarningEvent("odd" * 200), "WARNING", "warns: " + "odd" * 100),
    (IoEvent("disk\rfull"), "WARNING", "warns: disk\\rfull"),
    (StartedEvent("no url \x1b[2J"), "INFO", "asks a URL that is none"),
]


@pytest.mark.parametrize(("event", "level", "words"), LINES, ids=[type(line[0]).__name__ for line in LINES])
def test_each_event_is_a_line_with_hosts_alone(
    event: FetchEvent, level: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mudroom.requests")
    LoggingContext().observer_for(LABEL).on_event(event)
    assert [(record.levelname, record.message) for record in caplog.records] == [
        (level, f"request 7 (tab) {words}")
    ]
    assert "secret" not in caplog.text


def test_a_hosts_own_words_cannot_begin_another_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mudroom.requests")
    label = FetchLabel("7\nrequest 8", "", ResourceKind.OTHER, RequestInitiator.PROGRAM)
    LoggingContext().observer_for(label).on_event(CancelledEvent())
    assert caplog.records[0].message == "request 7\\nrequest 8 was cancelled"


def test_a_level_that_is_not_wanted_costs_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "mudroom.requests")
    LoggingContext().observer_for(LABEL).on_event(StartedEvent(SECRET))
    assert caplog.records == []


class Host(NullContext):
    """A host with a word of its own in everything, whose observer fails."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        return self

    def on_event(self, event: FetchEvent) -> None:
        self.heard.append(event)
        raise ValueError("never mind")

    def on_reference_active(self, reference: str) -> None:
        self.heard.append(f"+{reference}")

    def on_reference_done(self, reference: str) -> None:
        self.heard.append(f"-{reference}")

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        return False

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        return "a=b"

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        self.heard.append(set_cookie)


async def test_the_context_inside_is_asked_and_told_and_its_faults_cost_no_line(
    caplog: pytest.LogCaptureFixture, example: ParsedUrl
) -> None:
    caplog.set_level(logging.INFO, "mudroom.requests")
    host = Host()
    telling = Telling(LoggingContext(host))
    watch = telling.watch(LABEL)
    assert watch is not None
    watch.tell(CancelledEvent())
    await telling.aclose()
    assert "request 7 (tab) was cancelled" in caplog.text
    assert "secret" not in caplog.text
    assert host.heard == ["+tab", CancelledEvent(), "-tab"]
    assert not telling.is_url_allowed(example)
    assert telling.cookies_for(example, "") == "a=b"
    telling.on_cookies_received(example, "", ("c=d",))
    assert host.heard[-1] == ("c=d",)


def test_what_the_inner_observer_raises_keeps_nothing_from_the_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "mudroom.requests")
    both = LoggingContext(Host()).observer_for(LABEL)
    assert isinstance(both, TimedObserver)
    with pytest.raises(ValueError, match="never mind"):
        both.on_event(CancelledEvent())
    with pytest.raises(ValueError, match="never mind"):
        both.on_timed_event(CancelledEvent(), 5)
    assert len(caplog.records) == 2


class Timed:
    """Wants the time of what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[FetchEvent, int]] = []

    def on_event(self, event: FetchEvent) -> None:
        raise AssertionError("the time was there")

    def on_timed_event(self, event: FetchEvent, unix_ns: int) -> None:
        self.heard.append((event, unix_ns))


def test_of_two_observers_each_is_told_in_its_way(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mudroom.requests")
    timed = Timed()

    class Inner(NullContext):
        def observer_for(self, label: FetchLabel) -> FetchObserver:
            return timed

    both = LoggingContext(Inner()).observer_for(LABEL)
    assert isinstance(both, TimedObserver)
    both.on_timed_event(CancelledEvent(), 5)
    assert timed.heard == [(CancelledEvent(), 5)]
    assert "was cancelled" in caplog.text
