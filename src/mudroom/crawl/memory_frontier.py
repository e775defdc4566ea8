"""The frontier in memory: for crawls whose record is in memory too."""

from __future__ import annotations

import heapq
from dataclasses import replace

from mudroom.crawl.frontier import Admission, CountOpen, FrontierEntry, Rank

__all__ = ["MemoryFrontier"]


class MemoryFrontier:
    """A heap of URLs per host, and one of hosts.

    Cost: O(log n) to add; O(log n + hosts that may not be asked now) to take.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._known: set[str] = set()
        self._waiting: dict[str, FrontierEntry] = {}
        self._open: set[int] = set()
        """Numbers of pages that were taken and not yet taken in."""
        self._queues: dict[str, list[tuple[Rank, str]]] = {}
        """Per host a heap; the key settles which of two equal ranks comes first."""
        self._heads: list[tuple[Rank, str]] = []
        """Hosts by the rank of their first URL; what is out of date is dropped when it comes up."""
        self._last_number = 0

    def __len__(self) -> int:
        """How many URLs wait."""
        return len(self._waiting)

    def knows(self, key: str) -> bool:
        """Whether the key entered before."""
        return key in self._known

    def add(self, entry: FrontierEntry) -> Admission:
        """Queue a URL, unless its key was there before or the queue is full."""
        if entry.key in self._known:
            return Admission.KNOWN
        if len(self._waiting) + len(self._open) >= self._cap:
            return Admission.FULL
        self._known.add(entry.key)
        self._waiting[entry.key] = entry
        queue = self._queues.setdefault(entry.host, [])
        heapq.heappush(queue, (entry.rank, entry.key))
        if queue[0][1] == entry.key:
            heapq.heappush(self._heads, (entry.rank, entry.host))
        return Admission.QUEUED

    def claim(self, key: str) -> bool:
        """Whether a page that a redirect led to this key may have it."""
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def take(self, count_open: CountOpen) -> FrontierEntry | None:
        """The next URL with its number, or None when no host that has one may be asked now."""
        passed: list[tuple[Rank, str]] = []
        chosen: str | None = None
        fewest = -1
        while self._heads:
            rank, host = heapq.heappop(self._heads)
            if not self._is_head(rank, host):
                continue
            passed.append((rank, host))
            open_requests = count_open(host)
            if open_requests is not None and (chosen is None or open_requests < fewest):
                chosen, fewest = host, open_requests
                if fewest == 0:
                    break
        for head in passed:
            heapq.heappush(self._heads, head)
        if chosen is None:
            return None
        return self.take_key(self._queues[chosen][0][1], self._last_number + 1)

    def take_key(self, key: str, number: int) -> FrontierEntry | None:
        """The URL that waits under this key, with this number; None when none does."""
        entry = self._waiting.pop(key, None)
        if entry is None:
            return None
        self._last_number = max(self._last_number, number)
        self._open.add(number)
        return replace(entry, number=number)

    def release(self, number: int) -> None:
        """The page of this number was taken in: its place is free."""
        self._open.discard(number)

    def _is_head(self, rank: Rank, host: str) -> bool:
        """Whether this is still the host's first URL; what was taken is dropped from the host's heap here."""
        queue = self._queues.get(host)
        if queue is None or queue[0][0] != rank:
            return False
        if queue[0][1] in self._waiting:
            return True
        heapq.heappop(queue)
        if queue:
            heapq.heappush(self._heads, (queue[0][0], host))
        else:
            del self._queues[host]
        return False
