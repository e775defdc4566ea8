import gc
import weakref

from mudroom.fetch.heap import RevocableHeap


class Thing:
    """Something to be held."""


def test_items_come_out_by_their_keys() -> None:
    heap: RevocableHeap[str] = RevocableHeap()
    for key in (3, 1, 2):
        heap.push(key, f"item {key}")
    assert heap.first_key() == 1
    assert [heap.pop() for _ in range(4)] == ["item 1", "item 2", "item 3", None]
    assert heap.first_key() is None


def test_what_was_taken_back_does_not_come_out() -> None:
    heap: RevocableHeap[int] = RevocableHeap()
    entries = [heap.push(key, key) for key in range(10)]
    for key in (0, 1, 5, 9):
        heap.revoke(entries[key])
    assert heap.first_key() == 2
    assert [heap.pop() for _ in range(7)] == [2, 3, 4, 6, 7, 8, None]


def test_what_was_taken_back_is_let_go_at_once() -> None:
    heap: RevocableHeap[Thing] = RevocableHeap()
    thing = Thing()
    held = weakref.ref(thing)
    entry = heap.push(1, thing)
    heap.revoke(entry)
    del thing, entry
    gc.collect()
    assert held() is None


def test_entries_that_were_taken_back_are_swept_out_although_nothing_is_popped() -> None:
    heap: RevocableHeap[int] = RevocableHeap()
    heap.push(-1, -1)
    for key in range(100_000):
        heap.revoke(heap.push(key, key))
    assert len(heap._entries) < 200
    assert heap.pop() == -1
    assert heap.pop() is None
