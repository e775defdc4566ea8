"""Work on an event loop that Ctrl-C ends in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

import click

__all__ = ["run_work"]

Result = TypeVar("Result")


def run_work(work: Coroutine[None, None, Result]) -> Result:
    """The result of the work. Ctrl-C or SIGTERM cancels it; it may still finish what it must.

    Raises: click.Abort when the work was cancelled and had nothing to return.
    """
    try:
        return asyncio.run(_supervise(work))
    except asyncio.CancelledError:
        raise click.Abort from None


async def _supervise(work: Coroutine[None, None, Result]) -> Result:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
