"""A heap whose entries can be taken back, without a search and without leaving anything behind."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

__all__ = ["Entry", "RevocableHeap"]

T = TypeVar("T")

Entry = list[Any]
"""A key, and its item until the entry is taken back. Keys differ, so that items are never compared."""

_MIN_REVOKED = 64


class RevocableHeap(Generic[T]):
    """Items by their keys, the smallest first.

    An entry that is taken back lets go of its item at once and is swept out with others when it is one
    of more than half: a push, a pop and a revocation cost O(log n), taken together.
    """

    __slots__ = ("_entries", "_revoked")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._revoked = 0

    def push(self, key: Any, item: T) -> Entry:
        """Add an item; the entry is the receipt by which it can be taken back."""
        entry: Entry = [key, item]
        heappush(self._entries, entry)
        return entry

    def revoke(self, entry: Entry) -> None:
        """Take back an entry that has not been popped."""
        entry[1] = None
        self._revoked += 1
        if self._revoked > _MIN_REVOKED and self._revoked * 2 > len(self._entries):
            self._entries = [kept for kept in self._entries if kept[1] is not None]
            heapify(self._entries)
            self._revoked = 0

    def first_key(self) -> Any:
        """The smallest key, or None."""
        entries = self._entries
        while entries and entries[0][1] is None:
            heappop(entries)
            self._revoked -= 1
        return entries[0][0] if entries else None

    def pop(self) -> T | None:
        """The item of the smallest key, taken out; None when there is none."""
        entries = self._entries
        while entries:
            item: T | None = heappop(entries)[1]
            if item is not None:
                return item
            self._revoked -= 1
        return None
