"""Threads for calls that block and cannot be interrupted; none waits behind one that hangs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

__all__ = ["LookupThreads"]

_IDLE_SECONDS = 10.0


class LookupThreads:
    """Runs blocking calls on daemon threads, one more whenever none is free, up to a limit.

    Why not ThreadPoolExecutor: its threads are joined when the interpreter ends, so that one look-up
    that hangs would hold up the end of the program.
    """

    def __init__(self, max_threads: int) -> None:
        self._max_threads = max_threads
        self._changed = threading.Condition()
        self._jobs: deque[Callable[[], None]] = deque()
        self._threads = 0
        self._free = 0
        self._is_closed = False

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job`, which may not raise, on a free thread, a new one, or when one becomes free."""
        with self._changed:
            self._jobs.append(job)
            if self._free >= len(self._jobs):
                self._changed.notify()
            elif self._threads < self._max_threads:
                self._threads += 1
                threading.Thread(target=self._work, name="mudroom-lookup", daemon=True).start()

    def close(self) -> None:
        """Let free threads end; those that are blocked end when their call does."""
        with self._changed:
            self._is_closed = True
            self._jobs.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            job = self._next_job()
            if job is None:
                return
            job()

    def _next_job(self) -> Callable[[], None] | None:
        with self._changed:
            self._free += 1
            self._changed.wait_for(lambda: self._jobs or self._is_closed, timeout=_IDLE_SECONDS)
            self._free -= 1
            if self._jobs:
                return self._jobs.popleft()
            self._threads -= 1
            return None
