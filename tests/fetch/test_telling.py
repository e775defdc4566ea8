"""A host hears of its fetches and answers them, and cannot harm one."""

# A host takes what its seam brings, whatever of it a method needs.
# ruff: noqa: ARG002

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.errors import Code
from mudroom.fetch import FetchLabel, FetchObserver, NullContext, RequestInitiator, ResourceKind
from mudroom.fetch.events import (
    CancelledEvent,
    FailedEvent,
    FetchEvent,
    FinishedEvent,
    ProgressEvent,
    StartedEvent,
    WarningEvent,
)
from mudroom.fetch.telling import Telling, Watch, open_telling

ENDING = FinishedEvent(5, 0.5)
STARTED = StartedEvent("http://example.org/")


def make_label(reference: str = "") -> FetchLabel:
    return FetchLabel("1", reference, ResourceKind.OTHER, RequestInitiator.PROGRAM)


@dataclass
class Listener:
    """A context and observer that keeps what it heard, each thing when its gate is open."""

    heard: list[object] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    is_in: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def on_event(self, event: FetchEvent) -> None:
        self.note(event)

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        return self

    def on_reference_active(self, reference: str) -> None:
        self.note(f"+{reference}")

    def on_reference_done(self, reference: str) -> None:
        self.note(f"-{reference}")

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        return url.host != "closed.test"

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        return f"at={partition}"

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        self.heard.append(set_cookie)

    def note(self, what: object) -> None:
        self.threads.add(threading.get_ident())
        self.is_in.set()
        self.gate.wait()
        self.heard.append(what)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def telling(listener: Listener) -> AsyncIterator[Telling]:
    telling = Telling(listener, max_waiting=3)
    yield telling
    listener.gate.set()
    await telling.aclose()


def watch_of(telling: Telling, reference: str = "") -> Watch:
    watch = telling.watch(make_label(reference))
    assert watch is not None
    return watch


async def hold(listener: Listener, watch: Watch) -> None:
    """Have the observer stand still in the first event of this request."""
    listener.gate.clear()
    watch.tell(STARTED)
    await asyncio.to_thread(listener.is_in.wait)


async def test_events_come_in_order_on_one_thread_that_is_not_the_loops(
    telling: Telling, listener: Listener
) -> None:
    watch = watch_of(telling)
    for event in (STARTED, WarningEvent("odd"), ENDING):
        watch.tell(event)
    await telling.aclose()
    assert listener.heard == [STARTED, WarningEvent("odd"), ENDING]
    assert len(listener.threads) == 1
    assert threading.get_ident() not in listener.threads
    assert [thread.name for thread in threading.enumerate() if "observers" in thread.name] == []


async def test_an_observer_that_stands_still_does_not_hold_the_loop(
    telling: Telling, listener: Listener
) -> None:
    watch = watch_of(telling)
    await hold(listener, watch)
    watch.tell(ENDING)
    await asyncio.sleep(0)
    assert listener.heard == []
    listener.gate.set()
    await telling.aclose()
    assert listener.heard == [STARTED, ENDING]


