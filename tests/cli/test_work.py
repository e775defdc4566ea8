"""Work that a signal ends, once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import click
import pytest

from mudroom.cli.work import run_work

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0.001)  # signals come by way of a socket


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_cancels_the_work(number: signal.Signals) -> None:
    async def work() -> None:
        os.kill(os.getpid(), number)
        await asyncio.Event().wait()

    with pytest.raises(click.Abort):
        run_work(work())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_does_not_break_what_the_work_must_still_do(number: signal.Signals) -> None:
    async def work() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            os.kill(os.getpid(), number)
            await rest()
        return "the record"

    assert run_work(work()) == "the record"


def test_work_that_was_started_to_outlive_its_terminal_does() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def work() -> str:
        os.kill(os.getpid(), signal.SIGHUP)
        await rest()
        return "done"

    assert run_work(work()) == "done"
