from collections import Counter

import pytest

from mudroom.fetch import Priority
from mudroom.fetch.lanes import CYCLE, Lanes

HIGH, NORMAL, LOW, IDLE = Priority
TURNS = (*(8 * [HIGH]), *(4 * [NORMAL]), *(2 * [LOW]), IDLE)


def yes(_: object) -> bool:
    return True


def fill(*waiting: Priority) -> Lanes[Priority]:
    lanes: Lanes[Priority] = Lanes()
    for number, priority in enumerate(waiting):
        lanes.offer(priority, number, priority)
    return lanes


def test_a_cycle_has_fifteen_turns_of_eight_four_two_and_one() -> None:
    assert tuple(order[0] for order in CYCLE) == TURNS


@pytest.mark.parametrize(
    ("preferred", "order"),
    [
        (HIGH, (HIGH, NORMAL, LOW, IDLE)),
        (NORMAL, (NORMAL, HIGH, LOW, IDLE)),
        (LOW, (LOW, NORMAL, HIGH, IDLE)),
        (IDLE, (IDLE, LOW, NORMAL, HIGH)),
    ],
)
def test_a_turn_falls_through_in_an_order_of_its_own(
    preferred: Priority, order: tuple[Priority, ...]
) -> None:
    turn = TURNS.index(preferred)
    for first, waiting in enumerate(order):
        lanes = fill(*(HIGH for _ in range(turn)))
        for _ in range(turn):
            lanes.choose(yes)
        for number, priority in enumerate(order[first:]):
            lanes.offer(priority, 100 + number, priority)
        assert lanes.choose(yes) is waiting


def test_of_one_waiting_in_each_lane_the_highest_goes_first() -> None:
    lanes = fill(IDLE, LOW, NORMAL, HIGH)
    assert [lanes.choose(yes) for _ in range(5)] == [HIGH, NORMAL, LOW, IDLE, None]


def test_under_load_each_lane_has_its_share_of_every_cycle() -> None:
    lanes = fill(*(priority for _ in range(60) for priority in Priority))
    for _ in range(4):
        assert Counter(lanes.choose(yes) for _ in range(15)) == {HIGH: 8, NORMAL: 4, LOW: 2, IDLE: 1}


def test_a_lane_is_first_in_first_out() -> None:
    lanes: Lanes[int] = Lanes()
    for number in (3, 1, 2):
        lanes.offer(LOW, number, number)
    assert [lanes.choose(yes) for _ in range(3)] == [1, 2, 3]


def test_no_turn_is_spent_on_nothing() -> None:
    lanes: Lanes[Priority] = Lanes()
    for _ in range(14):
        assert lanes.choose(yes) is None
    lanes = fill(IDLE, HIGH)
    assert lanes.choose(yes) is HIGH


def test_what_may_not_start_is_put_out_and_costs_no_turn() -> None:
    lanes = fill(*(HIGH for _ in range(20)), LOW)
    assert lanes.choose(lambda priority: priority is LOW) is LOW
    assert (lanes.offered, lanes._turn) == (0, 1)


def test_what_was_withdrawn_is_not_chosen() -> None:
    lanes = fill(LOW)
    lanes.withdraw(HIGH, lanes.offer(HIGH, 7, HIGH))
    assert lanes.offered == 1
    assert [lanes.choose(yes), lanes.choose(yes)] == [LOW, None]


def test_a_cycle_that_was_rewound_begins_with_high() -> None:
    lanes = fill(*(HIGH for _ in range(14)), IDLE, HIGH)
    for _ in range(14):
        lanes.choose(yes)
    lanes.rewind()
    assert lanes.choose(yes) is HIGH
