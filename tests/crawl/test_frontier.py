from __future__ import annotations

from dataclasses import replace

import pytest

from mudroom.address import ExceptionScope
from mudroom.crawl.frontier import Admission, FrontierEntry
from mudroom.crawl.memory_frontier import MemoryFrontier
from mudroom.model import Initiator


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


def drain(frontier: MemoryFrontier) -> list[str]:
    taken = []
    while (next_entry := frontier.take(lambda _: 0)) is not None:
        taken.append(next_entry.url.partition("//")[2])
    return taken


def test_the_order_is_depth_then_parent_then_place_however_urls_arrive() -> None:
    frontier = MemoryFrontier(cap=10)
    for path, rank in (("d", (2, 3, 0)), ("c", (1, 2, 0)), ("b", (1, 1, 9)), ("a", (1, 1, 2))):
        frontier.add(entry(path, rank))
    assert drain(frontier) == ["a.example/a", "a.example/b", "a.example/c", "a.example/d"]


def test_a_key_enters_once_whether_it_waits_or_was_taken() -> None:
    frontier = MemoryFrontier(cap=10)
    assert frontier.add(entry("a", (0, 0, 0))) is Admission.QUEUED
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    drain(frontier)
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    assert len(frontier) == 0


def test_a_full_frontier_drops_and_takes_the_same_url_again_once_a_page_was_taken_in() -> None:
    frontier = MemoryFrontier(cap=1)
    frontier.add(entry("a", (0, 0, 0)))
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.FULL
    drain(frontier)
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.FULL
    frontier.release(1)
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.QUEUED


def test_pages_are_numbered_as_they_are_taken() -> None:
    frontier = MemoryFrontier(cap=10)
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


def test_a_higher_score_comes_before_a_smaller_depth() -> None:
    frontier = MemoryFrontier(cap=10)
    frontier.add(entry("near", (1, 1, 0)))
    frontier.add(replace(entry("dear", (5, 9, 0)), score=0.5))
    frontier.add(replace(entry("dull", (1, 1, 1)), score=-1.0))
    assert drain(frontier) == ["a.example/dear", "a.example/near", "a.example/dull"]


def test_hosts_that_may_not_be_asked_are_passed_over() -> None:
    frontier = MemoryFrontier(cap=10)
    frontier.add(entry("1", (1, 1, 0), "busy.example"))
    frontier.add(entry("2", (2, 2, 0), "idle.example"))
    busy = {"busy.example": None, "idle.example": 0}
    taken = frontier.take(busy.__getitem__)
    assert taken is not None
    assert taken.host == "idle.example"
    assert frontier.take(busy.__getitem__) is None
    assert drain(frontier) == ["busy.example/1"]


def test_the_host_with_the_fewest_open_requests_comes_first() -> None:
    frontier = MemoryFrontier(cap=10)
    for place, host in enumerate(("one.example", "two.example", "three.example")):
        frontier.add(entry("x", (1, 1, place), host))
    taken = frontier.take({"one.example": 3, "two.example": 1, "three.example": 2}.__getitem__)
    assert taken is not None
    assert taken.host == "two.example"


@pytest.mark.parametrize("is_taken_first", [True, False])
def test_a_key_that_waits_or_was_taken_cannot_be_claimed(is_taken_first: bool) -> None:
    frontier = MemoryFrontier(cap=10)
    frontier.add(entry("a", (1, 1, 0)))
    if is_taken_first:
        drain(frontier)
    assert not frontier.claim("http://a.example/a")


def test_a_url_that_only_a_redirect_led_to_is_claimed_once_and_known_afterwards() -> None:
    frontier = MemoryFrontier(cap=10)
    assert frontier.claim("http://a.example/new")
    assert not frontier.claim("http://a.example/new")
    assert frontier.find_spelling("http://a.example/new") is None
    assert frontier.add(entry("new", (1, 1, 0))) is Admission.KNOWN
    assert frontier.take(lambda _: 0) is None
