"""Who shares an exchange with whom, and that sharing costs nobody a byte, an error or his own end."""

import asyncio
import gc
import gzip
import sys
import traceback
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

import pytest

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed, MudroomError
from mudroom.fetch import (
    PEEK_BYTES,
    Fetcher,
    FetchRequest,
    Priority,
    RedirectRule,
    RedirectScope,
    Reply,
    RequestBody,
    Scheduler,
    SchedulerOptions,
)
from mudroom.fetch.caller import Caller
from mudroom.fetch.hsts import Hsts, MemoryHstsStore
from mudroom.net import NetLimits
from mudroom.testing.transports import PaperAnswer

LONG = [bytes([n]) * 8192 for n in range(20)]
BODY = b"".join(LONG)


class World(Protocol):
    """See conftest."""

    DROP: str
    clock: Any
    open: Callable[..., Fetcher]
    ask: Callable[..., FetchRequest]
    serve: Callable[..., None]
    url: Callable[[str], str]
    hit_count: Callable[[str], int]
    wait_for_hits: Callable[[str, int], Awaitable[None]]
    settle: Callable[[], Awaitable[None]]


async def turn(rounds: int = 10) -> None:
    """Let everything run that can run without the network."""
    for _ in range(rounds):
        await asyncio.sleep(0)


def start(*coroutines: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(coroutine) for coroutine in coroutines]


async def read(fetcher: Fetcher, request: FetchRequest) -> bytes:
    reply = await fetcher.submit(request)
    async with reply:
        return await reply.read()


async def failure(asking: Awaitable[Any]) -> MudroomError:
    with pytest.raises(MudroomError) as caught:
        await asking
    return caught.value


# ---- who shares ----


async def test_those_who_ask_the_same_at_the_same_time_cost_one_request(world: World) -> None:
    gate = asyncio.Event()
    world.serve("/", *LONG, gate=gate)
    fetcher = world.open()
    asking = start(*(fetcher.submit(world.ask("/")) for _ in range(5)))
    await turn()
    assert fetcher.in_flight == 1
    gate.set()
    replies = await asyncio.gather(*asking)
    assert [reply.body for reply in replies] == [BODY] * 5
    assert world.hit_count("/") == 1
    await world.settle()


async def test_a_fragment_is_not_part_of_a_request(sockets: Any) -> None:
    sockets.serve("/", b"hello")
    fetcher = sockets.open()
    await asyncio.gather(*(fetcher.submit(sockets.ask(path)) for path in ("/", "/#a", "/#b")))
    assert sockets.hit_count("/") == 1


async def test_http_and_https_of_an_armed_host_are_one_and_each_is_told_what_he_asked(paper: Any) -> None:
    hsts = Hsts(MemoryHstsStore(), paper.clock)
    fetcher = paper.open(hsts=hsts)
    arms = (("Strict-Transport-Security", "max-age=600"),)
    paper.transport.set_answers("https://site.test/", PaperAnswer(headers=arms))
    await fetcher.submit(FetchRequest("GET", "https://site.test/"))
    urls = ["http://site.test/", "https://site.test/", "http://site.test:80/"]
    replies = await asyncio.gather(*(fetcher.submit(FetchRequest("GET", url)) for url in urls))
    assert paper.transport.dialled == ("https://site.test/",) * 2
    told = [[hop.url for hop in reply.head.hops] for reply in replies]
    assert told == [["http://site.test/", "https://site.test/"], ["https://site.test/"], told[0]]
    assert [reply.head.requested_url for reply in replies] == [urls[0], urls[1], urls[0]]
    assert {reply.head.final.normalized for reply in replies} == {"https://site.test/"}


async def check_nothing(_url: ParsedUrl, _scope: ExceptionScope) -> None:
    """A hop check of somebody's own."""


def check_of_somebody_else() -> Any:
    async def check(_url: ParsedUrl, _scope: ExceptionScope) -> None:
        """Does the same, which nobody can know."""

    return check


DIFFERENT: list[tuple[str, dict[str, Any]]] = [
    ("another credential", {"headers": (("Authorization", "Bearer b"),)}),
    ("no credential", {"headers": ()}),
    ("another Accept", {"headers": (("Authorization", "Bearer a"), ("Accept", "text/plain"))}),
    ("a field of nobody's standard", {"headers": (("Authorization", "Bearer a"), ("X-Api-Key", "1"))}),
    ("a range", {"headers": (("Authorization", "Bearer a"), ("Range", "bytes=1-"))}),
    ("a validator", {"headers": (("Authorization", "Bearer a"), ("If-None-Match", '"x"'))}),
    ("a field twice", {"headers": (("Authorization", "Bearer a"), ("Authorization", "Bearer a"))}),
    ("raw bytes", {"decode": False}),
    ("a limit of bytes", {"max_body_bytes": 1_000_000}),
    ("a limit of decoded bytes", {"max_decoded_bytes": 1_000_000}),
    ("another scope", {"initiator_scope": ExceptionScope.of("nothing of ours")}),
    ("another rule of redirects", {"redirects": RedirectRule(max_hops=5)}),
    ("redirects that stay on the host", {"redirects": RedirectRule(scope=RedirectScope.SAME_HOST)}),
    ("types that are not read", {"accept_types": bool}),
    ("a check of hops", {"hop_check": check_nothing}),
    ("another check of hops", {"hop_check": check_of_somebody_else()}),
    ("another partition", {"partition": "b"}),
    ("another principal", {"principal": "b"}),
]


