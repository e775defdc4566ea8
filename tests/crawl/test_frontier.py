from __future__ import annotations

import pytest

from mudroom.address import ExceptionScope
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry
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


def drain(frontier: Frontier) -> list[str]:
    taken = []
    while (next_entry := frontier.take(lambda _: 0)) is not None:
        taken.append(next_entry.url.partition("//")[2])
    return taken


def test_the_order_is_depth_then_parent_then_place_however_urls_arrive() -> None:
    frontier = Frontier(cap=10)
    for path, rank in (("d", (2, 3, 0)), ("c", (1, 2, 0)), ("b", (1, 1, 9)), ("a", (1, 1, 2))):
        frontier.add(entry(path, rank))
    assert drain(frontier) == ["a.example/a", "a.example/b", "a.example/c", "a.example/d"]


def test_a_key_enters_once_whether_it_waits_or_was_taken() -> None:
    frontier = Frontier(cap=10)
    assert frontier.add(entry("a", (0, 0, 0))) is Admission.QUEUED
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    drain(frontier)
    assert frontier.add(entry("a", (1, 1, 0))) is Admission.KNOWN
    assert len(frontier) == 0


def test_a_full_frontier_drops_and_takes_the_same_url_again_once_there_is_room() -> None:
    frontier = Frontier(cap=1)
    frontier.add(entry("a", (0, 0, 0)))
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.FULL
    drain(frontier)
    assert frontier.add(entry("b", (1, 1, 0))) is Admission.QUEUED


def test_hosts_that_may_not_be_asked_are_passed_over() -> None:
    frontier = Frontier(cap=10)
    frontier.add(entry("1", (1, 1, 0), "busy.example"))
    frontier.add(entry("2", (2, 2, 0), "idle.example"))
    busy = {"busy.example": None, "idle.example": 0}
    taken = frontier.take(busy.__getitem__)
    assert taken is not None
    assert taken.host == "idle.example"
    assert frontier.take(busy.__getitem__) is None
    assert drain(frontier) == ["busy.example/1"]


def test_the_host_with_the_fewest_open_requests_comes_first() -> None:
    frontier = Frontier(cap=10)
    for place, host in enumerate(("one.example", "two.example", "three.example")):
        frontier.add(entry("x", (1, 1, place), host))
    taken = frontier.take({"one.example": 3, "two.example": 1, "three.example": 2}.__getitem__)
    assert taken is not None
    assert taken.host == "two.example"


def test_a_claimed_url_is_taken_and_never_comes_up() -> None:
    frontier = Frontier(cap=10)
    for place, path in enumerate("abc"):
        frontier.add(entry(path, (1, 1, place)))
    assert frontier.claim("http://a.example/a")
    assert frontier.claim("http://a.example/b")
    assert len(frontier) == 1
    assert drain(frontier) == ["a.example/c"]


@pytest.mark.parametrize("is_taken_first", [True, False])
def test_a_key_is_claimed_once(is_taken_first: bool) -> None:
    frontier = Frontier(cap=10)
    frontier.add(entry("a", (1, 1, 0)))
    if is_taken_first:
        drain(frontier)
    else:
        assert frontier.claim("http://a.example/a")
    assert not frontier.claim("http://a.example/a")


def test_a_url_that_only_a_redirect_led_to_is_known_afterwards() -> None:
    frontier = Frontier(cap=10)
    assert frontier.claim("http://a.example/new")
    assert frontier.add(entry("new", (1, 1, 0))) is Admission.KNOWN


def test_a_frontier_whose_urls_are_all_claimed_is_empty() -> None:
    frontier = Frontier(cap=10)
    frontier.add(entry("a", (1, 1, 0)))
    frontier.claim("http://a.example/a")
    assert len(frontier) == 0
    assert frontier.take(lambda _: 0) is None
