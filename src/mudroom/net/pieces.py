"""What came of a body and waits to be read; where it comes in crumbs, it is kept as few pieces.

Why: a peer may send chunks of a byte or two, and each that is kept costs some sixty bytes: 9 MB of them held 630 MB.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Pieces"]

_CRUMB_BYTES = 1024
"""What is smaller is put together with its neighbours."""
_MAX_CRUMBS = 1024
_BATCH_BYTES = 16 * 1024


class Pieces:
    """A queue of bytes."""

    __slots__ = ("_crumbs", "_queue", "size")

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._crumbs = 0
        self.size = 0
        """Bytes that wait."""

    def add(self, piece: bytes) -> None:
        """Put some bytes behind those that wait; none are none."""
        size = len(piece)
        if not size:
            return
        self.size += size
        self._queue.append(piece)
        if size < _CRUMB_BYTES:
            self._crumbs += 1
            if self._crumbs >= _MAX_CRUMBS:
                self._join_crumbs()

    def take(self) -> bytes:
        """The first piece, or the crumbs at the beginning as one; empty where nothing waits."""
        queue = self._queue
        if not queue:
            return b""
        piece = queue.popleft()
        if len(piece) < _CRUMB_BYTES and queue:
            piece = self._gather(piece)
        self.size -= len(piece)
        return piece

    def take_all(self) -> bytes:
        """All that waits."""
        queue = self._queue
        whole = queue[0] if len(queue) == 1 else b"".join(queue)
        queue.clear()
        self.size = 0
        return whole

    def _gather(self, first: bytes) -> bytes:
        queue, batch, size = self._queue, [first], len(first)
        while queue and size < _BATCH_BYTES and len(queue[0]) < _CRUMB_BYTES:
            batch.append(queue.popleft())
            size += len(batch[-1])
        return b"".join(batch)

    def _join_crumbs(self) -> None:
        """Put the crumbs at the end of the queue together."""
        queue, crumbs = self._queue, deque[bytes]()
        while queue and len(queue[-1]) < _CRUMB_BYTES and len(crumbs) < _MAX_CRUMBS:
            crumbs.appendleft(queue.pop())
        queue.append(b"".join(crumbs))
        self._crumbs = 0
