from datetime import UTC, datetime

import pytest

from mudroom.testing.clocks import FixedClock


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