@pytest.mark.parametrize("change", [row[1] for row in DIFFERENT], ids=[row[0] for row in DIFFERENT])
async def test_any_difference_that_could_change_the_answer_keeps_requests_apart(
    paper: World, change: dict[str, Any]
) -> None:
    common: dict[str, Any] = {"headers": (("Authorization", "Bearer a"),)}
    paper.serve("/", b"hello")
    fetcher = paper.open()
    first, second = paper.ask("/", **common), paper.ask("/", **{**common, **change})
    replies = await asyncio.gather(*(fetcher.submit(each) for each in (first, second, first, second)))
    assert [reply.body for reply in replies] == [b"hello"] * 4
    assert paper.hit_count("/") == 2


async def test_the_order_of_fields_is_part_of_a_request(paper: World) -> None:
    paper.serve("/", b"hello")
    fetcher = paper.open()
    fields = (("X-A", "1"), ("X-B", "2"))
    await asyncio.gather(*(fetcher.submit(paper.ask("/", headers=each)) for each in (fields, fields[::-1])))
    assert paper.hit_count("/") == 2


SAME: list[tuple[str, dict[str, Any]]] = [
    ("priority", {"priority": Priority.HIGH}),
    ("streaming", {"is_streaming": True}),
    ("deadline", {"deadline_seconds": 60.0}),
    ("label", {"reference": "tab 2", "request_id": "b"}),
]


@pytest.mark.parametrize("change", [row[1] for row in SAME], ids=[row[0] for row in SAME])
async def test_what_is_a_callers_own_keeps_nobody_apart(paper: World, change: dict[str, Any]) -> None:
    paper.serve("/", b"hello")
    fetcher = paper.open()
    bodies = await asyncio.gather(
        read(fetcher, paper.ask("/")), read(fetcher, paper.ask("/", **change)), read(fetcher, paper.ask("/"))
    )
    assert bodies == [b"hello"] * 3
    assert paper.hit_count("/") == 1


async def test_one_objects_method_is_one_check(paper: World) -> None:
    class Gate:
        async def check(self, _url: ParsedUrl, _scope: ExceptionScope) -> None:
            """Lets all pass."""

    paper.serve("/", b"hello")
    fetcher, gate, other = paper.open(), Gate(), Gate()
    asks = [paper.ask("/", hop_check=each.check) for each in (gate, gate, other)]
    await asyncio.gather(*map(fetcher.submit, asks))
    assert paper.hit_count("/") == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_what_may_change_something_is_sent_for_each_caller(world: World, method: str) -> None:
    world.serve("/", b"done")
    fetcher = world.open()
    asks = [world.ask("/", method, body=RequestBody.of_json({"n": 1})) for _ in range(2)]
    replies = await asyncio.gather(*map(fetcher.submit, asks))
    assert [reply.body for reply in replies] == [b"done"] * 2
    assert world.hit_count("/") == 2


async def test_a_get_with_a_body_is_nobody_elses(paper: World) -> None:
    paper.serve("/", b"done")
    fetcher = paper.open()
    await asyncio.gather(*(fetcher.submit(paper.ask("/", body=b"q")) for _ in range(2)))
    assert paper.hit_count("/") == 2


async def test_head_shares_with_head_alone(world: World) -> None:
    world.serve("/", b"")
    fetcher = world.open()
    methods = ["HEAD", "GET", "HEAD", "GET"]
    replies = await asyncio.gather(*(fetcher.submit(world.ask("/", method)) for method in methods))
    assert {reply.body for reply in replies} == {b""}
    assert world.hit_count("/") == 2


async def test_two_rules_of_redirects_get_two_answers(world: World) -> None:
    """One opens the page and may be led to another host, the other crawls and may not."""
    world.serve("/", status=302, headers=(("Location", "http://other.test/"),))
    fetcher = world.open()
    stays = RedirectRule(max_hops=5, scope=RedirectScope.SAME_HOST)
    opening, crawling = await asyncio.gather(
        fetcher.submit(world.ask("/", method="HEAD")),
        fetcher.submit(world.ask("/", method="HEAD", redirects=stays)),
        return_exceptions=True,
    )
    assert isinstance(crawling, EgressRefused)
    assert crawling.code is Code.REDIRECT_CROSS_HOST
    assert not isinstance(opening, EgressRefused)
    assert world.hit_count("/") == 2


async def test_many_rounds_of_many_simultaneous_callers_lose_nobody(world: World) -> None:
    world.serve("/", *LONG[:4])
    fetcher = world.open()
    for _ in range(20):
        asks = [world.ask("/", is_streaming=bool(n % 2)) for n in range(30)]
        bodies = await asyncio.gather(*(read(fetcher, each) for each in asks))
        assert bodies == [b"".join(LONG[:4])] * 30
    await world.settle()
    assert world.hit_count("/") <= 20 * 2


