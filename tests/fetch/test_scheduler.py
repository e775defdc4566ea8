import asyncio
import gc
import tracemalloc
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import pytest

from mudroom.fetch import Priority, Scheduler, SchedulerOptions
from mudroom.fetch.origins import Origin
from mudroom.testing.clocks import RingingClock

HIGH, NORMAL, LOW, IDLE = Priority
A, B = "http://a.test", "http://b.test"


def build(clock: RingingClock | None = None, **options: Any) -> Scheduler:
    clock = clock or RingingClock()
    return Scheduler(SchedulerOptions(**options), clock, call_later=clock.call_later)


def host_of(origin: str) -> str:
    return urlsplit(origin).hostname or ""


class Running:
    """Hops that hold their slot until they are told to end, or end at once."""

    def __init__(self, slots: Scheduler, *, ends_at_once: bool = False) -> None:
        self.slots = slots
        self.started: list[str] = []
        self.release = asyncio.Event()
        if ends_at_once:
            self.release.set()

    def start(
        self, origin: str = A, count: int = 1, priority: Priority = NORMAL, name: str = ""
    ) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._hold(origin, priority, name or origin)) for _ in range(count)]

    async def _hold(self, origin: str, priority: Priority, name: str) -> None:
        async with self.slots.hold(origin, host_of(origin), priority):
            self.started.append(name)
            await asyncio.sleep(0)
            await self.release.wait()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def is_empty(slots: Scheduler) -> bool:
    """Whether nothing is left of what was scheduled."""
    left = (slots.running, slots.waiting, slots.origins, slots._lanes.offered, len(slots._timetable))
    return left == (0, 0, 0, 0, 0)


async def give_up(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# ---- limits ----


async def test_a_stalled_origin_leaves_the_others_their_slots() -> None:
    running = Running(build(global_slots=8))
    tasks = running.start(A, 40) + running.start(B)
    await settle()
    assert Counter(running.started) == {A: 6, B: 1}
    running.release.set()
    await asyncio.gather(*tasks)
    assert is_empty(running.slots)


async def test_no_more_than_the_global_slots_run_at_once() -> None:
    running = Running(build(global_slots=3, origin_slots=2))
    tasks = [task for n in range(4) for task in running.start(f"http://{n}.test", 2)]
    await settle()
    assert (len(running.started), running.slots.running, running.slots.waiting) == (3, 3, 5)
    running.release.set()
    await asyncio.gather(*tasks)
    assert len(running.started) == 8
    assert is_empty(running.slots)


async def test_a_free_slot_is_taken_without_a_future_or_a_turn_of_the_loop() -> None:
    slots = build()
    entering = slots.hold(A, "a.test", LOW).__aenter__()
    assert not asyncio.iscoroutine(entering)
    assert slots.running == 1
    with pytest.raises(StopIteration):
        next(entering.__await__())


@pytest.mark.parametrize(
    "options",
    [
        {"global_slots": 0},
        {"origin_slots": -1},
        {"http2_origin_slots": 0},
        {"host_delay_seconds": -0.1},
        {"max_host_pause_seconds": -1},
    ],
)
def test_limits_that_let_nothing_start_are_a_mistake(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        SchedulerOptions(**options)


# ---- order ----


@pytest.mark.parametrize("earlier", [0, 9, 13])
async def test_with_one_slot_the_highest_priority_starts_first(earlier: int) -> None:
    slots = build(global_slots=1)
    await asyncio.gather(*Running(slots, ends_at_once=True).start(count=1 + earlier))
    running = Running(slots)
    tasks = running.start(name="first")
    await settle()
    for priority in (IDLE, LOW, NORMAL, HIGH):
        tasks += running.start(priority=priority, name=priority.name)
    await settle()
    running.release.set()
    await asyncio.gather(*tasks)
    assert running.started == ["first", "HIGH", "NORMAL", "LOW", "IDLE"]


@pytest.mark.parametrize("limits", [{"global_slots": 1}, {"origin_slots": 1}])
async def test_under_load_every_lane_has_its_share_and_idle_does_not_starve(limits: dict[str, int]) -> None:
    running = Running(build(**limits), ends_at_once=True)
    tasks = running.start(name="first")
    for priority in Priority:
        tasks += running.start(count=60, priority=priority, name=priority.name)
    await asyncio.gather(*tasks)
    for turn in range(1, 61, 15):
        assert Counter(running.started[turn : turn + 15]) == {"HIGH": 8, "NORMAL": 4, "LOW": 2, "IDLE": 1}
    assert is_empty(running.slots)


@pytest.mark.parametrize("turn", range(15))
async def test_high_after_500_low_is_among_the_next_four_starts_at_any_turn(turn: int) -> None:
    slots = build(global_slots=1)
    low = [slots.hold(A, "a.test", LOW) for _ in range(500)]
    for slot in low:
        slots.enter(slot)
    for slot in low[:turn]:
        slots.leave(slot)
    high = slots.hold(A, "a.test", HIGH)
    slots.enter(high)
    starts = 0
    for slot in low[turn:]:
        slots.leave(slot)
        starts += 1
        if high.origin is not None:
            break
    assert starts <= 4


async def test_the_choice_is_made_from_what_waits_when_a_slot_is_free() -> None:
    running = Running(build(origin_slots=1))
    tasks = running.start(count=500, priority=LOW, name="low")
    await settle()
    assert running.started == ["low"]
    tasks += running.start(priority=HIGH, name="high")
    await settle()
    running.release.set()
    await asyncio.gather(*tasks)
    assert "high" in running.started[1:5]


async def test_within_a_lane_the_longest_waiting_that_may_start_is_first_whatever_its_origin() -> None:
    running = Running(build(global_slots=2, origin_slots=1), ends_at_once=True)
    running.release.clear()
    tasks = running.start(A, name="a0") + running.start(B, name="b0")
    await settle()
    for name, origin in (("a1", A), ("b1", B), ("a2", A), ("c1", "http://c.test"), ("b2", B)):
        tasks += running.start(origin, name=name)
        await settle()
    running.release.set()
    await asyncio.gather(*tasks)
    assert running.started[2:] == ["a1", "b1", "a2", "c1", "b2"]


async def test_an_idle_request_starts_although_its_origins_slot_is_free_on_highs_turns_only() -> None:
    """Fifteen origins of one slot each come free in step with the fifteen turns of the cycle."""
    slots = build(origin_slots=1)
    origins = [f"http://{number}.test" for number in range(15)]
    turns, waiting = {}, []
    for origin in origins:
        turns[origin] = slots.hold(origin, origin[7:], HIGH)
        await turns[origin].__aenter__()

    def wait(origin: str, priority: Priority) -> tuple[Any, asyncio.Task[None]]:
        slot = slots.hold(origin, origin[7:], priority)
        task = asyncio.create_task(slot.__aenter__())  # type: ignore[arg-type]  # a coroutine when it waits
        waiting.append(task)
        return slot, task

    _, idle = wait(origins[0], IDLE)
    next_turns = {origin: wait(origin, HIGH) for origin in origins}
    for _ in range(60):
        for origin in origins:
            await turns[origin].__aexit__(None, None, None)
            await asyncio.sleep(0)
            if idle.done():
                break
            turns[origin] = next_turns[origin][0]
            next_turns[origin] = wait(origin, HIGH)
            await asyncio.sleep(0)
    assert idle.done()
    for task in waiting:
        await give_up(task)


class Item:
    def __init__(self, priority: Priority, number: int) -> None:
        self.priority = priority
        self.number = number


def test_a_lane_is_passed_over_for_so_long_and_then_goes_first() -> None:
    origin: Origin[Item] = Origin(A, "a.test", 6)
    idle, high = Item(IDLE, 1), Item(HIGH, 2)
    origin.add(idle)
    origin.add(high)
    chosen = [origin.pass_over(high) for _ in range(92)]
    assert [number for number, item in enumerate(chosen) if item is idle] == [45, 91]
    assert origin.pass_over(idle) is idle


async def test_a_priority_that_is_raised_acts_on_what_waits() -> None:
    slots = build(global_slots=1)
    first = slots.hold(A, "a.test", NORMAL)
    await first.__aenter__()
    order: list[str] = []

    async def hop(slot: Any, name: str) -> None:
        async with slot:
            order.append(name)

    low = [slots.hold(A, "a.test", LOW) for _ in range(3)]
    tasks = [asyncio.create_task(hop(slot, f"low {number}")) for number, slot in enumerate(low)]
    tasks.append(asyncio.create_task(hop(slots.hold(A, "a.test", HIGH), "high")))
    await settle()
    low[2].raise_priority(HIGH)
    low[1].raise_priority(IDLE)  # lower: changes nothing
    assert slots.waiting == 4
    await first.__aexit__(None, None, None)
    await asyncio.gather(*tasks)
    assert order == ["high", "low 2", "low 0", "low 1"]
    assert is_empty(slots)


async def test_a_priority_may_be_raised_before_and_after_the_wait() -> None:
    slots = build(global_slots=1)
    slot = slots.hold(A, "a.test", LOW)
    slot.raise_priority(NORMAL)
    async with slot:
        slot.raise_priority(HIGH)
        assert (slots.running, slots.waiting) == (1, 0)
    slot.raise_priority(HIGH)
    assert is_empty(slots)


# ---- giving up ----


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    running = Running(build(global_slots=1, origin_slots=1))
    first, second, third = running.start(A, 2) + running.start(B)
    await settle()
    await give_up(second)
    await give_up(third)
    assert (running.slots.waiting, running.slots.origins) == (0, 1)
    running.release.set()
    await first
    assert is_empty(running.slots)
    for origin in (A, B):
        async with asyncio.timeout(5), running.slots.hold(origin, origin[7:], NORMAL):
            pass


async def test_who_gives_up_is_passed_by_what_stood_behind_it() -> None:
    running = Running(build(origin_slots=1))
    first, given_up, waiting = running.start(A) + running.start(A) + running.start(A, name="waiting")
    await settle()
    await give_up(given_up)
    running.release.set()
    await asyncio.wait_for(asyncio.gather(first, waiting), timeout=5)
    assert running.started == [A, "waiting"]


@pytest.mark.parametrize("gives_up_first", [True, False])
async def test_a_slot_that_comes_free_while_its_hop_gives_up_goes_on_to_the_next(
    gives_up_first: bool,
) -> None:
    slots = build(global_slots=1, origin_slots=1)
    running = Running(slots, ends_at_once=True)
    first = slots.hold(A, "a.test", NORMAL)
    await first.__aenter__()
    [given_up, waiting] = running.start(A, 2)
    await settle()
    if gives_up_first:  # its task has not run since, so that it still stands in the queue
        given_up.cancel()
    await first.__aexit__(None, None, None)
    if not gives_up_first:  # the slot is its own, and its task has not run since
        given_up.cancel()
    await asyncio.wait_for(asyncio.gather(given_up, waiting, return_exceptions=True), timeout=5)
    assert given_up.cancelled()
    assert running.started == [A]
    assert is_empty(slots)


async def test_who_gives_up_in_the_lane_that_was_due_costs_nobody_a_slot() -> None:
    slots = build(origin_slots=1)
    running = Running(slots, ends_at_once=True)
    first = slots.hold(A, "a.test", NORMAL)
    await first.__aenter__()
    [idle, high] = running.start(priority=IDLE) + running.start(priority=HIGH, name="high")
    await settle()
    slots._origins[A]._passed[IDLE] = 99
    idle.cancel()
    await first.__aexit__(None, None, None)
    await asyncio.wait_for(asyncio.gather(idle, high, return_exceptions=True), timeout=5)
    assert running.started == ["high"]
    assert is_empty(slots)


async def test_a_hundred_thousand_that_wait_and_give_up_leave_memory_flat() -> None:
    slots = build(global_slots=1)
    keeper = slots.hold(A, "a.test", NORMAL)
    await keeper.__aenter__()
    tracemalloc.start()
    try:
        for number in range(100_000):
            slot = slots.hold(f"http://{number}.test", f"{number}.test", Priority(number % 4))
            slots.enter(slot)
            slots.leave(slot)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
    await keeper.__aexit__(None, None, None)
    assert is_empty(slots)


async def test_a_hundred_thousand_that_wait_all_start_in_order() -> None:
    slots = build(global_slots=1)
    keeper = slots.hold("http://keeper.test", "keeper.test", NORMAL)
    await keeper.__aenter__()
    held = [slots.hold(f"http://{n % 1000}.test", f"{n % 1000}.test", LOW) for n in range(100_000)]
    for slot in held:
        slots.enter(slot)
    await keeper.__aexit__(None, None, None)
    for slot in held:
        assert slot.origin is not None
        slots.leave(slot)
    assert is_empty(slots)


# ---- origins ----


async def test_an_origin_that_speaks_http2_may_be_asked_more_at_once_and_those_that_wait_are_woken() -> None:
    running = Running(build())
    first = running.slots.hold(A, "a.test", NORMAL)
    await first.__aenter__()
    tasks = running.start(A, 20)
    await settle()
    assert running.slots.running == 6
    first.note_answer("HTTP/2", 200, ())
    await settle()
    assert running.slots.running == 16
    first.note_answer("HTTP/1.1", 200, ())
    await first.__aexit__(None, None, None)
    await settle()
    assert (running.slots.running, running.slots.waiting) == (
        15,
        5,
    )  # none starts above the limit that holds now
    running.release.set()
    await asyncio.gather(*tasks)
    assert is_empty(running.slots)


@pytest.mark.parametrize(
    ("protocol", "most"), [("HTTP/1.0", 6), ("HTTP/1.1", 6), ("HTTP/2", 16), ("HTTP/3", 16)]
)
async def test_the_protocol_of_the_last_answer_decides_how_many_run(protocol: str, most: int) -> None:
    running = Running(build())
    tasks = running.start(A, 30)
    async with running.slots.hold(A, "a.test", NORMAL) as _:
        pass
    slot = running.slots.hold(A, "a.test", HIGH)
    await slot.__aenter__()
    slot.note_answer(protocol, 200, ())
    await settle()
    await slot.__aexit__(None, None, None)
    await settle()
    assert running.slots.running == most
    running.release.set()
    await asyncio.gather(*tasks)


async def test_a_refusal_by_http2_lets_nothing_start_although_the_origin_could_take_more() -> None:
    running = Running(build())
    first = running.slots.hold(A, "a.test", NORMAL)
    await first.__aenter__()
    tasks = running.start(A, 20)
    await settle()
    first.note_answer("HTTP/2", 429, (("Retry-After", "9"),))
    await settle()
    assert len(running.started) == 5
    for task in tasks:
        await give_up(task)


async def test_nothing_is_remembered_of_a_hundred_thousand_origins_that_have_gone() -> None:
    slots = build()
    tracemalloc.start()
    try:
        for number in range(100_000):
            async with slots.hold(f"http://{number}.test", f"{number}.test", NORMAL) as _:
                pass
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
    assert is_empty(slots)


# ---- hosts ----


async def test_starts_at_one_host_are_apart_by_the_delay_whatever_the_origin() -> None:
    clock = RingingClock()
    running = Running(build(clock, host_delay_seconds=2.0), ends_at_once=True)
    tasks = running.start("http://a.test") + running.start("https://a.test") + running.start("http://a.test")
    tasks += running.start(B)
    await settle()
    assert running.started == ["http://a.test", B]
    assert len(clock.timers) == 1
    clock.advance(1.9)
    await settle()
    assert len(running.started) == 2
    clock.advance(0.1)
    await settle()
    assert len(running.started) == 3
    clock.advance(2)
    await asyncio.gather(*tasks)
    assert (is_empty(running.slots), clock.timers) == (True, ())


async def refuse(slots: Scheduler, status: int, *headers: tuple[str, str], origin: str = A) -> None:
    slot = slots.hold(origin, host_of(origin), NORMAL)
    await slot.__aenter__()
    slot.note_answer("HTTP/1.1", status, headers)
    await slot.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, (("Retry-After", "30"),), 30),
        (503, (("retry-after", "7"),), 7),
        (429, (("Retry-After", "31536000"),), 120),
        (503, (), 1),
        (429, (("Retry-After", "soon"),), 1),
        (429, (("Retry-After", "Fri, 02 Jan 2026 03:04:25 GMT"),), 19.322),
    ],
)
async def test_a_host_that_refuses_is_left_alone_and_the_others_are_not(
    status: int, headers: tuple[tuple[str, str], ...], seconds: float
) -> None:
    clock = RingingClock()
    running = Running(build(clock), ends_at_once=True)
    await refuse(running.slots, status, *headers)
    tasks = running.start("http://a.test:8080") + running.start(A) + running.start(B)
    await settle()
    assert running.started == [B]
    [timer] = clock.timers
    assert timer.moment - clock.monotonic() == pytest.approx(seconds)
    clock.advance(seconds)
    await asyncio.gather(*tasks)
    assert (is_empty(running.slots), clock.timers) == (True, ())


@pytest.mark.parametrize("status", [200, 302, 404, 500, 502, 504])
async def test_other_answers_pause_nothing(status: int) -> None:
    running = Running(build(), ends_at_once=True)
    await refuse(running.slots, status, ("Retry-After", "30"))
    await asyncio.wait_for(asyncio.gather(*running.start(A)), timeout=5)


async def test_a_host_that_goes_on_refusing_is_asked_ever_more_seldom_until_it_answers() -> None:
    clock = RingingClock()
    slots = build(clock)
    start, waits = clock.monotonic(), []
    for status in (503, 503, 503, 200, 503):
        task = asyncio.create_task(refuse(slots, status))
        await settle()
        if not task.done():
            clock.advance(clock.timers[0].moment - clock.monotonic())
            await settle()
        waits.append(clock.monotonic() - start)
        await task
    assert waits == [0, 1, 3, 7, 7]
    task = asyncio.create_task(refuse(slots, 200))
    await settle()
    assert clock.timers[0].moment - clock.monotonic() == 1
    clock.advance(1)
    await task


async def test_high_does_not_break_into_a_pause_and_is_first_when_it_is_over() -> None:
    clock = RingingClock()
    running = Running(build(clock, origin_slots=1), ends_at_once=True)
    await refuse(running.slots, 429, ("Retry-After", "5"))
    tasks = running.start(priority=LOW, name="low") + running.start(priority=HIGH, name="high")
    clock.advance(4.9)
    await settle()
    assert running.started == []
    clock.advance(0.1)
    await asyncio.gather(*tasks)
    assert running.started == ["high", "low"]


async def test_a_pause_that_begins_while_requests_wait_for_a_slot_holds_for_them() -> None:
    clock = RingingClock()
    running = Running(build(clock, origin_slots=1), ends_at_once=True)
    slot = running.slots.hold(A, "a.test", NORMAL)
    await slot.__aenter__()
    tasks = running.start(A, 3)
    await settle()
    slot.note_answer("HTTP/1.1", 429, (("Retry-After", "9"),))
    await slot.__aexit__(None, None, None)
    await settle()
    assert (running.started, running.slots.running, len(clock.timers)) == ([], 0, 1)
    clock.advance(9)
    await asyncio.gather(*tasks)
    assert is_empty(running.slots)


async def test_a_pause_that_grows_while_requests_wait_for_its_end_holds_to_its_new_end() -> None:
    clock = RingingClock()
    running = Running(build(clock), ends_at_once=True)
    slot = running.slots.hold(A, "a.test", NORMAL)
    await slot.__aenter__()
    slot.note_answer("HTTP/1.1", 429, (("Retry-After", "5"),))
    tasks = running.start(A)
    await settle()
    slot.note_answer("HTTP/1.1", 429, (("Retry-After", "20"),))
    clock.advance(19)
    await settle()
    assert running.started == []
    clock.advance(1)
    await asyncio.gather(*tasks)
    await slot.__aexit__(None, None, None)


async def test_who_gives_up_during_a_pause_leaves_no_timer() -> None:
    clock = RingingClock()
    running = Running(build(clock))
    await refuse(running.slots, 429, ("Retry-After", "60"))
    tasks = running.start(A, 3)
    await settle()
    assert len(clock.timers) == 1
    for task in tasks:
        await give_up(task)
    assert (is_empty(running.slots), clock.timers) == (True, ())


async def test_a_paused_host_holds_no_global_slot() -> None:
    clock = RingingClock()
    running = Running(build(clock, global_slots=1), ends_at_once=True)
    await refuse(running.slots, 429, ("Retry-After", "60"))
    waiting = running.start(A, 50, HIGH)
    await settle()
    await asyncio.wait_for(asyncio.gather(*running.start(B, 50, IDLE)), timeout=5)
    clock.advance(60)
    await asyncio.gather(*waiting)
    assert Counter(running.started) == {A: 50, B: 50}


async def test_who_comes_after_a_pause_has_ended_need_not_wait() -> None:
    clock = RingingClock()
    running = Running(build(clock), ends_at_once=True)
    await refuse(running.slots, 429, ("Retry-After", "5"))
    clock.advance(5)
    slot = running.slots.hold(A, "a.test", NORMAL)
    assert not asyncio.iscoroutine(slot.__aenter__())


async def test_who_comes_after_the_moment_and_before_the_timer_stands_behind_those_that_waited() -> None:
    clock = RingingClock()
    late = RingingClock()  # a loop that is behind
    running = Running(
        Scheduler(SchedulerOptions(origin_slots=1), clock, call_later=late.call_later), ends_at_once=True
    )
    await refuse(running.slots, 429, ("Retry-After", "5"))
    tasks = running.start(name="early")
    await settle()
    clock.advance(6)
    tasks += running.start(name="after")
    await asyncio.wait_for(asyncio.gather(*tasks), timeout=5)
    assert running.started == ["early", "after"]
    assert late.timers == ()
