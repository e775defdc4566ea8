"""A wait that can be moved or given up, on the sleep that was passed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["Timer"]


class Timer:
    """Sets an event when its time has come."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]], wake: asyncio.Event) -> None:
        self._sleep = sleep
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self.is_over = False

    def set(self, seconds: float | None) -> None:
        """Wait anew; None waits for nothing."""
        self.stop()
        self.is_over = False
        if seconds is not None:
            self._task = asyncio.create_task(self._run(seconds))

    def stop(self) -> None:
        """Give the wait up."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, seconds: float) -> None:
        await self._sleep(seconds)
        self.is_over = True
        self._wake.set()