# ---- streaming and whole ----


async def test_streaming_and_whole_callers_get_the_same_bytes(world: World) -> None:
    world.serve("/", *LONG[:4])
    fetcher = world.open()
    asks = [world.ask("/", is_streaming=is_streaming) for is_streaming in (True, False, True, False)]
    bodies = await asyncio.gather(*(read(fetcher, each) for each in asks))
    assert bodies == [b"".join(LONG[:4])] * 4
    assert world.hit_count("/") == 1
    await world.settle()


async def test_peek_and_tail_are_the_body_however_late_it_is_read(world: World) -> None:
    world.serve("/", *LONG)
    reply = await world.open().submit(world.ask("/", is_streaming=True))
    assert len(reply.peek) == PEEK_BYTES == 5120
    await turn(100)
    tail = b"".join([chunk async for chunk in reply.tail()])
    assert reply.peek + tail == BODY
    await world.settle()


SIZES = [0, 1, PEEK_BYTES - 1, PEEK_BYTES, PEEK_BYTES + 1, 3 * PEEK_BYTES]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [100, 5120, 20_000])
async def test_a_body_of_any_size_in_any_pieces_has_no_gap(paper: World, size: int, step: int) -> None:
    body = bytes(n % 251 for n in range(size))
    paper.serve("/", *(body[n : n + step] for n in range(0, size, step)))
    fetcher = paper.open()
    for way in ("tail", "chunks", "read"):
        reply = await fetcher.submit(paper.ask("/", is_streaming=True))
        assert reply.peek == body[:PEEK_BYTES]
        if way == "read":
            assert await reply.read() == body
        else:
            rest = b"".join([chunk async for chunk in getattr(reply, way)()])
            assert rest == (body[PEEK_BYTES:] if way == "tail" else body)
    whole = await fetcher.submit(paper.ask("/"))
    assert (whole.body, whole.peek, await whole.read()) == (body, body[:PEEK_BYTES], body)
    assert b"".join([chunk async for chunk in whole.chunks()]) == body
    assert b"".join([chunk async for chunk in whole.tail()]) == body[PEEK_BYTES:]


async def test_a_reply_tells_what_is_known_of_it(world: World) -> None:
    fields = (("X-A", "1"), ("X-B", "2"), ("X-A", "3"))
    world.serve("/", b"hello", status=404, reason="Gone Fishing", headers=fields)
    reply = await world.open().submit(world.ask("/", request_id="mine"))
    head = reply.head
    assert (reply.status, head.reason, head.protocol) == (404, "Gone Fishing", "HTTP/1.1")
    assert [field for field in head.headers if field[0].startswith("X-")] == list(fields)
    assert head.content_type is not None
    assert head.content_type.essence == "text/html"
    assert head.final.normalized == head.requested_url == world.url("/")
    assert [(hop.url, hop.status, bool(hop.address)) for hop in head.hops] == [(world.url("/"), 404, True)]
    assert reply.request_id == "mine"
    assert reply.wire_bytes == 5
    assert reply.timings.total_seconds is not None


async def test_a_stream_is_read_once_and_a_whole_reply_as_often_as_wanted(paper: World) -> None:
    paper.serve("/", b"hello")
    fetcher = paper.open()
    stream, whole = await asyncio.gather(
        fetcher.submit(paper.ask("/", is_streaming=True)), fetcher.submit(paper.ask("/"))
    )
    assert (stream.is_streaming, whole.is_streaming) == (True, False)
    with pytest.raises(RuntimeError, match="streamed"):
        _ = stream.body
    assert await stream.read() == b"hello"
    with pytest.raises(RuntimeError, match="once"):
        await stream.read()
    assert [await whole.read(), await whole.read(), whole.body] == [b"hello"] * 3


async def test_a_callers_lag_is_his_own_and_named(world: World) -> None:
    body = [bytes([n % 256]) * 65_536 for n in range(64)]
    world.serve("/", *body)
    fetcher = world.open(limits=NetLimits(max_body_bytes=1 << 30), max_decoded_bytes=1 << 30)
    ask = world.ask("/", is_streaming=True)
    slow, quick, whole = start(fetcher.submit(ask), read(fetcher, ask), read(fetcher, world.ask("/")))
    reply: Reply = await slow
    first = reply.chunks()
    assert await anext(first) == body[0][:PEEK_BYTES]
    assert await quick == await whole == b"".join(body)
    error = await failure(_drain(first))
    assert error.code is Code.CONSUMER_LAGGED
    assert world.hit_count("/") == 1
    await world.settle()


async def _drain(chunks: Any) -> None:
    async for _ in chunks:
        pass


