from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.address import ExceptionScope
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry
from mudroom.model import Initiator

HOSTS = ("a.example", "b.example", "c.example")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "claim", "take", "take none of a")),
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


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, cap=st.integers(min_value=1, max_value=8))
def test_whatever_comes_each_url_is_taken_once_in_order_of_its_host(
    steps: list[tuple[str, str, int, int]], cap: int
) -> None:
    frontier = Frontier(cap)
    waiting: dict[str, FrontierEntry] = {}
    gone: set[str] = set()
    for place, (step, host, path, depth) in enumerate(steps):
        entry = make_entry(host, path, depth, place)
        if step == "add":
            known = entry.key in waiting or entry.key in gone
            expected = (
                Admission.KNOWN if known else Admission.FULL if len(waiting) >= cap else Admission.QUEUED
            )
            assert frontier.add(entry) is expected
            if expected is Admission.QUEUED:
                waiting[entry.key] = entry
        elif step == "claim":
            assert frontier.claim(entry.key) is (entry.key not in gone)
            waiting.pop(entry.key, None)
            gone.add(entry.key)
        else:
            closed = "a.example" if step != "take" else ""
            taken = frontier.take({name: None if name == closed else 0 for name in HOSTS}.__getitem__)
            open_entries = [item for item in waiting.values() if item.host != closed]
            if taken is None:
                assert not open_entries
            else:
                assert taken.rank == min(item.rank for item in open_entries)
                gone.add(waiting.pop(taken.key).key)
        assert len(frontier) == len(waiting)
