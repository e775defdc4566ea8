"""Each caller is told his own story, whole, whoever shares the exchange with him."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import pytest

from mudroom.errors import Code, MudroomError, StoreFailed
from mudroom.fetch import Fetcher, FetchLabel, FetchObserver, FetchRequest, NullContext, Pump, Telling
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
)


class World(Protocol):
    """See conftest."""

    DROP: str
    clock: Any
    open: Callable[..., Fetcher]
    ask: Callable[..., FetchRequest]
    serve: Callable[..., None]
    url: Callable[[str], str]
    wait_for_hits: Callable[[str, int], Awaitable[None]]
    settle: Callable[[], Awaitable[None]]


class Diary(NullContext):
    """What each request's observer heard, and which references were active."""

    def __init__(self) -> None:
        self.heard: dict[str, list[FetchEvent]] = {}
        self.references: list[str] = []

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        return _Writer(self.heard.setdefault(label.request_id, []))

    def on_reference_active(self, reference: str) -> None:
        self.references.append(f"+{reference}")

    def on_reference_done(self, reference: str) -> None:
        self.references.append(f"-{reference}")

    def names(self, request_id: str) -> list[str]:
        """The kinds of what it heard, in order, progress told once for all of its kind."""
        names = [type(event).__name__.removesuffix("Event") for event in self.heard[request_id]]
        return [
            name for n, name in enumerate(names) if n == 0 or (name, names[n - 1]) != ("Progress", "Progress")
        ]


class _Writer:
    def __init__(self, heard: list[FetchEvent]) -> None:
        self._heard = heard

    def on_event(self, event: FetchEvent) -> None:
        self._heard.append(event)


@pytest.fixture
def diary() -> Diary:
    return Diary()


async def read(fetcher: Fetcher, request: FetchRequest) -> bytes:
    async with await fetcher.submit(request) as reply:
        return await reply.read()


async def turn(rounds: int = 20) -> None:
    for _ in range(rounds):
        await asyncio.sleep(0)


async def test_a_whole_story_is_told_in_its_order(world: World, diary: Diary) -> None:
    world.serve("/", status=302, headers=(("Location", world.url("/b")),))
    world.serve("/b", b"hello")
    telling = Telling(diary)
    await read(world.open(telling=telling), world.ask("/", request_id="a"))
    await telling.aclose()
    assert diary.names("a") == [
        "Started",
        "Redirected",
        "Started",
        "ResponseHeaders",
        "Progress",
        "Finished",
    ]
    started, redirected, _, answered, progress, finished = diary.heard["a"]
    assert started == StartedEvent(world.url("/"))
    assert redirected == RedirectedEvent(world.url("/"), world.url("/b"), 302)
    assert isinstance(answered, ResponseHeadersEvent)
    assert answered.status == 200
    assert isinstance(progress, ProgressEvent)
    assert progress.received_bytes == 5
    assert finished == FinishedEvent(received_bytes=5, duration_seconds=0.0)


async def test_who_joins_late_is_told_what_he_missed_and_all_hear_their_own_end(
    world: World, diary: Diary
) -> None:
    more = asyncio.Event()
    world.serve("/", b"a" * 100, more, b"b" * 100)
    telling = Telling(diary)
    fetcher = world.open(telling=telling)
    ids = ["whole", "streamed", "gives up", "hurried"]
    settings: list[dict[str, Any]] = [{}, {"is_streaming": True}, {}, {"deadline_seconds": 0.02}]
    asking = []
    for request_id, extra in zip(ids, settings, strict=True):
        asking.append(asyncio.create_task(read(fetcher, world.ask("/", request_id=request_id, **extra))))
        await world.wait_for_hits("/", 1)
        await turn(50)
    asking[2].cancel()
    await asyncio.wait(asking[2:])
    more.set()
    assert await asyncio.gather(*asking[:2]) == [b"a" * 100 + b"b" * 100] * 2
    await telling.aclose()
    for request_id, ending in zip(ids, ["Finished", "Finished", "Cancelled", "Failed"], strict=True):
        names = diary.names(request_id)
        assert names[:2] == ["Started", "ResponseHeaders"]
        assert names[-1] == ending
        assert names.count(ending) == 1
    received = [event.received_bytes for event in diary.heard["streamed"] if isinstance(event, ProgressEvent)]
    assert received == [200]
    assert isinstance(failed := diary.heard["hurried"][-1], FailedEvent)
    assert failed.code is Code.DEADLINE_EXCEEDED


