"""What is still to be done: URLs that wait, breadth first, each of them once.

Rules:
- A URL is known by its canonical key. A key enters once in a crawl, whether it still waits or not.
- The queue has a cap; a URL that meets a full queue is dropped and may come again later.
- Breadth first: the smallest rank waits first, and a rank is (depth, number of the parent, place in it),
  so that the order follows from the pages and not from which of them was faster.
- Host-fair: of the hosts that may be asked now, the one with the fewest requests open is asked, and
  among those the one whose first URL has the smallest rank.

Nothing here knows the time or waits for it: the caller says which hosts may be asked.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto, unique

from mudroom.address import ExceptionScope
from mudroom.model import Initiator

__all__ = ["Admission", "Frontier", "FrontierEntry"]

_Rank = tuple[int, int, int]


@unique
class Admission(Enum):
    """What became of a URL that came to the frontier."""

    QUEUED = auto()
    KNOWN = auto()
    FULL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierEntry:
    """A URL that waits; it was judged as its page wrote it."""

    url: str
    """In normal form."""
    key: str
    host: str
    origin: str
    depth: int
    parent: int
    """The number of the page that linked to it; 0 for the seed, and for what a sitemap named."""
    place: int
    """Its place among the links of that page."""
    initiator: Initiator
    scope: ExceptionScope
    """The exceptions that it may use."""

    @property
    def rank(self) -> _Rank:
        """Its place in breadth-first order."""
        return (self.depth, self.parent, self.place)


class Frontier:
    """The queue of one crawl, in memory.

    Cost: O(log n) to add; O(log n + hosts that may not be asked now) to take. Memory: the keys of all that
    ever entered, which are at most the cap and the pages taken.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._known: set[str] = set()
        self._taken: set[str] = set()
        self._queues: dict[str, list[tuple[_Rank, str, FrontierEntry]]] = {}
        """Per host a heap; the key settles which of two equal ranks comes first."""
        self._heads: list[tuple[_Rank, str]] = []
        """Hosts by the rank of their first URL; what is out of date is dropped when it comes up."""
        self._waiting = 0

    def __len__(self) -> int:
        """How many URLs wait."""
        return self._waiting

    def add(self, entry: FrontierEntry) -> Admission:
        """Queue a URL, unless its key was there before or the queue is full."""
        if entry.key in self._known:
            return Admission.KNOWN
        if self._waiting >= self._cap:
            return Admission.FULL
        self._known.add(entry.key)
        queue = self._queues.setdefault(entry.host, [])
        heapq.heappush(queue, (entry.rank, entry.key, entry))
        if queue[0][2] is entry:
            heapq.heappush(self._heads, (entry.rank, entry.host))
        self._waiting += 1
        return Admission.QUEUED

    def claim(self, key: str) -> bool:
        """Whether a page that a redirect led to this key may have it; it is then taken.

        A URL that still waits under this key is dropped when its turn comes.
        """
        if key in self._taken:
            return False
        if key in self._known:
            self._waiting -= 1
        self._known.add(key)
        self._taken.add(key)
        return True

    def take(self, count_open: Callable[[str], int | None]) -> FrontierEntry | None:
        """The next URL, or None when no host that has one may be asked now.

        Shapes: `count_open` gives the requests open to a host, or None when it may not be asked now.
        """
        passed: list[tuple[_Rank, str]] = []
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
        return None if chosen is None else self._pop(chosen)

    def _is_head(self, rank: _Rank, host: str) -> bool:
        """Whether this is still the host's first URL; what redirects have claimed is dropped here."""
        queue = self._queues.get(host)
        if queue is None or queue[0][0] != rank:
            return False
        if queue[0][1] not in self._taken:
            return True
        self._remove_first(host)
        return False

    def _pop(self, host: str) -> FrontierEntry:
        entry = self._remove_first(host)
        self._taken.add(entry.key)
        self._waiting -= 1
        return entry

    def _remove_first(self, host: str) -> FrontierEntry:
        queue = self._queues[host]
        entry = heapq.heappop(queue)[2]
        if queue:
            heapq.heappush(self._heads, (queue[0][0], host))
        else:
            del self._queues[host]
        return entry
