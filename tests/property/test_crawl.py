from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.address import ExceptionScope
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry
from mudroom.crawl.memory_frontier import MemoryFrontier
from mudroom.crawl.shelf import SqliteShelf
from mudroom.model import Initiator

HOSTS = ("a.example", "b.example", "c.example")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "claim", "take", "take none of a", "release")),
        st.sampled_from(HOSTS),
        st.integers(min_value=0, max_value=6),
        st.integers(min_value=0, max_value=3),
    ),
    max_size=60,
)


def make_entry(host: str, path: int, depth: int, place: int) -> FrontierEntry:
    url = f"http://{host}/{path}"
    return FrontierEntry(
        url=url,
        key=url,
        host=host,
        origin=f"http://{host}",
        depth=depth,
        parent=0,
        place=place,
        initiator=Initiator.PAGE,
        scope=ExceptionScope.none(),
    )


@settings(max_examples=120, deadline=None)
@given(steps=STEPS, cap=st.integers(min_value=1, max_value=8))
def test_whatever_comes_each_url_is_taken_once_in_order_of_its_host(
    steps: list[tuple[str, str, int, int]], cap: int
) -> None:
    check(steps, cap, MemoryFrontier(cap))


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, cap=st.integers(min_value=1, max_value=8))
def test_a_frontier_on_disk_does_as_one_in_memory(steps: list[tuple[str, str, int, int]], cap: int) -> None:
    with TemporaryDirectory() as folder:
        frontier = SqliteShelf(Path(folder)).create("crawl_x", cap)
        check(steps, cap, frontier)
        frontier.close(keeps=False)


def check(steps: list[tuple[str, str, int, int]], cap: int, frontier: Frontier) -> None:
    waiting: dict[str, FrontierEntry] = {}
    open_numbers: list[int] = []
    gone: set[str] = set()
    for place, (step, host, path, depth) in enumerate(steps):
        entry = make_entry(host, path, depth, place)
        if step == "add":
            known = entry.key in waiting or entry.key in gone
            is_full = len(waiting) + len(open_numbers) >= cap
            expected = Admission.KNOWN if known else Admission.FULL if is_full else Admission.QUEUED
            assert frontier.add(entry) is expected
            if expected is Admission.QUEUED:
                waiting[entry.key] = entry
        elif step == "claim":
            is_new = entry.key not in waiting and entry.key not in gone
            assert frontier.claim(entry.key) is is_new
            if is_new:
                gone.add(entry.key)
        elif step == "release":
            if open_numbers:
                frontier.release(open_numbers.pop())
        else:
            closed = "a.example" if step != "take" else ""
            taken = frontier.take({name: None if name == closed else 0 for name in HOSTS}.__getitem__)
            open_entries = [item for item in waiting.values() if item.host != closed]
            if taken is None:
                assert not open_entries
            else:
                assert taken.rank == min(item.rank for item in open_entries)
                gone.add(waiting.pop(taken.key).key)
                open_numbers.append(taken.number)
        assert len(frontier) == len(waiting)
