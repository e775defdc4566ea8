from datetime import UTC, datetime

import pytest

from mudroom.testing.clocks import FixedClock, RingingClock


def test_both_readings_move_together_and_only_when_told() -> None:
    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC), monotonic_seconds=10)
    assert (clock.now(), clock.monotonic()) == (clock.now(), clock.monotonic())
    clock.advance(90.5)
    assert clock.now() == datetime(2026, 5, 1, 0, 1, 30, 500_000, tzinfo=UTC)
    assert clock.monotonic() == 100.5


def test_the_time_of_day_can_be_put_back_and_the_other_cannot() -> None:
    clock = FixedClock()
    before = clock.monotonic()
    clock.set_now(datetime(2000, 1, 1, tzinfo=UTC))
    assert (clock.now().year, clock.monotonic()) == (2000, before)
    with pytest.raises(ValueError, match="only grows"):
        clock.advance(-1)


def test_a_start_without_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        FixedClock(datetime(2026, 1, 1))  # noqa: DTZ001 - the fault under test


def test_a_ringing_clock_rings_timer_by_timer_while_it_is_moved() -> None:
    clock = RingingClock()
    rung: list[tuple[str, float]] = []
    start = clock.monotonic()

    def ring(name: str) -> None:
        rung.append((name, clock.monotonic() - start))
        if name == "first":
            clock.call_later(1, lambda: ring("its child"))

    clock.call_later(3, lambda: ring("third"))
    clock.call_later(1, lambda: ring("first"))
    clock.call_later(1, lambda: ring("given up")).cancel()
    assert [timer.moment - start for timer in clock.timers] == [1, 3]
    clock.advance(2.5)
    assert rung == [("first", 1), ("its child", 2)]
    assert clock.monotonic() - start == 2.5
    clock.advance(0.5)
    assert rung[-1] == ("third", 3)
    assert clock.timers == ()
