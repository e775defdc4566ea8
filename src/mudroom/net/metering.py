"""How far the peer of an HTTP/2 stream may run ahead of whoever reads it.

HTTP/1.1 needs none of this: a socket that is not read makes its peer wait. On an HTTP/2 connection the other
streams must go on, so libcurl reads on and keeps what comes for a paused stream, as much as the stream's window
lets the peer send: 10 MB, filled up once. Twenty streams whose readers had stopped held 194 MB.

A streamed body therefore starts with a small window, and each quarter of it that its reader takes opens the
window again (`CurlHandle.set_window`). What waits is then at most one window in libcurl beside
`NetLimits.max_buffered_bytes` in the exchange; a body that is read whole is bounded by its own limit anyway.
"""

from __future__ import annotations

from typing import Self

from mudroom.net.handle import CurlHandle
from mudroom.net.transport import WireRequest

__all__ = ["Meter"]

_WINDOW_BYTES = 1024 * 1024
"""At 100 ms to the peer and back 10 MB/s for one stream, as much as most servers give one."""
_PARTS = 4


class Meter:
    """The window of one stream, opened as its reader goes on."""

    __slots__ = ("_taken_bytes", "handle", "window_bytes")

    def __init__(self, window_bytes: int) -> None:
        self.window_bytes = window_bytes
        """0 where nothing is held back any more."""
        self.handle: CurlHandle | None = None
        """What carries the stream, once the request is on its way."""
        self._taken_bytes = 0

    @classmethod
    def of(cls, request: WireRequest) -> Self | None:
        """The meter of a request; None where HTTP/2 is not spoken, or the body is read whole."""
        if request.is_whole or request.url.scheme != "https":
            return None
        return cls(max(_WINDOW_BYTES, request.limits.max_buffered_bytes * _PARTS))

    def take(self, size: int, *, is_paused: bool) -> None:
        """The reader has taken bytes.

        While the transfer is paused the window stays as it is: libcurl keeps both in one place, and to set the
        one would undo the other behind our back.
        """
        self._taken_bytes += size
        if not is_paused and self._taken_bytes * _PARTS >= self.window_bytes > 0:
            self._taken_bytes = 0
            self._open()

    def stop(self) -> None:
        """Hold nothing back any more."""
        if self.window_bytes:
            self.window_bytes = 0
            self._open()

    def _open(self) -> None:
        if self.handle is not None:
            self.handle.set_window(self.window_bytes)