async def test_a_caller_who_is_alone_makes_the_peer_wait_and_never_lags(world: World) -> None:
    body = [bytes([n % 256]) * 65_536 for n in range(100)]
    world.serve("/", *body)
    reply = await world.open(limits=NetLimits(max_body_bytes=1 << 30), max_decoded_bytes=1 << 30).submit(
        world.ask("/", is_streaming=True)
    )
    await turn(200)
    waiting = reply.wire_bytes
    await turn(200)
    assert reply.wire_bytes == waiting < 64 * 65_536
    assert await reply.read() == b"".join(body)
    await world.settle()


async def test_a_whole_caller_waits_for_no_stream_and_when_he_leaves_the_stream_waits_again(
    paper: World,
) -> None:
    gate = asyncio.Event()
    paper.serve("/", *[b"x" * 8192] * 30, gate, *[b"y" * 8192] * 100)
    fetcher = paper.open()
    streaming, whole = paper.ask("/", is_streaming=True), paper.ask("/")
    lagging, waiting = start(fetcher.submit(streaming), fetcher.submit(whole))
    slow = await lagging
    gate.set()
    assert len((await waiting).body) == 130 * 8192
    assert (await failure(slow.read())).code is Code.CONSUMER_LAGGED
    gate.clear()
    starting, leaving = start(fetcher.submit(streaming), fetcher.submit(whole))
    slow = await starting
    leaving.cancel()
    await asyncio.wait([leaving])
    gate.set()
    await turn(200)
    assert len(await slow.read()) == 130 * 8192


async def test_a_stream_keeps_nothing_of_what_was_read(paper: World) -> None:
    chunk, gate = bytes(8192), asyncio.Event()
    paper.serve("/", *[chunk] * 500, gate, *[chunk] * 500)
    fetcher = paper.open()
    before = sys.getrefcount(chunk)
    reply = await fetcher.submit(paper.ask("/", is_streaming=True))
    chunks, size = reply.chunks(), 0
    while size < 500 * 8192:
        size += len(await anext(chunks))
    assert sys.getrefcount(chunk) - before < 10
    gate.set()
    await _drain(chunks)


async def test_when_who_wanted_all_of_it_has_left_nothing_more_is_kept_for_him(paper: World) -> None:
    chunk, gate = bytes(8192), asyncio.Event()
    paper.serve("/", *[chunk] * 20, gate, *[chunk] * 500, gate)
    fetcher = paper.open()
    before = sys.getrefcount(chunk)
    streaming, whole = start(
        fetcher.submit(paper.ask("/", is_streaming=True)), fetcher.submit(paper.ask("/"))
    )
    chunks = (await streaming).chunks()
    size = 0
    while size < 20 * 8192:
        size += len(await anext(chunks))
    assert sys.getrefcount(chunk) - before > 15
    whole.cancel()
    await asyncio.wait([whole])
    assert sys.getrefcount(chunk) - before < 10
    gate.set()
    await _drain(chunks)


async def test_a_peek_of_just_enough_is_given_out_at_once(paper: World) -> None:
    gate = asyncio.Event()
    paper.serve("/", b"x" * PEEK_BYTES, gate)
    reply = await paper.open().submit(paper.ask("/", is_streaming=True))
    assert len(reply.peek) == PEEK_BYTES
    gate.set()
    assert await reply.read() == b"x" * PEEK_BYTES


# ---- too late ----


async def test_who_comes_after_the_release_gets_a_request_of_his_own(world: World) -> None:
    more = asyncio.Event()
    world.serve("/", LONG[0], more, *LONG[1:])
    fetcher = world.open()
    first = await fetcher.submit(world.ask("/", is_streaming=True))
    late = start(
        *(read(fetcher, world.ask("/", is_streaming=is_streaming)) for is_streaming in (True, False))
    )
    await world.wait_for_hits("/", 2)
    more.set()
    assert [await first.read(), *await asyncio.gather(*late)] == [BODY] * 3
    assert world.hit_count("/") == 2
    await world.settle()


async def test_while_nothing_is_given_out_a_whole_caller_may_join_and_a_streaming_one_comes_too_late(
    world: World,
) -> None:
    more = asyncio.Event()
    world.serve("/", LONG[0], LONG[1], more, *LONG[2:])
    fetcher = world.open()
    first = start(read(fetcher, world.ask("/")))
    await world.wait_for_hits("/", 1)
    await turn(50)
    joined = start(read(fetcher, world.ask("/")))
    await turn()
    assert fetcher.in_flight == 1
    late = start(read(fetcher, world.ask("/", is_streaming=True)))
    await world.wait_for_hits("/", 2)
    more.set()
    assert await asyncio.gather(*first, *joined, *late) == [BODY] * 3
    await world.settle()


async def test_the_peek_is_kept_for_those_who_join_before_it_is_complete(world: World) -> None:
    more = asyncio.Event()
    world.serve("/", b"a" * 5119, more, b"b" * 5000)
    fetcher = world.open()
    first = start(read(fetcher, world.ask("/", is_streaming=True)))
    await world.wait_for_hits("/", 1)
    await turn(50)
    second = start(read(fetcher, world.ask("/", is_streaming=True)))
    await turn()
    more.set()
    assert await asyncio.gather(*first, *second) == [b"a" * 5119 + b"b" * 5000] * 2
    assert world.hit_count("/") == 1


