"""A person's word to stop, given from anywhere on the crawl's loop."""

from __future__ import annotations

import asyncio

__all__ = ["CancelToken"]


class CancelToken:
    """Ends a crawl with a valid manifest of what was done."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Stop; a second call does nothing."""
        self._event.set()

    async def wait(self) -> None:
        """Nothing, once `cancel` was called."""
        await self._event.wait()
