"""What is still to be done, as a seam: URLs that wait, each of them once.

Rules, for every implementation:
- A URL is known by its key. A key enters once in a crawl, whether it waits, was taken or was only claimed.
- The queue has a cap. A place in it is free again when the page was taken in, not when it was started, so
  that what meets a full queue follows from the pages and not from how many were on their way. What meets a
  full queue is dropped and may come again later.
- The smallest rank waits first: the highest score, then (depth, number of the parent, place in it), which
  is breadth-first order.
- Host-fair: of the hosts that may be asked now, the one with the fewest requests open is asked, and among
  those the one whose first URL has the smallest rank.
- Each URL that is taken gets the next number.

A page counts as started when it was taken, as ended when `hold` has its links, as taken in when `release`
was called: what lies between is what a crawl that was killed has to look at again. What became of a page is
recorded elsewhere, after `hold` and before `release`, and `restore` is told of it.

Nothing here knows the time or waits for it: the caller says which hosts may be asked.

Raises, everywhere: StoreFailed NO_SPACE, STORE_UNAVAILABLE, SNAPSHOT_CORRUPT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto, unique
from typing import Protocol

from mudroom.address import ExceptionScope
from mudroom.crawl.ended import EndedPage
from mudroom.model import Initiator

__all__ = [
    "Admission",
    "CountOpen",
    "Frontier",
    "FrontierEntry",
    "FrontierShelf",
    "Left",
    "Rank",
    "Recorded",
]

Rank = tuple[float, int, int, int]
CountOpen = Callable[[str], int | None]
"""The requests open to a host, or None when it may not be asked now."""


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
    score: float = 0.0
    """The higher, the sooner; the same for all in a crawl that is breadth first."""
    number: int = 0
    """Its number in the run; 0 while it waits."""

    @property
    def rank(self) -> Rank:
        """Its place in the order of the crawl; the smallest comes first."""
        return (-self.score, self.depth, self.parent, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A page whose outcome an earlier sitting recorded."""

    number: int
    url: str
    depth: int
    has_links: bool
    """Whether it was accepted, and so may have had links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What an earlier sitting of the crawl left in its frontier."""

    line: tuple[tuple[int, EndedPage | None], ...] = ()
    """The pages that were started and not taken in, in order; None for one that has to be tried again."""
    lost: int = 0
    """Accepted pages whose links are gone."""
    notes: Mapping[str, str] = field(default_factory=dict)


class Frontier(Protocol):
    """The queue of one crawl."""

    def __len__(self) -> int:
        """How many URLs wait."""
        ...

    def find_spelling(self, key: str) -> str | None:
        """The URL that entered under this key; None where none did, or only a redirect led to it."""
        ...

    def add(self, entry: FrontierEntry) -> Admission:
        """Queue a URL, unless its key was there before or the queue is full."""
        ...

    def claim(self, key: str) -> bool:
        """Whether a page that a redirect led to this key may have it: nobody knew it. It is known then."""
        ...

    def take(self, count_open: CountOpen) -> FrontierEntry | None:
        """The next URL with its number, or None when no host that has one may be asked now."""
        ...

    def take_key(self, key: str, number: int) -> FrontierEntry | None:
        """The URL that waits under this key, with this number; None when none does."""
        ...

    def hold(self, page: EndedPage) -> None:
        """Keep what a page leaves behind until it is taken in. On the disk when this returns."""
        ...

    def release(self, number: int) -> None:
        """The page of this number was taken in: its place is free."""
        ...

    def find_twin(self, digest: bytes, number: int) -> int | None:
        """The page that had this content first, if one had; else it is this one from now on."""
        ...

    def note(self, name: str, value: str) -> None:
        """Keep something that the crawl has to know again."""
        ...

    def commit(self) -> None:
        """All or nothing of what was done since the last time is there for the next sitting."""
        ...

    def rollback(self) -> None:
        """Undo what was done since the last commit, for the next sitting; this one only closes then."""
        ...

    async def sync(self) -> None:
        """Bring what was committed to the disk itself."""
        ...

    def restore(self, recorded: Sequence[Recorded]) -> Left:
        """Take up what an earlier sitting left. What was started and is not recorded comes first again."""
        ...

    def close(self, *, keeps: bool) -> None:
        """Let it go; unless it is kept, nobody can go on from it."""
        ...


class FrontierShelf(Protocol):
    """Where the frontiers of crawls are."""

    def create(self, run_id: str, cap: int) -> Frontier:
        """An empty frontier for a new run. Never one that is there already."""
        ...

    def reopen(self, run_id: str, cap: int) -> Frontier | None:
        """The frontier that the run has left; None when there is none."""
        ...
