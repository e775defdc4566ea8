from __future__ import annotations

from mudroom.crawl.manners import HostManners


def greeted(manners: HostManners, host: str, now: float = 0.0, delay: float = 0.0) -> None:
    manners.begin(host, now, delay)
    manners.end(host)


def test_a_host_that_was_never_asked_may_be_asked() -> None:
    assert HostManners(8, 4).count_open("a", 0.0) == 0


def test_a_host_is_asked_alone_until_its_first_answer() -> None:
    manners = HostManners(8, 4)
    manners.begin("a", 0.0, 0.0)
    assert manners.count_open("a", 0.0) is None
    manners.end("a")
    assert manners.count_open("a", 0.0) == 0


def test_the_number_of_open_requests_is_bounded_per_host() -> None:
    manners = HostManners(8, 2)
    greeted(manners, "a")
    manners.begin("a", 0.0, 0.0)
    assert manners.count_open("a", 0.0) == 1
    manners.begin("a", 0.0, 0.0)
    assert manners.count_open("a", 0.0) is None


def test_the_delay_counts_from_the_start_not_from_the_end() -> None:
    manners = HostManners(8, 4)
    greeted(manners, "a")
    manners.begin("a", 10.0, 2.0)
    assert manners.count_open("a", 11.9) is None
    assert manners.count_open("a", 12.0) == 1
    assert manners.next_moment(11.0) == 12.0


def test_one_slot_stays_free_once_there_are_other_hosts() -> None:
    manners = HostManners(4, 4)
    greeted(manners, "a")
    greeted(manners, "b")
    for _ in range(3):
        assert manners.count_open("a", 0.0) is not None
        manners.begin("a", 0.0, 0.0)
    assert manners.count_open("a", 0.0) is None


def test_a_single_slot_is_not_kept_free() -> None:
    manners = HostManners(1, 4)
    greeted(manners, "a")
    greeted(manners, "b")
    assert manners.count_open("a", 0.0) == 0


def test_a_redirect_books_the_next_start_of_its_host() -> None:
    manners = HostManners(8, 4)
    greeted(manners, "a", now=0.0, delay=5.0)
    assert manners.book_hop("a", 1.0, 5.0) == 5.0
    assert manners.book_hop("a", 1.0, 5.0) == 10.0
    assert manners.count_open("a", 14.9) is None
    assert manners.count_open("a", 15.0) == 0


def test_a_crawl_delay_counts_from_the_last_start() -> None:
    manners = HostManners(8, 4)
    greeted(manners, "a", now=100.0, delay=1.0)
    manners.set_crawl_delay("a", 10.0)
    assert manners.next_moment(100.0) == 110.0


def test_an_answer_forgets_the_refusals_before_it() -> None:
    manners = HostManners(8, 4)
    greeted(manners, "a")
    manners.note_refusal("a", 0.0, None)
    manners.note_answer("a")
    manners.note_refusal("a", 100.0, None)
    assert manners.next_moment(100.0) == 105.0


def test_pauses_never_grow_beyond_their_bound() -> None:
    manners = HostManners(8, 4)
    greeted(manners, "a")
    for _ in range(50):
        manners.note_refusal("a", 0.0, None)
    assert manners.next_moment(0.0) == 120.0


def test_idle_hosts_are_forgotten() -> None:
    manners = HostManners(8, 4)
    for number in range(5000):
        greeted(manners, f"host-{number}", now=float(number), delay=1.0)
    assert len(manners) < 600


def test_a_host_that_only_a_redirect_asks_is_remembered_until_that_has_ended() -> None:
    manners = HostManners(8, 4)
    manners.book_hop("b", 0.0, 0.0)
    for number in range(256):
        greeted(manners, f"host-{number}", now=1.0)
    manners.set_crawl_delay("b", 20.0)
    assert manners.count_open("b", 19.9) is None
    assert manners.count_open("b", 20.0) == 0
    manners.end_hop("b")
    for number in range(256):
        greeted(manners, f"host-{number}", now=21.0)
    assert len(manners) < 256


def test_a_host_of_which_nothing_is_known_can_still_ask_for_a_pause() -> None:
    manners = HostManners(8, 4)
    manners.note_answer("b")
    manners.set_crawl_delay("b", 20.0)
    manners.note_refusal("b", 0.0, 30.0)
    assert manners.next_moment(0.0) == 30.0
