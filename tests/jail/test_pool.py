"""Guests are held, fed, bounded and replaced, at each level that this machine holds."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.errors import Code, ContentRefused, GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource
from mudroom.jail import ExtractRequest, GuestPool, GuestRole, GuestSharing, JailOptions, probe_isolation
from mudroom.model import ExposedForm, ExposedText, Isolation, ScanRequest, SecurityText, View
from mudroom.syscalls import architecture_of
from mudroom.wire import AnswerLimits, digest_scan_request

ROOM = Path(__file__).parent / "room"
ACTOR = GuestRole(name="actor:Actor", folders=(ROOM,), settings=(7, 2**40))
OPTIONS = JailOptions(
    isolation=Isolation.PROCESS,
    extract_role=ACTOR,
    scan_role=ACTOR,
    guests_per_role=2,
    spares_per_role=0,
    max_memory_bytes=400 * 1024 * 1024,
)
SITE = "https://bakery.test"
PER_LINUX32 = 8
"""The personality under which uname names a 32-bit machine."""


def request(body: str) -> ExtractRequest:
    source = ExtractSource(url="https://bakery.test/", content_type="text/html")
    return ExtractRequest(body=body.encode(), source=source, limits=ExtractLimits())


async def ask(pool: GuestPool, body: str, site: str = SITE, run_id: str = "open_1") -> str:
    document = await pool.extract(request(body), site=site, run_id=run_id)
    return document.views[View.MARKDOWN]


@pytest.fixture(params=list(Isolation))
async def held(request: pytest.FixtureRequest) -> AsyncIterator[GuestPool]:
    """A pool at each level, skipped where the machine does not hold it."""
    pool = GuestPool(replace(OPTIONS, isolation=request.param))
    try:
        await pool.start()
    except GuestFailed as failure:
        pytest.skip(failure.message)
    yield pool
    await pool.aclose()


@pytest.fixture
async def pool() -> AsyncIterator[GuestPool]:
    async with GuestPool(OPTIONS) as opened:
        yield opened


async def test_a_guest_reads_and_another_scans_at_every_level(held: GuestPool) -> None:
    assert await ask(held, "echo Bröd") == "Bröd"
    empty = SecurityText(blob=b"", ends=(), channels=b"", hidings=b"", lines=())
    scan = ScanRequest(exposed=(ExposedText(form=ExposedForm.TITLE, text="Bröd"),), security_text=empty)
    report = await held.scan(scan, site=SITE, run_id="open_1")
    assert report.request_sha256 == digest_scan_request(scan)
    assert [finding.id for finding in report.findings] == ["TEST-001"]


async def test_auto_takes_the_strongest_level_that_its_probe_found() -> None:
    results = {result.level: result for result in await probe_isolation(OPTIONS)}
    assert results[Isolation.PROCESS].is_available
    assert all(bool(result.fix) is not result.is_available for result in results.values())
    strongest = next(level for level in Isolation if results[level].is_available)
    async with GuestPool(replace(OPTIONS, isolation="auto")) as pool:
        assert pool.isolation is strongest


@pytest.fixture
def no_known_machine() -> Iterator[None]:
    """This machine says that it is another one, on which no level holds but that of limits alone."""
    set_personality = ctypes.CDLL(None).personality
    before = set_personality(0xFFFFFFFF)
    set_personality(PER_LINUX32)
    if architecture_of(os.uname().machine) is not None:
        set_personality(before)
        pytest.skip("this machine cannot call itself another")
    yield
    set_personality(before)


@pytest.mark.usefixtures("no_known_machine")
async def test_auto_takes_no_level_below_its_floor() -> None:
    real = JailOptions(guests_per_role=1, spares_per_role=0)  # the actor asks for its machine's calls
    async with GuestPool(real) as weak:
        assert weak.isolation is Isolation.PROCESS
    for floor in (Isolation.STRICT, Isolation.CONFINED):
        pool = GuestPool(replace(real, floor=floor))
        with pytest.raises(GuestFailed, match=f"weaker than {floor} .* unless jail.isolation") as caught:
            await pool.start()
        assert caught.value.code is Code.JAIL_UNAVAILABLE


async def test_a_level_that_is_named_is_taken_below_the_floor_too() -> None:
    options = replace(OPTIONS, isolation=Isolation.PROCESS, floor=Isolation.CONFINED)
    async with GuestPool(options) as pool:
        assert pool.isolation is Isolation.PROCESS


async def test_a_guest_has_none_of_our_environment_and_no_terminal(
    held: GuestPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDROOM_SECRET", "s")
    names = set((await ask(held, "environ", "another")).split())
    assert names <= {"LC_CTYPE", "PWD"}
    # Ctrl-C at a terminal goes to a session: guests must not get it.
    assert {os.getsid(int(pid)) for pid in children()} & {os.getsid(0)} == set()


async def test_a_guest_is_told_the_limits_of_its_role(pool: GuestPool) -> None:
    assert await ask(pool, "settings") == repr(ACTOR.settings)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 1_000_000, 8_000_000])
async def test_frames_of_any_size_cross_both_ways(pool: GuestPool, size: int) -> None:
    assert await ask(pool, f"big {size}") == "x" * size
    assert await ask(pool, "echo " + "y" * size) == "y" * size


async def test_a_guest_serves_one_site_of_one_run_ever(pool: GuestPool) -> None:
    one, two, three = ("a", "r1"), ("b", "r1"), ("a", "r2")
    served = [await ask(pool, "served", *key) for key in (one, one, two, one, three, three, one)]
    # Two places: the third key takes the place of the one unused for longest, which is `two`.
    assert served == ["1", "2", "1", "3", "1", "2", "4"]
    assert await ask(pool, "served", *two) == "1"


async def test_a_guest_serves_one_document_where_that_is_asked_for() -> None:
    async with GuestPool(replace(OPTIONS, by=GuestSharing.DOCUMENT)) as pool:
        assert [await ask(pool, "served") for _ in range(3)] == ["1", "1", "1"]


async def test_documents_of_one_site_are_read_side_by_side(pool: GuestPool) -> None:
    answers = await asyncio.gather(*(ask(pool, f"echo {n}", f"s{n % 3}") for n in range(60)))
    assert answers == [str(n) for n in range(60)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("exit 0", Code.GUEST_CRASHED),
        ("exit 3", Code.GUEST_CRASHED),
        ("crash", Code.GUEST_CRASHED),
        ("raise ValueError", Code.GUEST_CRASHED),
        ("memory", Code.GUEST_MEMORY),
    ],
)
async def test_a_guest_that_dies_costs_one_document(held: GuestPool, body: str, code: Code) -> None:
    with pytest.raises(GuestFailed) as caught:
        await ask(held, body)
    assert caught.value.code is code
    assert "bakery.test" in caught.value.message
    assert await ask(held, "served") == "1"


async def test_a_guest_that_the_kernel_killed_is_told_apart(pool: GuestPool) -> None:
    with pytest.raises(GuestFailed) as caught:
        await ask(pool, "suicide")
    assert caught.value.code is Code.GUEST_MEMORY


async def test_too_deep_a_recursion_is_a_limit_and_the_guest_lives(pool: GuestPool) -> None:
    with pytest.raises(ContentRefused) as caught:
        await ask(pool, "raise RecursionError")
    assert caught.value.code is Code.EXTRACTION_LIMIT
    assert await ask(pool, "served") == "2"


@pytest.mark.parametrize(
    ("body", "bounds", "word"),
    [
        ("loop", {"cpu_seconds": 0.2}, "processor time"),
        ("loop", {"wall_seconds": 0.2}, "more time"),
        ("sleep", {"wall_seconds": 0.2, "cpu_seconds": 0.1}, "more time"),
    ],
)
async def test_a_document_has_so_much_time(body: str, bounds: dict[str, float], word: str) -> None:
    async with GuestPool(replace(OPTIONS, **bounds)) as pool:
        with pytest.raises(GuestFailed) as caught:
            await ask(pool, body)
        assert caught.value.code is Code.GUEST_TIMEOUT
        assert word in caught.value.message
        assert await ask(pool, "served") == "1"


async def test_an_answer_above_the_cap_is_a_limit_of_the_document() -> None:
    async with GuestPool(replace(OPTIONS, answer=AnswerLimits(max_answer_bytes=10_000))) as pool:
        with pytest.raises(ContentRefused) as caught:
            await ask(pool, "big 20000")
        assert caught.value.code is Code.EXTRACTION_LIMIT


async def test_cancelling_kills_the_guest_that_was_busy_with_it(pool: GuestPool) -> None:
    asked = asyncio.create_task(ask(pool, "sleep"))
    await ask(pool, "echo x", "other")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await ask(pool, "served") == "1"


async def test_cancelling_one_who_waits_leaves_the_others_their_turn() -> None:
    async with GuestPool(replace(OPTIONS, guests_per_role=1)) as pool:
        tasks = [asyncio.create_task(ask(pool, f"echo {n}")) for n in range(6)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert answers[1::2] == ["1", "3", "5"]


async def test_a_role_that_cannot_start_is_reported_with_its_words() -> None:
    options = replace(OPTIONS, extract_role=GuestRole(name="actor:Stillborn", folders=(ROOM,)))
    with pytest.raises(GuestFailed, match="no such thing as work") as caught:
        await GuestPool(options).start()
    assert caught.value.code is Code.JAIL_UNAVAILABLE


async def test_auto_does_not_take_a_weaker_level_for_a_role_that_cannot_start() -> None:
    options = replace(
        OPTIONS, isolation="auto", extract_role=GuestRole(name="actor:Stillborn", folders=(ROOM,))
    )
    pool = GuestPool(options)
    with pytest.raises(GuestFailed, match="no such thing as work"):
        await pool.start()
    with pytest.raises(GuestFailed):
        _ = pool.isolation


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def groups() -> set[str]:
    return {str(path) for path in Path("/sys/fs/cgroup").glob(f"**/mudroom-{os.getpid()}-*")}


@pytest.mark.parametrize("level", list(Isolation))
async def test_a_closed_pool_leaves_nothing_behind(level: Isolation) -> None:
    before = (descriptors(), children(), groups())
    pool = GuestPool(replace(OPTIONS, isolation=level, spares_per_role=1))
    try:
        await pool.start()
    except GuestFailed as failure:
        pytest.skip(failure.message)
    await asyncio.gather(*(ask(pool, "echo x", f"s{n}") for n in range(4)))
    with pytest.raises(GuestFailed):
        await ask(pool, "exit 1")
    busy = asyncio.create_task(ask(pool, "sleep"))
    waiting = [asyncio.create_task(ask(pool, "echo x", f"w{n}")) for n in range(3)]
    await asyncio.sleep(0)
    await pool.aclose()
    for task in (busy, *waiting):
        with pytest.raises(GuestFailed):
            await task
    assert (descriptors(), children(), groups()) == before
    with pytest.raises(GuestFailed):
        await ask(pool, "echo x")