async def test_the_end_of_an_exchange_leaves_the_next_of_its_kind_open_to_others(world: World) -> None:
    first_end, second_end = asyncio.Event(), asyncio.Event()
    world.serve("/", LONG[0], first_end, LONG[1])
    fetcher = world.open()
    first = await fetcher.submit(world.ask("/", is_streaming=True))
    world.serve("/", LONG[0], gate=second_end)
    second = start(read(fetcher, world.ask("/")))
    await world.wait_for_hits("/", 2)
    first_end.set()
    await first.read()
    await turn()
    third = start(read(fetcher, world.ask("/")))
    await turn()
    assert fetcher.in_flight == 1
    second_end.set()
    assert await asyncio.gather(*second, *third) == [LONG[0]] * 2
    assert world.hit_count("/") == 2


# ---- leaving ----


STAGES = ["reaching", "peeking", "flowing"]


def serve_in_stages(world: World) -> dict[str, asyncio.Event]:
    events = {stage: asyncio.Event() for stage in STAGES}
    world.serve("/", b"a" * 4000, events["peeking"], *LONG, events["flowing"], b"z", gate=events["reaching"])
    return events


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("who", [0, 1, 2])
async def test_one_of_three_who_gives_up_returns_at_once_and_harms_nobody(
    world: World, stage: str, who: int
) -> None:
    events = serve_in_stages(world)
    fetcher = world.open()
    asks = [world.ask("/", is_streaming=n == 1) for n in range(3)]
    asking = start(*(read(fetcher, each) for each in asks))
    await let_pass(world, events, stage)
    asking[who].cancel()
    await asyncio.wait([asking[who]])
    assert asking[who].cancelled()
    assert fetcher.in_flight == 1
    for event in events.values():
        event.set()
    rest = [task for n, task in enumerate(asking) if n != who]
    assert await asyncio.gather(*rest) == [b"a" * 4000 + BODY + b"z"] * 2
    assert world.hit_count("/") == 1
    await world.settle()


async def let_pass(world: World, events: dict[str, asyncio.Event], stage: str) -> None:
    await world.wait_for_hits("/", 1)
    for each in STAGES[: STAGES.index(stage)]:
        await turn(20)
        events[each].set()
    await turn(50)


@pytest.mark.parametrize("stage", STAGES)
async def test_when_the_last_gives_up_the_connection_is_closed(sockets: Any, stage: str) -> None:
    events = serve_in_stages(sockets)
    fetcher = sockets.open()
    asking = start(*(read(fetcher, sockets.ask("/", is_streaming=n == 1)) for n in range(3)))
    await let_pass(sockets, events, stage)
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    assert all(task.cancelled() for task in asking)
    await sockets.site.wait_for_close()
    await sockets.settle()


@pytest.mark.parametrize("stage", STAGES)
async def test_what_the_last_left_is_not_joined(paper: World, stage: str) -> None:
    events = serve_in_stages(paper)
    fetcher = paper.open()
    [first] = start(read(fetcher, paper.ask("/", is_streaming=True)))
    await let_pass(paper, events, stage)
    first.cancel()
    [second] = start(read(fetcher, paper.ask("/")))
    for event in events.values():
        event.set()
    assert await second == b"a" * 4000 + BODY + b"z"
    assert paper.hit_count("/") == 2
    assert first.cancelled()
    await paper.settle()


async def test_closing_a_reply_is_giving_up(world: World) -> None:
    more = asyncio.Event()
    world.serve("/", *LONG, more, b"z")
    fetcher = world.open()
    async with await fetcher.submit(world.ask("/", is_streaming=True)) as reply:
        assert reply.peek
        chunks = reply.chunks()
        await anext(chunks)
    assert (await failure(_drain(chunks))).code is Code.CANCELLED
    reply.close()
    await world.settle()


async def test_who_waits_for_a_slot_may_give_up(paper: World) -> None:
    gate = asyncio.Event()
    paper.serve("/held", b"x", gate=gate)
    paper.serve("/", b"y")
    fetcher = paper.open(slots=Scheduler(SchedulerOptions(global_slots=1), paper.clock))
    [held] = start(read(fetcher, paper.ask("/held")))
    await turn()
    [waiting] = start(read(fetcher, paper.ask("/")))
    await turn()
    waiting.cancel()
    await asyncio.wait([waiting])
    gate.set()
    assert await held == b"x"
    assert await read(fetcher, paper.ask("/")) == b"y"
    assert paper.hit_count("/") == 1


async def test_a_slot_is_held_until_the_body_ends(world: World) -> None:
    world.serve("/long", *[b"x" * 65_536] * 64)
    world.serve("/", b"y")
    fetcher = world.open(
        slots=Scheduler(SchedulerOptions(global_slots=1), world.clock),
        limits=NetLimits(max_body_bytes=1 << 30),
        max_decoded_bytes=1 << 30,
    )
    reply = await fetcher.submit(world.ask("/long", is_streaming=True))
    [waiting] = start(read(fetcher, world.ask("/")))
    await turn(200)
    assert world.hit_count("/") == 0
    assert len(await reply.read()) == 64 * 65_536
    assert await waiting == b"y"


