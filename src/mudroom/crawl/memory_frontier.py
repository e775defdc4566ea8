"""The frontier in memory: for crawls whose record is in memory too."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Admission, CountOpen, FrontierEntry, Left, Rank, Recorded
from mudroom.crawl.heads import HostHeads

__all__ = ["MemoryFrontier", "MemoryShelf"]


class MemoryFrontier:
    """A heap of URLs per host. It outlives its crawl as long as its shelf does.

    Cost: O(log n) to add; O(log n + hosts that may not be asked now) to take.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._known: dict[str, str] = {}
        self._waiting: dict[str, FrontierEntry] = {}
        self._open: dict[int, FrontierEntry] = {}
        """Pages that were taken and not yet taken in, by number."""
        self._again: list[FrontierEntry] = []
        """Pages that an earlier sitting started in vain, in order."""
        self._held: dict[int, EndedPage] = {}
        self._digests: dict[bytes, int] = {}
        self._notes: dict[str, str] = {}
        self._queues: dict[str, list[tuple[Rank, str]]] = {}
        """Per host a heap; the key settles which of two equal ranks comes first."""
        self._heads: HostHeads[Rank] = HostHeads(self._find_head)
        self._last_number = 0
        self._taken_in = 0

    def __len__(self) -> int:
        """How many URLs wait."""
        return len(self._waiting) + len(self._again)

    def find_spelling(self, key: str) -> str | None:
        """The URL that entered under this key."""
        return self._known.get(key) or None

    def add(self, entry: FrontierEntry) -> Admission:
        """Queue a URL, unless its key was there before or the queue is full."""
        if entry.key in self._known:
            return Admission.KNOWN
        if len(self._waiting) + len(self._open) >= self._cap:
            return Admission.FULL
        self._known[entry.key] = entry.url
        self._waiting[entry.key] = entry
        queue = self._queues.setdefault(entry.host, [])
        heapq.heappush(queue, (entry.rank, entry.key))
        if queue[0][1] == entry.key:
            self._heads.push(entry.rank, entry.host)
        return Admission.QUEUED

    def claim(self, key: str) -> bool:
        """Whether a page that a redirect led to this key may have it."""
        is_new = key not in self._known
        self._known.setdefault(key, "")
        return is_new

    def take(self, count_open: CountOpen) -> FrontierEntry | None:
        """The next URL with its number, or None when no host that has one may be asked now."""
        for at, entry in enumerate(self._again):
            if count_open(entry.host) is not None:
                return self._again.pop(at)
        host = self._heads.choose(count_open)
        return None if host is None else self.take_key(self._queues[host][0][1], self._last_number + 1)

    def take_key(self, key: str, number: int) -> FrontierEntry | None:
        """The URL that waits under this key, with this number; None when none does."""
        entry = self._waiting.pop(key, None)
        if entry is None:
            return None
        self._last_number = max(self._last_number, number)
        taken = self._open[number] = replace(entry, number=number)
        return taken

    def hold(self, page: EndedPage) -> None:
        """Keep what a page leaves behind until it is taken in."""
        self._held[page.number] = page

    def release(self, number: int) -> None:
        """The page of this number was taken in: its place is free."""
        self._open.pop(number, None)
        self._held.pop(number, None)
        self._taken_in = max(self._taken_in, number)

    def find_twin(self, digest: bytes, number: int) -> int | None:
        """The page that had this content first, if one had."""
        first = self._digests.setdefault(digest, number)
        return None if first == number else first

    def note(self, name: str, value: str) -> None:
        """Keep something that the crawl has to know again."""
        self._notes[name] = value

    def commit(self) -> None:
        """It is there."""

    def rollback(self) -> None:
        """What is in memory is not undone: the pages that it led to are known at the next sitting."""

    async def sync(self) -> None:
        """There is no disk."""

    def restore(self, recorded: Sequence[Recorded]) -> Left:
        """Take up what an earlier sitting left."""
        ends = {page.number for page in recorded}
        line: list[tuple[int, EndedPage | None]] = []
        self._again.clear()
        for number, entry in sorted(self._open.items()):
            if number in ends:
                line.append((number, self._held.get(number) or EndedPage(number=number, depth=entry.depth)))
            else:
                self._held.pop(number, None)
                self._again.append(entry)
                line.append((number, None))
        return Left(line=tuple(line), notes=dict(self._notes))

    def close(self, *, keeps: bool) -> None:
        """Forget all, unless it is kept."""
        if not keeps:
            for part in (self._known, self._waiting, self._again, self._digests, self._queues):
                part.clear()

    def _find_head(self, host: str) -> Rank | None:
        """The rank of the host's first URL; what was taken by its key is dropped here."""
        queue = self._queues.get(host)
        while queue:
            rank, key = queue[0]
            if key in self._waiting:
                return rank
            heapq.heappop(queue)
            if queue:
                self._heads.push(queue[0][0], host)
        self._queues.pop(host, None)
        return None


class MemoryShelf:
    """Frontiers of runs in memory."""

    def __init__(self) -> None:
        self._frontiers: dict[str, MemoryFrontier] = {}

    def create(self, run_id: str, cap: int) -> MemoryFrontier:
        """An empty frontier for a new run."""
        frontier = self._frontiers[run_id] = MemoryFrontier(cap)
        return frontier

    def reopen(self, run_id: str, cap: int) -> MemoryFrontier | None:  # noqa: ARG002 - its cap is what it was made with
        """The frontier that the run has left; None when there is none."""
        return self._frontiers.get(run_id)
