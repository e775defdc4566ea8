"""What every frontier promises, run on each that we ship."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.address import ExceptionScope, parse_url
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry, FrontierShelf, Recorded
from mudroom.crawl.memory_frontier import MemoryShelf
from mudroom.crawl.shelf import SqliteShelf
from mudroom.model import Hop, Initiator, Link

RUN = "crawl_01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(params=["memory", "sqlite"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> FrontierShelf:
    return MemoryShelf() if request.param == "memory" else SqliteShelf(tmp_path / "private" / "frontier")


@pytest.fixture
def make(shelf: FrontierShelf) -> Callable[[int], Frontier]:
    return lambda cap: shelf.create(RUN, cap)


def entry(path: str, rank: tuple[int, int, int], host: str = "a.example") -> FrontierEntry:
    url = f"http://{host}/{path}"
    return FrontierEntry(
        url=url,
        key=url,
        host=host,
        origin=f"http://{host}",
        depth=rank[0],
        parent=rank[1],
        place=rank[2],
        initiator=Initiator.PAGE,
        scope=ExceptionScope.none(),
    )


def drain(frontier: Frontier) -> list[str]:
    taken = []
    while (next_entry := frontier.take(lambda _: 0)) is not None:
        taken.append(next_entry.url.partition("//")[2])
    return taken


def test_the_order_is_depth_then_parent_then_place_however_urls_arrive(
    make: Callable[[int], Frontier],
) -> None:
    frontier = make(10)
    for path, rank in (("d", (2, 3, 0)), ("c", (1, 2, 0)), ("b", (1, 1, 9)), ("a", (1, 1, 2))):
        frontier.add(entry(path, rank))
    assert drain(frontier) == ["a.example/a", "a.example/b", "a.example/c", "a.example/d"]


def test_many_more_than_a_window_holds_come_in_order(make: Callable[[int], Frontier]) -> None:
    frontier = make(10_000)
    for place in range(0, 500, 2):
        frontier.add(entry(f"{place:03}", (1, 1, place)))
    first = [frontier.take(lambda _: 0) for _ in range(20)]
    for place in range(499, 0, -2):
        frontier.add(entry(f"{place:03}", (1, 1, place)))
    names = [each.url[-3:] for each in first if each] + [url[-3:] for url in drain(frontier)]
    assert names == [f"{n:03}" for n in range(0, 40, 2)] + sorted(
        f"{n:03}" for n in range(500) if n % 2 or n >= 40
    )


def test_a_higher_score_comes_before_a_smaller_depth(make: Callable[[int], Frontier]) -> None:
    frontier = make(10)
    scores = {
        "dear": 0.5,
        "plain": 0.0,
        "dull": -1.0,
        "dullest": -1e300,
        "dearest": 1e-3 + 0.5,
        "minus": -0.0,
    }
    for place, (path, score) in enumerate(scores.items()):
        frontier.add(replace(entry(path, (5, 9, place)), score=score))
    assert [url.partition("/")[2] for url in drain(frontier)] == [
        "dearest", "dear", "plain", "minus", "dull", "dullest",
    ]  # fmt: skip


def test_a_key_enters_once_whether_it_waits_or_was_taken(make: Callable[[int], Frontier]) -> None:
    frontier = make(10)
    assert frontier.add(entry("a", (0, 0, 0))) is Admission.QUEUED
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    drain(frontier)
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    assert len(frontier) == 0


def test_a_full_frontier_takes_the_same_url_again_once_a_page_was_taken_in(
    make: Callable[[int], Frontier],
) -> None:
    frontier = make(1)
    frontier.add(entry("a", (0, 0, 0)))
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.FULL
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    drain(frontier)
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.FULL
    frontier.release(1)
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.QUEUED


def test_pages_are_numbered_as_they_are_taken(make: Callable[[int], Frontier]) -> None:
    frontier = make(10)
    for place, path in enumerate("abcd"):
        frontier.add(entry(path, (1, 1, place)))
    taken = [
        frontier.take(lambda _: 0),
        frontier.take_key("http://a.example/c", 7),
        frontier.take(lambda _: 0),
    ]
    assert [(each.url[-1], each.number) for each in taken if each] == [("a", 1), ("c", 7), ("b", 8)]
    assert frontier.take_key("http://a.example/c", 9) is None
    assert drain(frontier) == ["a.example/d"]


def test_hosts_that_may_not_be_asked_are_passed_over_and_the_idlest_comes_first(
    make: Callable[[int], Frontier],
) -> None:
    frontier = make(10)
    for place, host in enumerate(("one.example", "two.example", "three.example", "shut.example")):
        frontier.add(entry("x", (1, 1, place), host))
    requests = {"one.example": 3, "two.example": 1, "three.example": 2, "shut.example": None}
    taken = []
    while (each := frontier.take(requests.__getitem__)) is not None:
        taken.append(each.host)
    assert taken == ["two.example", "three.example", "one.example"]
    assert len(frontier) == 1


def test_a_key_is_claimed_only_where_nobody_knew_it(make: Callable[[int], Frontier]) -> None:
    frontier = make(10)
    frontier.add(replace(entry("a", (1, 1, 0)), key="http://a.example/A"))
    assert not frontier.claim("http://a.example/A")
    assert frontier.find_spelling("http://a.example/A") == "http://a.example/a"
    assert frontier.claim("http://a.example/new")
    assert not frontier.claim("http://a.example/new")
    assert frontier.find_spelling("http://a.example/new") is None
    assert frontier.add(entry("new", (1, 1, 0))) is Admission.KNOWN
    assert drain(frontier) == ["a.example/a"]


def test_the_first_page_of_a_content_is_told(make: Callable[[int], Frontier]) -> None:
    frontier = make(10)
    assert frontier.find_twin(b"x" * 16, 3) is None
    assert frontier.find_twin(b"x" * 16, 3) is None
    assert frontier.find_twin(b"x" * 16, 5) == 3
    assert frontier.find_twin(b"y" * 16, 5) is None


def recorded(*numbers: int) -> list[Recorded]:
    return [
        Recorded(number=number, url=f"http://a.example/{number}", depth=1, has_links=True)
        for number in numbers
    ]


def begin(shelf: FrontierShelf) -> Frontier:
    """Pages 1 to 5 started: 1 taken in, 2 and 4 ended, 3 and 5 on their way; 6 and 7 wait."""
    frontier = shelf.create(RUN, 100)
    for number in range(1, 8):
        frontier.add(entry(str(number), (1, 0, number)))
    for _ in range(5):
        frontier.take(lambda _: 0)
    for number in (1, 2, 4):
        frontier.hold(page(number))
    frontier.release(1)
    frontier.note("discovered", "7")
    frontier.commit()
    return frontier


def page(number: int) -> EndedPage:
    return EndedPage(
        number=number,
        depth=1,
        url=f"http://a.example/{number}",
        retries=("DNS_FAILURE",),
        final_url=f"http://a.example/{number}/",
        sha256="ab" * 32,
        links=(Link(untrusted_href="x\u2028?", is_nofollow=True), Link(untrusted_href="/y")),
        base=parse_url(f"http://a.example/{number}/"),
        link_scope=ExceptionScope.of("http://127.0.0.1:8000"),
        hops=(Hop(url="http://a.example/", address="", status=0, protocol="", exception="10.0.0.0/8"),),
    )


def test_what_was_started_and_not_recorded_comes_first_again_under_its_number(shelf: FrontierShelf) -> None:
    begin(shelf).close(keeps=True)
    again = shelf.reopen(RUN, 100)
    assert again is not None
    left = again.restore(recorded(1, 2, 4))
    assert left.line == ((2, page(2)), (3, None), (4, page(4)), (5, None))
    assert left.lost == 0
    assert left.notes["discovered"] == "7"
    assert len(again) == 4
    taken = []
    while (each := again.take(lambda _: 0)) is not None:
        taken.append((each.number, each.url[-1]))
    assert taken == [(3, "3"), (5, "5"), (6, "6"), (7, "7")]


def test_an_ended_page_that_the_run_has_not_recorded_is_tried_again(shelf: FrontierShelf) -> None:
    begin(shelf).close(keeps=True)
    again = shelf.reopen(RUN, 100)
    assert again is not None
    left = again.restore(recorded(1, 2))
    assert [(number, ended is None) for number, ended in left.line] == [
        (2, False), (3, True), (4, True), (5, True),
    ]  # fmt: skip


def test_a_crawl_goes_on_twice(shelf: FrontierShelf) -> None:
    begin(shelf).close(keeps=True)
    for done in ((1, 2, 4), (1, 2, 3, 4)):
        again = shelf.reopen(RUN, 100)
        assert again is not None
        left = again.restore(recorded(*done))
        first = again.take(lambda _: 0)
        assert first is not None
        if first.number == 3:
            again.hold(page(3))
        again.close(keeps=True)
    assert [number for number, ended in left.line if ended is None] == [5]
    assert first.number == 5


def test_what_is_not_kept_is_gone(shelf: FrontierShelf) -> None:
    begin(shelf).close(keeps=False)
    again = shelf.reopen(RUN, 100)
    assert again is None or len(again) == 0