async def test_closing_a_fetcher_ends_all_that_it_began(world: World) -> None:
    world.serve("/", b"x" * 6000, asyncio.Event())
    fetcher = world.open()
    reply = await fetcher.submit(world.ask("/", is_streaming=True))
    [stuck] = start(fetcher.submit(world.ask("/")))
    await turn(50)
    await fetcher.aclose()
    assert fetcher.in_flight == 0
    assert (await failure(reply.read())).code is Code.CANCELLED
    assert (await failure(stuck)).code is Code.CANCELLED
    assert (await failure(fetcher.submit(world.ask("/")))).code is Code.CANCELLED
    await world.settle()


async def test_closing_a_fetcher_ends_what_waits_for_a_slot(paper: World) -> None:
    paper.serve("/held", b"x", gate=asyncio.Event())
    slots = Scheduler(SchedulerOptions(global_slots=1), paper.clock)
    fetcher = paper.open(slots=slots)
    asking = start(
        *(fetcher.submit(paper.ask(path, is_streaming=n == 1)) for n, path in enumerate(("/held", "/", "/")))
    )
    await paper.wait_for_hits("/held", 1)
    await turn()
    assert (slots.running, slots.waiting) == (1, 1)
    await fetcher.aclose()
    assert {(await failure(each)).code for each in asking} == {Code.CANCELLED}
    assert (slots.running, slots.waiting, fetcher.in_flight) == (0, 0, 0)
    assert paper.hit_count("/") == 0


# ---- deadlines ----


@pytest.mark.parametrize("stage", STAGES)
async def test_a_deadline_is_its_callers_alone(world: World, stage: str) -> None:
    events = serve_in_stages(world)
    fetcher = world.open()
    hurried, patient = start(
        read(fetcher, world.ask("/", is_streaming=True, deadline_seconds=0.05)),
        read(fetcher, world.ask("/", is_streaming=True)),
    )
    await world.wait_for_hits("/", 1)
    for each in STAGES[: STAGES.index(stage)]:
        events[each].set()
    assert (await failure(hurried)).code is Code.DEADLINE_EXCEEDED
    for event in events.values():
        event.set()
    assert await patient == b"a" * 4000 + BODY + b"z"
    assert world.hit_count("/") == 1


async def test_a_deadline_that_was_met_keeps_nothing_until_its_moment(paper: World) -> None:
    def count_callers() -> int:
        gc.collect()
        return sum(isinstance(each, Caller) for each in gc.get_objects())

    paper.serve("/", b"x")
    fetcher, before = paper.open(), count_callers()
    assert await read(fetcher, paper.ask("/", deadline_seconds=3600.0, is_streaming=True)) == b"x"
    await paper.settle()
    await turn()
    assert count_callers() == before


async def test_a_deadline_that_nobody_else_waits_behind_ends_the_exchange(sockets: Any) -> None:
    sockets.serve("/", b"x", asyncio.Event())
    fetcher = sockets.open()
    error = await failure(fetcher.submit(sockets.ask("/", deadline_seconds=0.05)))
    assert error.code is Code.DEADLINE_EXCEEDED
    await sockets.site.wait_for_close()
    await sockets.settle()


async def test_a_deadline_holds_while_a_slot_is_waited_for(paper: World) -> None:
    gate = asyncio.Event()
    paper.serve("/held", b"x", gate=gate)
    slots = Scheduler(SchedulerOptions(global_slots=1), paper.clock)
    fetcher = paper.open(slots=slots)
    [held] = start(read(fetcher, paper.ask("/held")))
    await paper.wait_for_hits("/held", 1)
    error = await failure(fetcher.submit(paper.ask("/", deadline_seconds=0.05)))
    assert error.code is Code.DEADLINE_EXCEEDED
    assert "site.test" in error.message
    await turn()
    assert (slots.running, slots.waiting) == (1, 0)
    gate.set()
    assert await held == b"x"
    assert paper.hit_count("/") == 0
    await paper.settle()


# ---- failures ----


async def test_a_failure_comes_to_each_caller_as_an_error_of_his_own(world: World) -> None:
    world.serve("/", LONG[0], world.DROP)
    fetcher = world.open()
    whole = [fetcher.submit(world.ask("/")) for _ in range(3)]
    streams = [read(fetcher, world.ask("/", is_streaming=True)) for _ in range(3)]
    errors = await asyncio.gather(*whole, *streams, return_exceptions=True)
    assert {type(error) for error in errors} == {FetchFailed}
    assert {error.code for error in errors if isinstance(error, FetchFailed)} == {Code.CONNECTION_LOST}
    assert len({id(error) for error in errors}) == 6
    for error in errors:
        assert isinstance(error, FetchFailed)
        assert len(error.hops) == 1
        assert error.wire_bytes == len(LONG[0])
        assert len(traceback.extract_tb(error.__traceback__)) < 10
    assert world.hit_count("/") == 1
    await world.settle()


