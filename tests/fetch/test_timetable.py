from collections.abc import Iterable

from mudroom.fetch.timetable import Timetable
from mudroom.testing.clocks import FixedClock, RingingClock


def build() -> tuple[RingingClock, list[str], Timetable[str]]:
    clock, due = RingingClock(), list[str]()

    def take(items: Iterable[str]) -> None:
        due.extend(sorted(items))

    return clock, due, Timetable(clock, take, call_later=clock.call_later)


def test_items_are_handed_over_when_their_moment_has_come_by_one_timer() -> None:
    clock, due, table = build()
    start = clock.monotonic()
    for name, seconds, item in (("b", 5, "b1"), ("a", 2, "a1"), ("a", 2, "a2"), ("c", 9, "c1")):
        table.add(name, start + seconds, item)
    assert [timer.moment for timer in clock.timers] == [start + 2]
    clock.advance(1.9)
    assert due == []
    clock.advance(0.1)
    assert due == ["a1", "a2"]
    assert [timer.moment for timer in clock.timers] == [start + 5]
    clock.advance(10)
    assert due == ["a1", "a2", "b1", "c1"]
    assert (len(table), clock.timers) == (0, ())


def test_an_earlier_moment_moves_the_timer_forward() -> None:
    clock, due, table = build()
    table.add("late", clock.monotonic() + 50, "late")
    table.add("soon", clock.monotonic() + 1, "soon")
    clock.advance(1)
    assert due == ["soon"]
    assert len(clock.timers) == 1


def test_what_is_removed_is_not_handed_over_and_leaves_no_timer() -> None:
    clock, due, table = build()
    table.add("a", clock.monotonic() + 1, "a1")
    table.add("a", clock.monotonic() + 1, "a2")
    table.remove("a", "a1")
    assert len(table) == 1
    table.remove("a", "a2")
    table.remove("a", "a2")
    table.remove("b", "b1")
    assert (len(table), clock.timers) == (0, ())
    clock.advance(5)
    assert due == []


def test_a_timer_that_rings_before_its_clock_has_come_as_far_is_believed() -> None:
    timers, clock, due = RingingClock(), FixedClock(), list[str]()
    table: Timetable[str] = Timetable(clock, due.extend, call_later=timers.call_later)
    table.add("a", clock.monotonic() + 3, "a1")
    timers.advance(3)
    assert due == ["a1"]
    assert table.now() == clock.monotonic() + 3


def test_what_is_added_while_the_timer_rings_waits_for_its_own_moment() -> None:
    clock = RingingClock()
    due: list[str] = []

    def take(items: Iterable[str]) -> None:
        due.extend(items)
        if len(due) == 1:
            table.add("a", clock.monotonic() + 2, "again")

    table: Timetable[str] = Timetable(clock, take, call_later=clock.call_later)
    table.add("a", clock.monotonic() + 1, "first")
    clock.advance(2)
    assert due == ["first"]
    clock.advance(1)
    assert due == ["first", "again"]
