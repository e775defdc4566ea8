"""libcurl's multi interface on asyncio: sockets and timers of one partition, no threads.

Rules that hold in this file:
1. libcurl may not be re-entered: what a callback of a transfer decides is done by its return value, or
   later by `loop.call_soon`. Handles are added and removed only outside callbacks.
2. libcurl asks for one timer; it is armed anew only when it must fire earlier than armed.
3. Its sockets wait in an epoll of our own, which the loop watches as one file. A socket that libcurl lets
   go of (a connection that turned idle, most often) stays in it, so that the next request costs no system
   call. The kernel drops closed sockets by itself, and its numbers come back only with a new socket:
   `forget_idle` is called before each of those. An event on an idle socket takes it out.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
from typing import Any

from mudroom.net.handle import CurlHandle
from mudroom.net.libcurl import pycurl

__all__ = ["CurlDriver"]

_MAX_IDLE_CONNECTIONS = 64
_READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP
_POLL_REMOVE: int = pycurl.POLL_REMOVE
_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


class CurlDriver:
    """One connection pool, driven by the running event loop.

    A handle's `finish` is called with libcurl's error number (0 = complete) and its text, after the
    handle has left the pool.
    """

    __slots__ = (
        "_alarm",
        "_deadline",
        "_epoll",
        "_is_acting",
        "_is_closed",
        "_loop",
        "_multi",
        "_registered",
        "_running",
        "_wanted",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._multi = pycurl.CurlMulti()
        self._epoll = select.epoll()
        self._running: dict[Any, CurlHandle] = {}
        self._registered: dict[int, int] = {}
        """Sockets in the epoll, and for which events."""
        self._wanted: set[int] = set()
        """Those of them that libcurl wants to hear of."""
        self._alarm: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._is_acting = False
        self._is_closed = False
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _MAX_IDLE_CONNECTIONS)
        loop.add_reader(self._epoll.fileno(), self._on_ready)

    def add(self, handle: CurlHandle) -> None:
        """Start a transfer; its first steps are taken at once, and it may finish before this returns."""
        self._running[handle.curl] = handle
        self._is_acting = True
        self._multi.add_handle(handle.curl)
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def remove(self, handle: CurlHandle) -> None:
        """End a transfer; a connection in the middle of one is closed now. Twice does nothing."""
        if self._running.pop(handle.curl, None) is not None and not self._is_closed:
            self._multi.remove_handle(handle.curl)

    def forget_idle(self) -> None:
        """Take the idle sockets out: a new one may get the number of one that was closed meanwhile."""
        for fd in self._registered.keys() - self._wanted:
            self._unregister(fd)

    def close(self) -> None:
        """Close the pool and all its connections; running transfers end without a word."""
        if self._is_closed:
            return
        for handle in list(self._running.values()):
            self.remove(handle)
        self._is_closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._multi.close()
        self._epoll.close()

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if self._is_closed:
            return
        if what == _POLL_REMOVE:
            self._wanted.discard(fd)
            return
        self._wanted.add(fd)
        events = _EVENTS[what]
        had = self._registered.get(fd)
        if had == events:
            return
        self._registered[fd] = events
        if had is None:
            self._epoll.register(fd, events)
        else:
            self._epoll.modify(fd, events)

    def _unregister(self, fd: int) -> None:
        del self._registered[fd]
        with contextlib.suppress(OSError):  # closed meanwhile: the kernel has dropped it
            self._epoll.unregister(fd)

    def _on_ready(self) -> None:
        for fd, events in self._epoll.poll(0):
            if fd in self._wanted:
                readable = pycurl.CSELECT_IN if events & _READABLE else 0
                writable = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
                self._act(fd, readable | writable)
            elif fd in self._registered:
                self._unregister(fd)
            if self._is_closed:
                return

    def _on_timer(self, milliseconds: int) -> None:
        self._deadline = None if milliseconds < 0 else self._loop.time() + milliseconds / 1000
        if not self._is_acting:
            self._arm()

    def _arm(self) -> None:
        deadline = self._deadline
        if deadline is None or self._is_closed:
            return
        if self._alarm is None or self._alarm.when() > deadline:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = self._loop.call_at(deadline, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        if self._deadline is None or self._is_closed:
            return
        if self._deadline > self._loop.time():
            self._arm()
        else:
            self._deadline = None
            self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        self._is_acting = True
        try:
            _, running = self._multi.socket_action(fd, events)
            if running < len(self._running):
                self._collect()
        finally:
            self._is_acting = False
        if self._deadline is not None:
            self._arm()

    def _collect(self) -> None:
        waiting = 1
        while waiting:
            waiting, complete, failed = self._multi.info_read()
            for curl in complete:
                self._finish(curl, 0, "")
            for curl, errno, text in failed:
                self._finish(curl, errno, text)

    def _finish(self, curl: pycurl.Curl, errno: int, text: str) -> None:
        handle = self._running.pop(curl, None)
        if handle is not None:
            self._multi.remove_handle(curl)
            handle.finish(errno, text)
