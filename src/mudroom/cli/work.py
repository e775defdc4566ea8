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
    """The result of the work. Ctrl-C, SIGTERM or SIGHUP cancels it; it may still finish what it must.

    Once is enough: what comes while the work ends is not another wish, and would cost its record.

    Raises: click.Abort when the work was cancelled and had nothing to return.
    """
    try:
        return asyncio.run(_supervise(work))
    except asyncio.CancelledError:
        raise click.Abort from None


async def _supervise(work: Coroutine[None, None, Result]) -> Result:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    is_told = False

    def stop() -> None:
        nonlocal is_told
        if not is_told:
            is_told = True
            task.cancel()

    numbers = _list_signals()
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        return await task
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _list_signals() -> list[signal.Signals]:
    """What ends the work; SIGHUP not where we were started to outlive the terminal, as with nohup."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers
