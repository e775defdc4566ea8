"""Whatever is submitted, ended, given up, raised and answered, in whatever order: the scheduler's promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.fetch import Priority, Scheduler, SchedulerOptions
from mudroom.testing.clocks import RingingClock

ORIGINS = (("http://a.test", "a.test"), ("https://a.test", "a.test"), ("http://b.test", "b.test"))
OPTIONS = st.builds(
    SchedulerOptions,
    global_slots=st.integers(1, 5),
    origin_slots=st.integers(1, 3),
    http2_origin_slots=st.integers(1, 4),
    host_delay_seconds=st.sampled_from((0.0, 0.0, 2.0)),
    max_host_pause_seconds=st.sampled_from((0.0, 8.0)),
)
SUBMIT = st.tuples(st.just("submit"), st.sampled_from(ORIGINS), st.sampled_from(Priority))
STEP = st.one_of(
    SUBMIT,
    SUBMIT,
    SUBMIT,
    st.tuples(st.just("end"), st.integers(0, 50), st.none()),
    st.tuples(st.just("give up"), st.integers(0, 50), st.none()),
    st.tuples(st.just("raise"), st.integers(0, 50), st.sampled_from(Priority)),
    st.tuples(st.just("answer"), st.integers(0, 50), st.sampled_from(("HTTP/1.1", "HTTP/2"))),
    st.tuples(st.just("refuse"), st.integers(0, 50), st.sampled_from(("", "0", "5", "99"))),
    st.tuples(st.just("advance"), st.sampled_from((0.5, 2.0, 30.0)), st.none()),
)


class Model:
    """The scheduler, and what must be true of it after every step."""

    def __init__(self, options: SchedulerOptions) -> None:
        self.options = options
        self.clock = RingingClock()
        self.slots = Scheduler(options, self.clock, call_later=self.clock.call_later)
        self.live: list[Any] = []
        self.may_run: dict[str, float] = {}
        self.last_start: dict[str, float] = {}
        self.started: list[Any] = []

    def step(self, kind: str, which: Any, what: Any) -> None:
        if kind == "submit":
            slot = self.slots.hold(which[0], which[1], what)
            if not self.slots.start_at_once(slot):
                self.slots.enter(slot)
            self.live.append(slot)
        elif kind == "advance":
            self.advance(which)
        elif chosen := self.pick(running=kind in {"end", "answer", "refuse"}, which=which):
            self.act(kind, chosen, what)
        self.check()

    def advance(self, seconds: float) -> None:
        """Let time pass, and look after every timer."""
        end = self.clock.monotonic() + seconds
        while self.clock.timers and self.clock.timers[0].moment <= end:
            self.clock.advance(self.clock.timers[0].moment - self.clock.monotonic())
            self.check()
        self.clock.advance(end - self.clock.monotonic())

    def pick(self, *, running: bool, which: int) -> Any:
        slots = [slot for slot in self.live if (slot.origin is not None) is running]
        return slots[which % len(slots)] if slots else None

    def act(self, kind: str, slot: Any, what: Any) -> None:
        if kind in {"end", "give up"}:
            self.slots.leave(slot)
            self.slots.leave(slot)  # twice is once
            self.live.remove(slot)
        elif kind == "raise":
            slot.raise_priority(what)
        elif kind == "answer":
            slot.note_answer(what, 200, ())
        else:
            slot.note_answer("HTTP/1.1", 429, (("Retry-After", what),) if what else ())
            pause = min(float(what or 0), self.options.max_host_pause_seconds)
            now = self.clock.monotonic()
            self.may_run[slot.host] = max(self.may_run.get(slot.host, 0.0), now + pause)

    def check(self) -> None:
        running = [slot for slot in self.live if slot.origin is not None]
        waiting = [slot for slot in self.live if slot.origin is None]
        assert self.slots.running == len(running) <= self.options.global_slots
        assert self.slots.waiting == len(waiting)
        assert all(slot.turn is not None for slot in waiting)
        assert all(slot.turn is None for slot in running)
        assert self.slots.origins == len({slot.origin_name for slot in self.live})
        per_origin = Counter(slot.origin_name for slot in running)
        for slot in running:
            self.check_start(slot, per_origin[slot.origin_name])
        for slot in waiting:
            self.check_wait(slot, per_origin[slot.origin_name])
        assert len(self.clock.timers) <= 1

    def check_start(self, slot: Any, running_there: int) -> None:
        """A start was not before its host's pause had ended, nor too soon after the one before."""
        if any(slot is known for known in self.started):
            return
        self.started.append(slot)
        assert running_there <= self.slots._origins[slot.origin_name].limit
        now, delay = self.clock.monotonic(), self.options.host_delay_seconds
        assert now >= self.may_run.get(slot.host, 0.0)
        assert now >= self.last_start.get(slot.host, 0.0) + delay
        self.last_start[slot.host] = now

    def check_wait(self, slot: Any, running_there: int) -> None:
        """Who waits has a reason: no global slot, none of its origin's, or its host's moment has not come."""
        origin = self.slots._origins[slot.origin_name]
        is_paused = self.slots._times.next_start(slot.host) > self.slots._timetable.now()
        assert self.slots.running == self.options.global_slots or running_there >= origin.limit or is_paused


@settings(max_examples=300, deadline=None)
@given(options=OPTIONS, steps=st.lists(STEP, min_size=10, max_size=100))
def test_limits_hold_no_slot_is_lost_and_who_waits_has_a_reason(
    options: SchedulerOptions, steps: list[tuple[str, Any, Any]]
) -> None:
    model = Model(options)
    for step in steps:
        model.step(*step)
    for _ in range(10 * len(steps) + 10):  # nothing starves: all of it comes to run
        if not model.live:
            break
        if model.slots.running:
            model.step("end", 0, None)
        else:
            model.step("advance", 30.0, None)
    assert not model.live
    slots = model.slots
    assert (slots.running, slots.waiting, slots.origins, slots._lanes.offered) == (0, 0, 0, 0)
    assert (len(slots._timetable), model.clock.timers) == (0, ())


@settings(max_examples=25, deadline=None)
@given(
    rival=st.sampled_from((Priority.HIGH, Priority.NORMAL, Priority.LOW)),
    slots=st.integers(1, 3),
    others=st.lists(st.tuples(st.sampled_from(ORIGINS), st.sampled_from(Priority)), max_size=15),
)
def test_an_idle_request_starts_however_many_of_a_higher_priority_keep_coming(
    rival: Priority, slots: int, others: list[tuple[tuple[str, str], Priority]]
) -> None:
    model = Model(SchedulerOptions(global_slots=slots, origin_slots=1))
    for origin, priority in others:
        model.step("submit", origin, priority)
    model.step("submit", ORIGINS[0], Priority.IDLE)
    idle = model.live[-1]
    ends = 0
    while idle.origin is None:
        for origin in ORIGINS:
            model.step("submit", origin, rival)
        model.step("end", ends, None)
        ends += 1
        assert ends < 3 * (len(others) + 1) * 48
