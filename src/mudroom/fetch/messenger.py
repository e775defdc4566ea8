"""A thread that makes calls in their order, so that a slow one delays other calls and never the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

__all__ = ["Messenger"]

Call = Callable[[], None]


class Messenger:
    """One thread, begun with the first call and ended by `aclose`; calls must not raise.

    Why a thread: an observer that blocks would hold the loop, and with it every transfer, for as long as it
    likes. Calls are made one at a time, so that what is called needs no lock against itself.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._is_left = False

    @property
    def backlog(self) -> int:
        """How many calls wait."""
        return self._calls.qsize()

    def post(self, call: Call) -> None:
        """Have a call made soon, without waiting for it. After `aclose` nothing is called any more."""
        if self._is_closed:
            return
        if self._thread is None:
            # A daemon: a call that never returns must not keep the process alive.
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(call)

    async def aclose(self, patience_seconds: float) -> bool:
        """Make the calls that wait and end the thread; whether that came about within the patience.

        Otherwise the thread is left behind: it ends when the call that it is in returns, and makes no other.
        """
        self._is_closed = True
        thread, self._thread = self._thread, None
        if thread is None:
            return True
        loop, is_done = asyncio.get_running_loop(), asyncio.Event()
        self._calls.put(lambda: _wake(loop, is_done))
        self._calls.put(None)
        try:
            async with asyncio.timeout(patience_seconds):
                await is_done.wait()
        except TimeoutError:
            return False
        finally:
            self._is_left = not is_done.is_set()
        thread.join()
        return True

    def _run(self) -> None:
        while (call := self._calls.get()) is not None and not self._is_left:
            call()


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop gave up and is closed
        loop.call_soon_threadsafe(event.set)
