"""The first URLs of each host, in memory; all others stay where they are.

A window holds the smallest ranks of those that wait for one host. It is filled again when it is empty, so that
memory does not grow with the queue.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["HostWindows"]

_LARGEST = 64
_ALL_TOGETHER = 65_536
"""Ranks in all windows, some 150 bytes each; with more hosts than this, one a host."""


@dataclass(slots=True)
class _Window:
    ranks: list[bytes] = field(default_factory=list)
    beyond: int = 0
    """How many wait behind those."""


class HostWindows:
    """Per host a window on what waits."""

    def __init__(self, read: Callable[[str, int], Sequence[bytes]]) -> None:
        """Shapes: `read` gives the smallest ranks that wait for a host, at most so many, in order."""
        self._read = read
        self._windows: dict[str, _Window] = {}

    def expect(self, host: str, waiting: int) -> None:
        """So many wait for a host, none of them seen yet."""
        self._windows[host] = _Window(beyond=waiting)

    def find_head(self, host: str) -> bytes | None:
        """The smallest rank that waits for a host, None when none does."""
        window = self._windows.get(host)
        if window is None:
            return None
        if not window.ranks:
            self._fill(host, window)
        return window.ranks[0]

    def add(self, host: str, rank: bytes) -> bool:
        """Whether another one that waits is now the first of its host."""
        window = self._windows.get(host)
        if window is None:
            window = self._windows[host] = _Window()
        elif window.beyond and (not window.ranks or rank > window.ranks[-1]):
            window.beyond += 1
            return False
        insort(window.ranks, rank)
        is_first = window.ranks[0] == rank
        if len(window.ranks) > self._limit():
            del window.ranks[-1]
            window.beyond += 1
        return is_first

    def remove(self, host: str, rank: bytes) -> bytes | None:
        """The first rank of a host now that this one waits no more, None when none does."""
        window = self._windows[host]
        at = bisect_left(window.ranks, rank)
        if at < len(window.ranks) and window.ranks[at] == rank:
            del window.ranks[at]
        else:
            window.beyond -= 1
        if not window.ranks and not window.beyond:
            del self._windows[host]
        return self.find_head(host)

    def _fill(self, host: str, window: _Window) -> None:
        waiting = window.beyond
        window.ranks = list(self._read(host, self._limit()))
        window.beyond = waiting - len(window.ranks)

    def _limit(self) -> int:
        return max(1, min(_LARGEST, _ALL_TOGETHER // len(self._windows)))
