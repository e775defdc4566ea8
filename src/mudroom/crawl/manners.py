"""How politely: when each host may be asked again, and by how many at a time.

Rules, per host:
- at most `per_host_concurrency` requests are open; one only until the host's first answer has come, since
  its robots.txt is not known before;
- from one request's start to the next one's at least the largest of delay, Crawl-delay and, after a 429 or
  503, the pause that the host asked for;
- one of the crawl's slots is left to other hosts as soon as there are any.

State is kept for hosts in use only; a host without an open request, or a redirect on its way to it, whose
waits are over is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mudroom.crawl.policy import CRAWL_DELAY_MAX_SECONDS, RETRY_AFTER_MAX_SECONDS

__all__ = ["HostManners"]

_FIRST_PAUSE_SECONDS = 5.0
"""The pause after a first 429 or 503 that names none; doubled with each that follows."""
_SWEEP_EVERY = 256


@dataclass(slots=True)
class _Host:
    open_requests: int = 0
    open_hops: int = 0
    last_start: float = float("-inf")
    next_start: float = float("-inf")
    crawl_delay_seconds: float = 0.0
    refusals: int = 0
    is_known: bool = False


class HostManners:
    """The timetable of one crawl's hosts. Moments are those of the crawl's monotonic clock."""

    def __init__(self, concurrency: int, per_host_concurrency: int) -> None:
        self._concurrency = concurrency
        self._per_host = per_host_concurrency
        self._hosts: dict[str, _Host] = {}
        self._starts = 0
        self._has_other_hosts = False

    def __len__(self) -> int:
        """How many hosts are remembered now."""
        return len(self._hosts)

    def count_open(self, host: str, now: float) -> int | None:
        """The requests open to a host, or None when it may not be asked now."""
        state = self._hosts.get(host)
        if state is None:
            return 0
        if state.next_start > now or state.open_requests >= self._limit(state):
            return None
        return state.open_requests

    def begin(self, host: str, now: float, delay_seconds: float) -> None:
        """Note that a request to a host starts now."""
        state = self._hosts.get(host)
        if state is None:
            self._has_other_hosts = self._has_other_hosts or bool(self._hosts)
            state = self._hosts[host] = _Host()
        state.open_requests += 1
        self._book(state, now, delay_seconds)
        self._starts += 1
        if self._starts % _SWEEP_EVERY == 0:
            self._sweep(now)

    def end(self, host: str) -> None:
        """Note that a request to a host has ended."""
        state = self._hosts[host]
        state.open_requests -= 1
        state.is_known = True

    def book_hop(self, host: str, now: float, delay_seconds: float) -> float:
        """When a redirect may ask this host; the start is booked, and the host remembered until `end_hop`."""
        state = self._hosts.setdefault(host, _Host())
        state.open_hops += 1
        start = max(now, state.next_start)
        self._book(state, start, delay_seconds)
        return start

    def end_hop(self, host: str) -> None:
        """Note that what a redirect began at this host has ended."""
        self._hosts[host].open_hops -= 1

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """Honour a robots.txt's Crawl-delay, within bounds, from the last start on."""
        state = self._hosts.setdefault(host, _Host())
        state.crawl_delay_seconds = min(max(seconds, 0.0), CRAWL_DELAY_MAX_SECONDS)
        state.next_start = max(state.next_start, state.last_start + state.crawl_delay_seconds)

    def note_refusal(self, host: str, now: float, retry_after_seconds: float | None) -> None:
        """Pause a host that answered 429 or 503: as long as it asked for, within bounds."""
        state = self._hosts.setdefault(host, _Host())
        pause = (
            _FIRST_PAUSE_SECONDS * 2**state.refusals if retry_after_seconds is None else retry_after_seconds
        )
        state.refusals = min(state.refusals + 1, 10)
        state.next_start = max(state.next_start, now + min(max(pause, 0.0), RETRY_AFTER_MAX_SECONDS))

    def note_answer(self, host: str) -> None:
        """Forget the refusals of a host that answers again."""
        if host in self._hosts:
            self._hosts[host].refusals = 0

    def next_moment(self, now: float) -> float | None:
        """The next moment at which a host that must be waited for may be asked, or None."""
        return min(self._future_starts(now), default=None)

    def _book(self, state: _Host, start: float, delay_seconds: float) -> None:
        state.last_start = start
        state.next_start = max(state.next_start, start + max(delay_seconds, state.crawl_delay_seconds))

    def _future_starts(self, now: float) -> Iterator[float]:
        for state in self._hosts.values():
            if state.next_start > now and state.open_requests < self._limit(state):
                yield state.next_start

    def _limit(self, state: _Host) -> int:
        if not state.is_known:
            return 1
        if self._has_other_hosts:
            return max(1, min(self._per_host, self._concurrency - 1))
        return self._per_host

    def _sweep(self, now: float) -> None:
        """Forget hosts of which nothing needs to be remembered."""
        for host, state in tuple(self._hosts.items()):
            if state.open_requests == state.open_hops == 0 and state.next_start <= now:
                del self._hosts[host]
