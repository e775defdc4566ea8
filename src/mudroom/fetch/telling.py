"""How a fetch speaks to its host without being at its mercy.

    telling = open_telling(context)             None where nobody takes part: nothing is made, nothing is called
    watch = telling.watch(label)                None where nobody hears of this request
    watch.tell(StartedEvent(url)) … watch.tell(FinishedEvent(…))
    telling.is_url_allowed(url)                 questions, answered at once
    await telling.aclose()

Events and references are told on a thread of their own, in order, one at a time. An observer that sleeps delays
what others are told, and no fetch. What waits is bounded: past the limit events other than endings are dropped,
and requests that begin are not told of at all, so that an observer hears the end of all that it saw begin.
Questions need their answer before a hop can go on, so they are asked on the loop, and must not block.
What a host raises is logged, once for each of its types, and costs no fetch; a filter that raises has said no.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

from mudroom.address import ParsedUrl
from mudroom.fetch.context import FetchContext, FetchLabel, FetchObserver, NullContext, NullObserver
from mudroom.fetch.events import CancelledEvent, FailedEvent, FetchEvent, FinishedEvent, ProgressEvent
from mudroom.fetch.messenger import Messenger

__all__ = ["Telling", "TimedObserver", "Watch", "open_telling"]

_log = logging.getLogger(__name__)

_MAX_WAITING = 8192
_PATIENCE_SECONDS = 2.0
_ENDINGS = (FinishedEvent, FailedEvent, CancelledEvent)

_NOBODY: FetchObserver = NullObserver()

Answer = TypeVar("Answer")


@runtime_checkable
class TimedObserver(FetchObserver, Protocol):
    """An observer that wants to know when an event happened, which is before it is told of it."""

    def on_timed_event(self, event: FetchEvent, unix_ns: int) -> None:
        """Take note; called instead of `on_event`."""
        ...


@dataclass(slots=True)
class _Reference:
    """How many requests of a reference run, and whether the host was told of it."""

    requests: int
    is_told: bool


class Telling:
    """A context, told and asked in such a way that it can harm no fetch. For one loop."""

    def __init__(
        self,
        context: FetchContext,
        *,
        max_waiting: int = _MAX_WAITING,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self._context = context
        self._max_waiting = max_waiting
        self._patience_seconds = patience_seconds
        self._messenger = Messenger("mudroom-observers")
        self._references: dict[str, _Reference] = {}
        self._faulty: set[str] = set()
        self.dropped_events = 0
        """What was not told because too much waited."""

    def watch(self, label: FetchLabel) -> Watch | None:
        """Who tells of one request, and must tell its ending; None where nobody would hear."""
        observer = self._find_observer(label)
        if observer is None and not label.reference:
            return None
        watch = Watch(self, observer, label.reference)
        if label.reference:
            self._enter(label.reference)
        return watch

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """Whether the host lets this URL be asked; a filter that raises does not."""
        return self._ask(partial(self._context.is_url_allowed, url), default=False)

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The host's value of Cookie for a hop, or nothing; a host that says None means nothing too."""
        untrusted: object = self._ask(partial(self._context.cookies_for, url, partition), default="")
        return untrusted if isinstance(untrusted, str) else ""

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """Hand over the Set-Cookie fields of an answer, before the next hop asks for cookies."""
        self._ask(partial(self._context.on_cookies_received, url, partition, set_cookie), default=None)

    async def aclose(self) -> None:
        """Tell what waits, and end the thread; an observer that does not return is left behind."""
        if not await self._messenger.aclose(self._patience_seconds):
            _log.warning("an observer of fetches does not return; what waited for it is not told")

    @property
    def is_behind(self) -> bool:
        """Whether as much waits to be told as may."""
        return self._messenger.backlog >= self._max_waiting

    def post(self, call: Callable[[], None], *, source: Callable[..., object] | None = None) -> None:
        """Have a call to the host made on the thread of observers; `source` is to blame for what it raises."""
        self._messenger.post(partial(self._call, call, source or call))

    def drop(self) -> None:
        """Count what is not told."""
        if not self.dropped_events:
            _log.warning("observers of fetches are slower than what they observe; events are dropped")
        self.dropped_events += 1

    def leave(self, reference: str) -> None:
        """Note that a request of a reference has ended."""
        entry = self._references[reference]
        entry.requests -= 1
        if not entry.requests:
            del self._references[reference]
            if entry.is_told:
                self.post(partial(self._context.on_reference_done, reference))

    def _enter(self, reference: str) -> None:
        entry = self._references.get(reference)
        if entry is not None:
            entry.requests += 1
        elif self.is_behind:
            self._references[reference] = _Reference(requests=1, is_told=False)
            self.drop()
        else:
            self._references[reference] = _Reference(requests=1, is_told=True)
            self.post(partial(self._context.on_reference_active, reference))

    def _find_observer(self, label: FetchLabel) -> FetchObserver | None:
        """The host's observer, where it has one and not too much waits already."""
        observer = self._ask(partial(self._context.observer_for, label), default=_NOBODY)
        if type(observer) is NullObserver:
            return None
        if self.is_behind:
            self.drop()
            return None
        return observer

    def _ask(self, question: Callable[[], Answer], *, default: Answer) -> Answer:
        try:
            return question()
        # Whatever the host did, it must cost no fetch; on the loop Ctrl-C is a person's.
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
            self._tell_fault(_name(question), error)
            return default

    def _call(self, call: Callable[[], None], source: Callable[..., object]) -> None:
        """On the thread of observers, where whatever is raised is theirs and would end the thread."""
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - it must cost no fetch, and no other observer
            self._tell_fault(_name(source), error)

    def _tell_fault(self, name: str, error: BaseException) -> None:
        """A line for each kind of observer and hook: the type of the error, not its text, which may be a page's."""
        if name in self._faulty:
            return
        self._faulty.add(name)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _log.warning(
            "%s raised %s in %s line %s; fetches go on, and this is said once",
            name,
            type(error).__name__,
            frame.filename,
            frame.lineno,
        )


