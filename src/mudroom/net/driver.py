"""libcurl's multi interface on asyncio: sockets and timers of one partition, no threads.

Rules that hold in this file:
1. libcurl may not be re-entered: what a callback of a transfer decides is done by its return value, or
   later by `loop.call_soon`. Handles are added and removed only outside callbacks.
2. libcurl asks for one timer; it is armed anew only when it must fire earlier than armed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pycurl

from mudroom.net.handle import CurlHandle

__all__ = ["CurlDriver"]

_MAX_IDLE_CONNECTIONS = 64


class CurlDriver:
    """One connection pool, driven by the running event loop.

    A handle's `finish` is called with libcurl's error number (0 = complete) and its text, after the
    handle has left the pool.
    """

    __slots__ = ("_armed", "_deadline", "_is_acting", "_is_closed", "_loop", "_multi", "_running", "_wanted")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._multi = pycurl.CurlMulti()
        self._running: dict[Any, CurlHandle] = {}
        self._wanted: dict[int, int] = {}
        self._armed: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._is_acting = False
        self._is_closed = False
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _MAX_IDLE_CONNECTIONS)

    @property
    def is_idle(self) -> bool:
        """Whether no transfer is running."""
        return not self._running

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

    def close(self) -> None:
        """Close the pool and all its connections; running transfers must have been removed."""
        if self._is_closed:
            return
        for handle in list(self._running.values()):
            self.remove(handle)
        self._is_closed = True
        self._multi.close()
        if self._armed is not None:
            self._armed.cancel()
        for fd in list(self._wanted):
            self._watch(fd, pycurl.POLL_REMOVE)

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        self._watch(fd, what)

    def _watch(self, fd: int, what: int) -> None:
        wanted = 0 if what == pycurl.POLL_REMOVE else what
        had = self._wanted.pop(fd, 0)
        if wanted:
            self._wanted[fd] = wanted
        changed = had ^ wanted
        if changed & pycurl.POLL_IN:
            if wanted & pycurl.POLL_IN:
                self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
            else:
                self._loop.remove_reader(fd)
        if changed & pycurl.POLL_OUT:
            if wanted & pycurl.POLL_OUT:
                self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
            else:
                self._loop.remove_writer(fd)

    def _on_timer(self, milliseconds: int) -> None:
        self._deadline = None if milliseconds < 0 else self._loop.time() + milliseconds / 1000
        if not self._is_acting:
            self._arm()

    def _arm(self) -> None:
        deadline = self._deadline
        if deadline is None or self._is_closed:
            return
        if self._armed is None or self._armed.when() > deadline:
            if self._armed is not None:
                self._armed.cancel()
            self._armed = self._loop.call_at(deadline, self._on_alarm)

    def _on_alarm(self) -> None:
        self._armed = None
        if self._deadline is None or self._is_closed:
            return
        if self._deadline > self._loop.time():
            self._arm()
        else:
            self._deadline = None
            self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        if self._is_closed:
            return
        self._is_acting = True
        _, running = self._multi.socket_action(fd, events)
        if running < len(self._running):
            self._collect()
        self._is_acting = False
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