async def test_a_body_that_breaks_off_is_never_a_short_success(world: World) -> None:
    world.serve("/", *LONG, world.DROP)
    reply = await world.open().submit(world.ask("/", is_streaming=True))
    chunks, got = reply.chunks(), b""
    while len(got) < len(BODY):
        got += await anext(chunks)
    assert got == BODY
    assert (await failure(anext(chunks))).code is Code.CONNECTION_LOST


async def test_what_a_callers_check_raises_comes_to_all_who_share_it(paper: World) -> None:
    async def refuse(_url: ParsedUrl, _scope: ExceptionScope) -> None:
        raise LookupError("not mine to fetch")

    fetcher = paper.open()
    asks = [paper.ask("/", hop_check=refuse, is_streaming=bool(n)) for n in range(2)]
    errors = await asyncio.gather(*map(fetcher.submit, asks), return_exceptions=True)
    assert [(type(error), str(error)) for error in errors] == [(LookupError, "not mine to fetch")] * 2
    assert errors[0] is not errors[1]
    assert paper.hit_count("/") == 0
    await paper.settle()


async def test_a_url_that_is_refused_begins_no_exchange(paper: World) -> None:
    fetcher = paper.open()
    error = await failure(fetcher.submit(FetchRequest("GET", "http://10.0.0.1/")))
    assert error.code is Code.DENIED_ADDRESS
    assert fetcher.in_flight == 0


async def test_a_stalled_body_times_out_in_the_peek_and_behind_it(sockets: Any) -> None:
    sockets.serve("/early", b"x", asyncio.Event())
    sockets.serve("/late", *LONG, asyncio.Event())
    fetcher = sockets.open(limits=NetLimits(idle_timeout_seconds=0.1))
    for is_streaming in (True, False):
        error = await failure(fetcher.submit(sockets.ask("/early", is_streaming=is_streaming)))
        assert error.code is Code.IDLE_TIMEOUT
    reply = await fetcher.submit(sockets.ask("/late", is_streaming=True))
    assert (await failure(reply.read())).code is Code.IDLE_TIMEOUT
    await sockets.settle()


async def test_a_peek_that_trickles_has_no_more_time_than_headers_that_do(paper: World) -> None:
    paper.serve("/", b"x", asyncio.Event())
    fetcher = paper.open(limits=NetLimits(response_timeout_seconds=0.05))
    error = await failure(fetcher.submit(paper.ask("/", is_streaming=True)))
    assert error.code is Code.RESPONSE_TIMEOUT
    assert "beginning" in error.message
    assert ([hop.status for hop in error.hops], error.wire_bytes) == ([200], 1)
    await paper.settle()


async def test_the_time_of_the_peek_has_begun_with_the_request(paper: Any) -> None:
    """Headers that took most of it leave little to the beginning of the body."""
    gate = asyncio.Event()
    paper.serve("/", b"x", asyncio.Event(), gate=gate)
    fetcher = paper.open(limits=NetLimits(response_timeout_seconds=600.0), chain_timeout_seconds=600.0)
    [asking] = start(fetcher.submit(paper.ask("/", is_streaming=True)))
    await paper.wait_for_hits("/", 1)
    paper.clock.advance(599.95)
    gate.set()
    assert (await failure(asking)).code is Code.RESPONSE_TIMEOUT
    await paper.settle()


async def test_whole_callers_wait_for_a_slow_body_beyond_the_time_of_the_peek(paper: World) -> None:
    more = asyncio.Event()
    paper.serve("/", b"x" * 6000, more, b"y")
    fetcher = paper.open(limits=NetLimits(response_timeout_seconds=0.03, total_timeout_seconds=0.06))
    asyncio.get_running_loop().call_later(0.12, more.set)
    assert len((await fetcher.submit(paper.ask("/"))).body) == 6001


async def test_a_consumer_who_never_reads_does_not_hold_a_slot_for_ever(paper: World) -> None:
    paper.serve("/", *[b"x" * 8192] * 100)
    fetcher = paper.open(limits=NetLimits(total_timeout_seconds=0.05))
    reply = await fetcher.submit(paper.ask("/", is_streaming=True))
    await paper.settle()
    assert (await failure(reply.read())).code is Code.TOTAL_TIMEOUT


# ---- bounds ----


@pytest.mark.parametrize("is_streaming", [True, False])
async def test_the_limit_of_bytes_is_exact(world: World, *, is_streaming: bool) -> None:
    world.serve("/", b"x" * 10_000)
    fetcher = world.open()
    assert (
        len(await read(fetcher, world.ask("/", is_streaming=is_streaming, max_body_bytes=10_000))) == 10_000
    )
    for limit in ({"max_body_bytes": 9_999}, {"max_decoded_bytes": 9_999}):
        error = await failure(read(fetcher, world.ask("/", is_streaming=is_streaming, **limit)))
        assert isinstance(error, ContentRefused)
        assert error.code in {Code.BODY_TOO_LARGE, Code.DECODED_TOO_LARGE}
        assert error.hops[-1].url.split("/")[2].partition(":")[0] in error.message
    await world.settle()


