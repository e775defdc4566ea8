"""When each host may be asked again: politeness, what a host asks for, and backing off.

A host is a name or an address, whatever the scheme and the port. Of hosts without anything to remember
nothing is kept; of the others only those met last, so that no number of hosts fills the memory.
"""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["HostTimes"]

_FIRST_PAUSE_SECONDS = 1.0
"""After a first refusal that names no time; doubled with each that follows."""
_MAX_DOUBLINGS = 20
_MAX_HOSTS = 4096
"""Remembered at once. Their pauses are bounded, so what is lost with the oldest is little."""
_NEVER = float("-inf")


class _Host:
    __slots__ = ("next_start", "refusals")

    def __init__(self) -> None:
        self.next_start = _NEVER
        self.refusals = 0


class HostTimes:
    """The next start of each host. Moments are those of one monotonic clock."""

    def __init__(self, *, delay_seconds: float, max_pause_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._max_pause_seconds = max_pause_seconds
        self.hosts: OrderedDict[str, _Host] = OrderedDict()
        """Those that are remembered, to be looked at only; mostly there are none."""

    def next_start(self, host: str) -> float:
        """The moment from which a host may be asked; long past for most."""
        state = self.hosts.get(host)
        return _NEVER if state is None else state.next_start

    def book(self, host: str, now: float) -> None:
        """Note that a request to a host starts now."""
        if self._delay_seconds:
            state = self._remember(host, now)
            state.next_start = max(state.next_start, now + self._delay_seconds)

    def note_refusal(self, host: str, now: float, retry_after_seconds: float | None) -> None:
        """Pause a host that answered 429 or 503: as long as it asked for, within bounds.

        Several requests that were under way together and are all refused count as one refusal.
        """
        state = self._remember(host, now)
        pause = retry_after_seconds
        if pause is None:
            if state.refusals and state.next_start > now:
                return
            pause = _FIRST_PAUSE_SECONDS * 2**state.refusals
        state.refusals = min(state.refusals + 1, _MAX_DOUBLINGS)
        state.next_start = max(state.next_start, now + min(max(pause, 0.0), self._max_pause_seconds))

    def note_answer(self, host: str, now: float) -> None:
        """Forget the refusals of a host that answers again, but for what was asked before it paused."""
        state = self.hosts.get(host)
        if state is not None and state.refusals and state.next_start <= now:
            state.refusals = 0
            self._forget_past(now)

    def _remember(self, host: str, now: float) -> _Host:
        state = self.hosts.get(host)
        if state is None:
            self._forget_past(now)
            state = self.hosts[host] = _Host()
        self.hosts.move_to_end(host)
        return state

    def _forget_past(self, now: float) -> None:
        """Forget those of which nothing is left to know, oldest first, and the oldest of too many."""
        while self.hosts:
            oldest = next(iter(self.hosts.values()))
            is_past = oldest.next_start <= now and not oldest.refusals
            if not is_past and len(self.hosts) < _MAX_HOSTS:
                return
            self.hosts.popitem(last=False)
