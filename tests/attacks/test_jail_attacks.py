"""What a guest that was taken over may try, and what comes of it."""

# Paths under /tmp and the like are what an attacker would try.
# ruff: noqa: S108

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

import mudroom
from mudroom.errors import Code, ContentRefused, GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource
from mudroom.jail import ExtractRequest, GuestPool, GuestRole, JailOptions
from mudroom.model import Isolation, View

ROOM = Path(__file__).parents[1] / "jail" / "room"
ACTOR = GuestRole(name="actor:Actor", folders=(ROOM,))
MEMORY = 200 * 1024 * 1024

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[Isolation.STRICT, Isolation.CONFINED])
async def pool(request: pytest.FixtureRequest) -> AsyncIterator[GuestPool]:
    """One pool for all attacks at a level: it must outlive them."""
    options = JailOptions(
        isolation=request.param,
        extract_role=ACTOR,
        scan_role=ACTOR,
        guests_per_role=1,
        spares_per_role=1,
        max_memory_bytes=MEMORY,
        wall_seconds=3,
        cpu_seconds=1,
    )
    opened = GuestPool(options)
    try:
        await opened.start()
    except GuestFailed as failure:
        pytest.skip(failure.message)
    yield opened
    await opened.aclose()


async def ask(pool: GuestPool, body: str) -> str:
    source = ExtractSource(url="https://bakery.test/", content_type="text/html")
    request = ExtractRequest(body=body.encode(), source=source, limits=ExtractLimits())
    document = await pool.extract(request, site="https://bakery.test", run_id="open_1")
    return document.views[View.MARKDOWN]


def listing(folder: str) -> list[str]:
    return [entry.name for entry in os.scandir(folder)]


async def outcome(pool: GuestPool, body: str) -> str | Code:
    try:
        return await ask(pool, body)
    except GuestFailed as failure:
        return failure.code


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/etc/hostname",
        "/",
        ".",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/1/environ",
        "/proc/{parent}/environ",
        "/dev/null",
        "/dev/shm",
        "/sys",
        "/usr/lib",
        os.__file__,
        __file__,
        mudroom.__file__,
    ],
)
async def test_no_file_can_be_opened(pool: GuestPool, path: str) -> None:
    assert await ask(pool, f"open {path}") in {"EPERM", "EACCES", "ENOENT"}


@pytest.mark.parametrize("folder", ["/", "/tmp", "/dev", "/dev/shm", "/var/tmp", str(ROOM)])
async def test_no_file_can_be_made(pool: GuestPool, folder: str) -> None:
    path = f"{folder.rstrip('/')}/mudroom-attack"
    assert await ask(pool, f"create {path}") in {"EPERM", "EACCES", "ENOENT", "EROFS"}
    assert "mudroom-attack" not in listing(folder)


@pytest.mark.parametrize(
    "call",
    [
        "socket",
        "clone",
        "clone3",
        "execve",
        "ptrace",
        "setrlimit",
        "keyctl",
        "unshare",
        "prctl",
        "bpf",
        "io_uring_setup",
        "mprotect_exec",
        "kill_group",
        "kill_all",
    ],
)
async def test_no_call_leads_out(pool: GuestPool, call: str) -> None:
    assert await ask(pool, f"call {call}") == "EPERM"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("loop", Code.GUEST_TIMEOUT),
        ("memory", Code.GUEST_MEMORY),
        ("crash", Code.GUEST_CRASHED),
        ("suicide", Code.GUEST_CRASHED),
        ("exit 0", Code.GUEST_CRASHED),
        ("length 4294967295", Code.GUEST_PROTOCOL),
        ("length 67108865", Code.GUEST_PROTOCOL),
        ("surrogate_bytes", Code.GUEST_PROTOCOL),
        ("truncated", Code.GUEST_CRASHED),
        ("half_header", Code.GUEST_CRASHED),
        ("garbage", Code.GUEST_PROTOCOL),
        ("flood", Code.GUEST_PROTOCOL),
        ("nonce", Code.GUEST_PROTOCOL),
        ("twice", Code.GUEST_PROTOCOL),
        ("counts", Code.GUEST_PROTOCOL),
        ("kind", Code.GUEST_PROTOCOL),
        ("code", Code.GUEST_PROTOCOL),
        ("unclean 1b", Code.GUEST_PROTOCOL),
        ("unclean 7f", Code.GUEST_PROTOCOL),
        ("unclean 9b", Code.GUEST_PROTOCOL),
        ("unclean 202e", Code.GUEST_PROTOCOL),
        ("unclean e0041", Code.GUEST_PROTOCOL),
        ("unclean_title 0", Code.GUEST_PROTOCOL),
        ("unclean_title 200b", Code.GUEST_PROTOCOL),
    ],
)
async def test_a_breach_costs_one_document_and_the_guest(pool: GuestPool, body: str, code: Code) -> None:
    with pytest.raises(GuestFailed) as caught:
        await ask(pool, body)
    assert caught.value.code is code
    assert await ask(pool, "served") == "1"


async def test_a_guest_that_hangs_up_and_lives_on_is_ended(pool: GuestPool) -> None:
    # Behind walls the end of the pipe is seen only when bwrap ends: then time decides.
    assert await outcome(pool, "hang_up") in {Code.GUEST_PROTOCOL, Code.GUEST_TIMEOUT}
    assert await ask(pool, "served") == "1"


async def test_a_lone_surrogate_is_a_failure_of_the_document(pool: GuestPool) -> None:
    with pytest.raises(ContentRefused) as caught:
        await ask(pool, "surrogate_text")
    assert caught.value.code is Code.EXTRACTION_FAILED


async def test_an_answer_laid_up_for_the_next_question_is_never_taken(pool: GuestPool) -> None:
    outcomes = [await outcome(pool, body) for body in ["stale", "echo mine"] * 5]
    assert set(outcomes) <= {"first", "mine", Code.GUEST_PROTOCOL}
    assert await ask(pool, "echo mine") == "mine"


async def test_what_libraries_print_does_not_reach_the_protocol(pool: GuestPool) -> None:
    assert await ask(pool, "print") == "printed"
    assert await ask(pool, "echo still") == "still"


@pytest.mark.parametrize("body", ["length 4294967295", "length 67000000", "counts"])
async def test_the_parents_memory_stays_flat(
    pool: GuestPool, body: str, peak_growth: Callable[[], int]
) -> None:
    with pytest.raises(GuestFailed):
        await ask(pool, body)
    assert peak_growth() < 16 << 20


async def test_many_breaches_at_once_leave_the_good_ones_alone(pool: GuestPool) -> None:
    bodies = ["exit 1", "echo 1", "garbage", "echo 2", "twice", "echo 3"]
    answers = await asyncio.gather(*(ask(pool, body) for body in bodies), return_exceptions=True)
    assert answers[1::2] == ["1", "2", "3"]
    assert all(isinstance(answer, GuestFailed) for answer in answers[::2])
