"""Which host is asked next: the one with the fewest requests open, then the one whose first URL comes first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

from mudroom.crawl.frontier import CountOpen

__all__ = ["HostHeads"]

_Rank = TypeVar("_Rank", bound="tuple[float, int, int, int] | bytes")


class HostHeads(Generic[_Rank]):
    """A heap of hosts by the rank of their first URL. What is out of date is dropped when it comes up."""

    def __init__(self, find_head: Callable[[str], _Rank | None]) -> None:
        """Shapes: `find_head` gives the rank of a host's first URL, None when it has none."""
        self._find_head = find_head
        self._heap: list[tuple[_Rank, str]] = []

    def push(self, rank: _Rank, host: str) -> None:
        """A host has another first URL."""
        heapq.heappush(self._heap, (rank, host))

    def choose(self, count_open: CountOpen) -> str | None:
        """The host to ask, or None when none that has a URL may be asked now.

        Cost: O(log n) for each host that may not be asked.
        """
        passed: dict[str, _Rank] = {}
        chosen: str | None = None
        fewest = -1
        while self._heap:
            rank, host = heapq.heappop(self._heap)
            if host in passed or self._find_head(host) != rank:
                continue
            passed[host] = rank
            open_requests = count_open(host)
            if open_requests is not None and (chosen is None or open_requests < fewest):
                chosen, fewest = host, open_requests
                if fewest == 0:
                    break
        for host, rank in passed.items():
            heapq.heappush(self._heap, (rank, host))
        return chosen
