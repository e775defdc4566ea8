"""A lock is believed only when it holds all that its level promises; a dead parent leaves no guest."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mudroom
from mudroom.errors import Code, GuestFailed
from mudroom.jail.inmate import judge_lock
from mudroom.model import Isolation
from mudroom.wire import GuestReady

ROWS = [
    # level, Landlock ABI, seccomp, escapes, whether it holds
    (Isolation.STRICT, 7, True, 0, True),
    (Isolation.STRICT, 0, True, 0, True),
    (Isolation.STRICT, 7, False, 0, False),
    (Isolation.STRICT, 7, True, 1, False),
    (Isolation.CONFINED, 1, True, 0, True),
    (Isolation.CONFINED, 0, True, 0, False),
    (Isolation.CONFINED, 7, False, 0, False),
    (Isolation.CONFINED, 7, True, 32, False),
    (Isolation.PROCESS, 0, False, 0, True),
]


@pytest.mark.parametrize(("level", "abi", "has_seccomp", "escapes", "holds"), ROWS)
def test_a_lock_that_does_not_hold_is_refused(
    level: Isolation, abi: int, has_seccomp: bool, escapes: int, holds: bool
) -> None:
    ready = GuestReady(landlock_abi=abi, has_seccomp=has_seccomp, uid=1, escapes=escapes)
    if holds:
        judge_lock(ready, level)
        return
    with pytest.raises(GuestFailed) as caught:
        judge_lock(ready, level)
    assert caught.value.code is Code.JAIL_UNAVAILABLE


KEEPER = """
import asyncio, sys
sys.path[:0] = sys.argv[1:3]
from test_pool import OPTIONS, ask
from dataclasses import replace
from mudroom.jail import GuestPool
async def main():
    async with GuestPool(replace(OPTIONS, isolation=sys.argv[3])) as pool:
        asked = asyncio.create_task(ask(pool, "loop"))
        await ask(pool, "echo x", "another")
        print("open", flush=True)
        await asked
asyncio.run(main())
"""


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [found for child in children for found in (int(child), *descendants(int(child)))]


@pytest.mark.parametrize("level", list(Isolation))
def test_no_guest_outlives_a_parent_that_is_killed(level: Isolation) -> None:
    folders = [str(Path(mudroom.__file__).parents[1]), str(Path(__file__).parent)]
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, *folders, level], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with keeper:
        assert keeper.stdout is not None
        if keeper.stdout.readline() != b"open\n":
            pytest.skip(f"{level} does not hold here")
        guests = [os.pidfd_open(pid) for pid in descendants(keeper.pid)]
        keeper.send_signal(signal.SIGKILL)
    assert guests
    try:
        for guest in guests:
            ended, _, _ = select.select([guest], [], [], 20)
            assert ended, "a guest lives on"
    finally:
        for guest in guests:
            os.close(guest)