async def test_a_declared_length_above_the_limit_fails_before_a_byte_is_read(sockets: Any) -> None:
    sockets.serve("/", b"x" * 100, asyncio.Event(), content_length=1 << 60)
    error = await failure(sockets.open().submit(sockets.ask("/", is_streaming=True)))
    assert error.code is Code.BODY_TOO_LARGE
    assert error.wire_bytes <= 100


@pytest.mark.parametrize("declared", [20_000, 9_000_000])
@pytest.mark.parametrize("is_streaming", [True, False])
async def test_a_length_that_lies_is_a_failure_and_costs_no_memory(
    sockets: Any, declared: int, *, is_streaming: bool
) -> None:
    sockets.serve("/", b"x" * 10_000, closes=True, content_length=declared)
    fetcher = sockets.open()
    tracemalloc.start()
    try:
        error = await failure(read(fetcher, sockets.ask("/", is_streaming=is_streaming)))
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    assert error.code is Code.CONNECTION_LOST


# ---- priority ----


async def test_who_is_in_a_hurry_has_the_exchange_that_he_joins_start_sooner(paper: Any) -> None:
    gate = asyncio.Event()
    paper.serve("/held", b"x", gate=gate)
    for path in ("/a", "/b", "/shared"):
        paper.serve(path, b"y")
    fetcher = paper.open(slots=Scheduler(SchedulerOptions(global_slots=1), paper.clock))
    low = {"priority": Priority.LOW}
    asking = start(
        *(fetcher.submit(paper.ask(path, **low)) for path in ("/held", "/a", "/b", "/shared")),
    )
    await turn()
    asking += start(fetcher.submit(paper.ask("/shared", priority=Priority.HIGH)))
    await turn()
    gate.set()
    await asyncio.gather(*asking)
    assert [url.rpartition("/")[2] for url in paper.transport.dialled] == ["held", "shared", "a", "b"]


# ---- an answer that is all here at its headers ----


PACKED = gzip.compress(BODY)


@pytest.mark.parametrize(
    ("change", "body"), [({}, BODY), ({"decode": False}, PACKED)], ids=["decoded", "as received"]
)
async def test_a_body_that_is_here_already_is_given_in_one_piece(
    paper: Any, change: dict[str, Any], body: bytes
) -> None:
    paper.transport.set_answers(
        paper.url("/"), PaperAnswer(body=PACKED, headers=(("Content-Encoding", "gzip"),))
    )
    reply = await paper.open().submit(paper.ask("/", **change))
    assert (reply.body, reply.peek, reply.wire_bytes) == (body, body[:PEEK_BYTES], len(PACKED))
    assert reply.timings.total_seconds is not None
    await paper.settle()


@pytest.mark.parametrize(
    ("answer", "change", "code"),
    [
        (PACKED, {"max_decoded_bytes": len(BODY) - 1}, Code.DECODED_TOO_LARGE),
        (PACKED[:-9], {}, Code.DECODE_FAILED),
        (PACKED, {"max_body_bytes": len(PACKED) - 1}, Code.BODY_TOO_LARGE),
    ],
    ids=["unpacks to too much", "cut short", "too much"],
)
async def test_a_body_that_is_here_already_has_the_limits_of_any_other(
    paper: Any, answer: bytes, change: dict[str, Any], code: Code
) -> None:
    paper.transport.set_answers(
        paper.url("/"), PaperAnswer(body=answer, headers=(("Content-Encoding", "gzip"),))
    )
    error = await failure(paper.open().submit(paper.ask("/", **change)))
    assert error.code is code
    assert [hop.status for hop in error.hops] == [200]
    await paper.settle()


async def test_a_stream_is_given_a_peek_of_a_body_that_is_here_already(paper: Any) -> None:
    paper.transport.set_answers(paper.url("/"), PaperAnswer(body=BODY))
    fetcher = paper.open()
    whole, stream = await asyncio.gather(
        fetcher.submit(paper.ask("/")), fetcher.submit(paper.ask("/", is_streaming=True))
    )
    assert (whole.body, await stream.read(), stream.peek) == (BODY, BODY, BODY[:PEEK_BYTES])
    assert len(paper.transport.dials) == 1


@pytest.mark.parametrize(
    ("callers", "is_whole"),
    [
        ((False,), True),
        ((False, False), True),
        ((True,), False),
        ((False, True), False),
        ((True, False), False),
    ],
    ids=["one", "two", "a stream", "a stream joins", "a stream is joined"],
)
async def test_only_what_nobody_streams_when_it_is_asked_for_may_send_as_it_likes(
    paper: Any, callers: tuple[bool, ...], *, is_whole: bool
) -> None:
    paper.serve("/", b"hello")
    fetcher = paper.open()
    replies = await asyncio.gather(
        *(fetcher.submit(paper.ask("/", is_streaming=is_streaming)) for is_streaming in callers)
    )
    assert [await reply.read() for reply in replies] == [b"hello"] * len(callers)
    assert [dial.is_whole for dial in paper.transport.dials] == [is_whole]