class Watch:
    """Tells of one request. After its ending nothing is told of it any more."""

    __slots__ = ("_has_ended", "_on_event", "_on_timed_event", "_progress", "_reference", "_telling")

    def __init__(self, telling: Telling, observer: FetchObserver | None, reference: str) -> None:
        self._telling = telling
        self._on_event = None if observer is None else observer.on_event
        self._on_timed_event = observer.on_timed_event if isinstance(observer, TimedObserver) else None
        self._reference = reference
        self._progress: ProgressEvent | None = None
        self._has_ended = False

    @property
    def is_heard(self) -> bool:
        """Whether anybody hears; otherwise only the ending counts, and no other event need be made."""
        return self._on_event is not None and not self._has_ended

    def tell(self, event: FetchEvent) -> None:
        """Have an event told soon. Of progress that waits to be told, the last stands for all."""
        if self._has_ended:
            return
        if isinstance(event, _ENDINGS):
            self._has_ended = True
            self._post(event)
            if self._reference:
                self._telling.leave(self._reference)
        elif self._on_event is None:
            return
        elif self._telling.is_behind:
            self._telling.drop()
        elif isinstance(event, ProgressEvent):
            is_waiting, self._progress = self._progress is not None, event
            if not is_waiting:
                self._telling.post(self._hear_progress, source=self._on_event)
        else:
            self._post(event)

    def _post(self, event: FetchEvent) -> None:
        if self._on_timed_event is not None:
            self._telling.post(partial(self._on_timed_event, event, time.time_ns()))
        elif self._on_event is not None:
            self._telling.post(partial(self._on_event, event))

    def _hear_progress(self) -> None:
        """On the thread of observers: the latest of the progress that waits."""
        event, self._progress = self._progress, None
        if event is not None and self._on_event is not None:
            self._on_event(event)


def open_telling(context: FetchContext | None) -> Telling | None:
    """What speaks to this host; None where it takes no part, so that it costs nothing."""
    return None if context is None or type(context) is NullContext else Telling(context)


def _name(call: Callable[[], object]) -> str:
    """The class and method behind a call, for a log."""
    while isinstance(call, partial):
        call = call.func
    owner = getattr(call, "__self__", None)
    name = getattr(call, "__qualname__", type(call).__name__)
    return name if owner is None else f"{type(owner).__qualname__}.{getattr(call, '__name__', name)}"
