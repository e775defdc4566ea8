import tracemalloc

import pytest

from mudroom.fetch.hosts import HostTimes

A = "a.test"
T = 1000.0


def times(delay: float = 0.0, most: float = 120.0) -> HostTimes:
    return HostTimes(delay_seconds=delay, max_pause_seconds=most)


def test_a_host_that_nothing_is_known_of_may_be_asked_at_any_moment() -> None:
    assert times().next_start(A) < 0


def test_starts_are_apart_by_the_delay_and_nothing_is_noted_without_one() -> None:
    polite, other = times(delay=2.0), times()
    polite.book(A, T)
    other.book(A, T)
    assert polite.next_start(A) == T + 2.0
    assert not other.hosts


@pytest.mark.parametrize(
    ("asked", "pause"), [(0.0, 0.0), (30.0, 30.0), (120.0, 120.0), (1e9, 120.0), (-5.0, 0.0)]
)
def test_a_host_is_left_alone_as_long_as_it_asks_within_bounds(asked: float, pause: float) -> None:
    hosts = times()
    hosts.note_refusal(A, T, asked)
    assert hosts.next_start(A) == T + pause


def test_pauses_double_while_a_host_goes_on_refusing_and_are_bounded() -> None:
    hosts, now, pauses = times(most=20.0), T, []
    for _ in range(8):
        hosts.note_refusal(A, now, None)
        pauses.append(hosts.next_start(A) - now)
        now = hosts.next_start(A)
    assert pauses == [1, 2, 4, 8, 16, 20, 20, 20]


def test_refusals_that_never_end_overflow_nothing() -> None:
    hosts, now = times(), T
    for _ in range(3000):
        hosts.note_refusal(A, now, None)
        now = hosts.next_start(A)
    assert hosts.next_start(A) == now


def test_requests_that_were_refused_together_count_as_one_refusal() -> None:
    hosts = times()
    for _ in range(6):
        hosts.note_refusal(A, T, None)
    assert hosts.next_start(A) == T + 1
    hosts.note_refusal(A, T, 50.0)
    hosts.note_refusal(A, T, 10.0)
    assert hosts.next_start(A) == T + 50


def test_a_host_that_answers_again_starts_anew_and_is_forgotten() -> None:
    hosts = times()
    hosts.note_refusal(A, T, None)
    hosts.note_refusal(A, T + 1, None)
    hosts.note_answer(A, T + 2)  # asked before the pause: it says nothing of what comes after
    assert hosts.next_start(A) == T + 3
    hosts.note_answer(A, T + 3)
    assert not hosts.hosts
    hosts.note_refusal(A, T + 4, None)
    assert hosts.next_start(A) == T + 5


def test_a_pause_of_one_host_is_none_of_another() -> None:
    hosts = times()
    hosts.note_refusal(A, T, 30.0)
    assert hosts.next_start("b.test") < 0


def test_of_too_many_hosts_the_one_met_longest_ago_is_forgotten_first() -> None:
    hosts = times()
    for number in range(4096):
        hosts.note_refusal(f"{number}.test", T, 60.0)
    hosts.note_refusal("0.test", T, 61.0)
    hosts.note_refusal("one more.test", T, 60.0)
    assert [hosts.next_start(f"{number}.test") > T for number in range(3)] == [True, False, True]


def test_a_hundred_thousand_hosts_leave_memory_flat() -> None:
    refusing, polite = times(), times(delay=1.0)
    tracemalloc.start()
    try:
        for number in range(100_000):
            refusing.note_refusal(f"{number}.test", T + number / 1000, None)
            polite.book(f"{number}.test", T + number / 1000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(refusing.hosts) <= 4096
    assert len(polite.hosts) <= 1001
    assert kept < 2_000_000  # all of them would take forty
    assert refusing.next_start("99999.test") == T + 99.999 + 1
