"""Work that a crawl's loop waits for, and that ends with the crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["run_aside"]


async def run_aside(
    work: Coroutine[Any, Any, None], wake: asyncio.Event, is_over: Callable[[], bool]
) -> Exception | None:
    """The error that the work ended with, or None; when the crawl is over first, the work is cancelled.

    Shapes: `wake` is set whenever `is_over` may have changed; it is left set.
    """
    task = asyncio.create_task(work)
    task.add_done_callback(lambda _task: wake.set())
    try:
        while not (task.done() or is_over()):
            await wake.wait()
            wake.clear()
    finally:
        task.cancel()
        (error,) = await asyncio.gather(task, return_exceptions=True)
        wake.set()
    return error if isinstance(error, Exception) else None