async def test_progress_is_told_now_and_then(paper: World, diary: Diary) -> None:
    steps = [asyncio.Event() for _ in range(4)]
    paper.serve("/", b"x" * 6000, *(part for step in steps for part in (step, b"y" * 100, b"z" * 100)))
    telling = Telling(diary)
    asking = asyncio.create_task(read(paper.open(telling=telling), paper.ask("/", request_id="a")))
    for step in steps:
        await turn()
        paper.clock.advance(0.06)
        step.set()
    await asking
    await telling.aclose()
    progress = [event.received_bytes for event in diary.heard["a"] if isinstance(event, ProgressEvent)]
    assert progress[-1] <= 6800
    assert len(progress) <= 3


async def test_a_failure_and_a_refusal_are_told_to_each_who_asked(world: World, diary: Diary) -> None:
    world.serve("/", b"x", world.DROP)
    telling = Telling(diary)
    fetcher = world.open(telling=telling)
    asks = [world.ask("/", request_id=name) for name in ("a", "b")]
    await asyncio.gather(*map(fetcher.submit, asks), return_exceptions=True)
    with pytest.raises(MudroomError):
        await fetcher.submit(FetchRequest("GET", "http://10.0.0.1/", request_id="refused"))
    await telling.aclose()
    for name in ("a", "b"):
        assert isinstance(failed := diary.heard[name][-1], FailedEvent)
        assert failed.code is Code.CONNECTION_LOST
    assert diary.heard["refused"] == [
        BlockedEvent(host="10.0.0.1", code=Code.DENIED_ADDRESS),
        FailedEvent(code=Code.DENIED_ADDRESS, message=diary.heard["refused"][-1].message),  # type: ignore[union-attr] - the kind is what is compared
    ]


async def test_a_reference_is_active_while_one_of_its_requests_is(world: World, diary: Diary) -> None:
    gate = asyncio.Event()
    world.serve("/", b"x" * 6000, gate=gate)
    telling = Telling(diary)
    fetcher = world.open(telling=telling)
    first, second, other = [
        asyncio.create_task(read(fetcher, world.ask("/", reference=tab, is_streaming=bool(n))))
        for n, tab in enumerate(["tab 1", "tab 1", "tab 2"])
    ]
    await turn()
    other.cancel()
    await asyncio.wait([other])
    first.cancel()
    await asyncio.wait([first])
    gate.set()
    await second
    await telling.aclose()
    assert diary.references == ["+tab 1", "+tab 2", "-tab 2", "-tab 1"]


async def test_a_file_that_fails_beside_a_consumer_is_told_and_ends_nothing(
    world: World, diary: Diary
) -> None:
    class Broken:
        async def take(self, chunks: Any) -> int:
            await anext(chunks)
            raise StoreFailed(Code.NO_SPACE, "the disk is full")

    more = asyncio.Event()
    world.serve("/", b"x" * 6000, more, b"y")
    telling = Telling(diary)
    reply = await world.open(telling=telling).submit(world.ask("/", request_id="a", is_streaming=True))
    pump = Pump(reply, Broken())
    reader = pump.subscribe()
    running = asyncio.create_task(pump.run())
    await turn(50)
    more.set()
    assert b"".join([chunk async for chunk in reader]) == b"x" * 6000 + b"y"
    await running
    await telling.aclose()
    assert IoEvent("the disk is full") in diary.heard["a"]
    assert isinstance(diary.heard["a"][-1], FinishedEvent)


async def test_closing_a_stream_is_told_as_giving_up(world: World, diary: Diary) -> None:
    world.serve("/", b"x" * 6000, asyncio.Event())
    telling = Telling(diary)
    async with await world.open(telling=telling).submit(
        world.ask("/", request_id="a", is_streaming=True)
    ) as reply:
        assert reply.request_id == "a"
    await telling.aclose()
    assert diary.heard["a"][-1] == CancelledEvent()
    await world.settle()