async def test_past_the_limit_a_request_is_told_to_its_end_and_new_ones_not_at_all(
    telling: Telling, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    watch = watch_of(telling)
    await hold(listener, watch)
    other = watch_of(telling)
    for _ in range(10):
        watch.tell(WarningEvent("odd"))
    assert telling.watch(make_label()) is None
    late = watch_of(telling, "tab")
    assert not late.is_heard
    for one in (watch, other, late):
        one.tell(ENDING)
    assert telling.dropped_events == 7 + 3
    listener.gate.set()
    await telling.aclose()
    assert listener.heard == [STARTED, *[WarningEvent("odd")] * 3, ENDING, ENDING]
    assert [record.message for record in caplog.records] == [
        "observers of fetches are slower than what they observe; events are dropped"
    ]


async def test_progress_that_waits_is_told_once_with_its_last_figure(
    telling: Telling, listener: Listener
) -> None:
    watch = watch_of(telling)
    await hold(listener, watch)
    for size in range(1000):
        watch.tell(ProgressEvent(size, None))
    watch.tell(ENDING)
    listener.gate.set()
    await telling.aclose()
    assert listener.heard == [STARTED, ProgressEvent(999, None), ENDING]
    assert telling.dropped_events == 0


@pytest.mark.parametrize(
    "ending", [ENDING, FailedEvent(Code.DNS_FAILURE, "no such host"), CancelledEvent()], ids=type
)
async def test_an_ending_is_told_once_and_nothing_after_it(
    telling: Telling, listener: Listener, ending: FetchEvent
) -> None:
    watch = watch_of(telling)
    for event in (ending, ENDING, STARTED):
        watch.tell(event)
    assert not watch.is_heard
    await telling.aclose()
    assert listener.heard == [ending]


async def test_a_reference_is_active_from_its_first_request_to_the_end_of_its_last(
    listener: Listener,
) -> None:
    telling = Telling(listener)
    first, second = watch_of(telling, "tab"), watch_of(telling, "tab")
    first.tell(ENDING)
    second.tell(ENDING)
    watch_of(telling, "tab").tell(ENDING)
    await telling.aclose()
    assert listener.heard == ["+tab", ENDING, ENDING, "-tab", "+tab", ENDING, "-tab"]


async def test_an_observer_that_does_not_return_is_left_behind(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    telling = Telling(listener, patience_seconds=0.01)
    watch = watch_of(telling)
    await hold(listener, watch)
    watch.tell(ENDING)
    thread = next(thread for thread in threading.enumerate() if "observers" in thread.name)
    await telling.aclose()
    assert "does not return" in caplog.text
    listener.gate.set()
    await asyncio.to_thread(thread.join)
    assert listener.heard == [STARTED]


class Faulty(NullContext):
    """Fails whatever it is asked, with words that are a page's own."""

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        if label.reference == "no observer":
            raise LookupError("secret words")
        return self

    def on_event(self, event: FetchEvent) -> None:
        raise SystemExit("secret words")

    def on_reference_active(self, reference: str) -> None:
        raise ValueError("secret words")

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        raise ValueError("secret words")

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        raise KeyError("secret words")

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        raise OSError("secret words")


def do_observe(telling: Telling, _: ParsedUrl) -> object:
    watch = watch_of(telling)
    watch.tell(STARTED)
    watch.tell(ProgressEvent(1, None))
    return watch.tell(ENDING)


FAULTS: list[tuple[str, Callable[[Telling, ParsedUrl], object], object]] = [
    ("Faulty.on_event raised SystemExit", do_observe, None),
    ("Faulty.observer_for raised LookupError", lambda one, _: one.watch(make_label("no observer")) and 1, 1),
    ("Faulty.on_reference_active raised ValueError", lambda one, _: watch_of(one, "tab") and 1, 1),
    ("Faulty.is_url_allowed raised ValueError", lambda one, url: one.is_url_allowed(url), False),
    ("Faulty.cookies_for raised KeyError", lambda one, url: one.cookies_for(url, ""), ""),
    (
        "Faulty.on_cookies_received raised OSError",
        lambda one, url: one.on_cookies_received(url, "", ()),
        None,
    ),
]


@pytest.mark.parametrize(("words", "do", "expected"), FAULTS, ids=[words for words, _, _ in FAULTS])
async def test_what_a_host_raises_is_logged_once_without_its_text_and_costs_nothing(
    words: str, do: Callable[[Telling, ParsedUrl], Any], expected: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "mudroom.fetch")
    telling = Telling(Faulty())
    url = parse_url("http://example.org/")
    assert url is not None
    for _ in range(3):
        assert do(telling, url) == expected
    await telling.aclose()
    assert sum(words in record.message for record in caplog.records) == 1
    assert "secret" not in caplog.text


async def test_questions_reach_the_host_at_once(telling: Telling, listener: Listener) -> None:
    here, there = parse_url("http://example.org/"), parse_url("http://closed.test/")
    assert here is not None
    assert there is not None
    assert (telling.is_url_allowed(here), telling.is_url_allowed(there)) == (True, False)
    assert telling.cookies_for(here, "a") == "at=a"
    telling.on_cookies_received(here, "a", ("b=c",))
    assert listener.heard == [("b=c",)]


class Silent(NullContext):
    """Takes part, but does not listen."""


async def test_who_takes_no_part_costs_nothing() -> None:
    assert open_telling(None) is None
    assert open_telling(NullContext()) is None
    before = threading.active_count()
    telling = open_telling(Silent())
    assert telling is not None
    assert telling.watch(make_label()) is None
    assert threading.active_count() == before
    await telling.aclose()
