"""Who is served when guests are fewer than sites: nobody waits for ever, nobody gets another's guest."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from mudroom.errors import GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource
from mudroom.jail import ExtractRequest, GuestPool, GuestRole, GuestSharing, JailOptions
from mudroom.model import Isolation, View

ACTOR = GuestRole(name="actor:Actor", folders=(Path(__file__).parent / "room",))
OPTIONS = JailOptions(
    isolation=Isolation.PROCESS, extract_role=ACTOR, scan_role=ACTOR, max_memory_bytes=400 * 1024 * 1024
)


async def ask(pool: GuestPool, body: str, site: str) -> str:
    source = ExtractSource(url="https://bakery.test/", content_type="text/html")
    request = ExtractRequest(body=body.encode(), source=source, limits=ExtractLimits())
    return (await pool.extract(request, site=site, run_id="r")).views[View.MARKDOWN]


@pytest.mark.parametrize("by", list(GuestSharing))
@pytest.mark.parametrize(("guests", "spares"), [(1, 0), (1, 1), (2, 0), (2, 1)])
async def test_every_request_is_answered_whatever_the_mix(by: GuestSharing, guests: int, spares: int) -> None:
    options = replace(OPTIONS, by=by, guests_per_role=guests, spares_per_role=spares)
    async with GuestPool(options) as pool:

        async def read(number: int) -> str:
            body = "exit 1" if number % 7 == 3 else f"echo {number}"
            try:
                return await ask(pool, body, "abaacaab"[number % 8])
            except GuestFailed:
                return "failed"

        answers = await asyncio.gather(*(read(number) for number in range(24)))
        assert all(answer in {str(number), "failed"} for number, answer in enumerate(answers))


async def test_guests_of_one_site_stay_within_their_places() -> None:
    async with GuestPool(replace(OPTIONS, guests_per_role=2, spares_per_role=1)) as pool:
        answers = await asyncio.gather(*(ask(pool, "served", "one") for _ in range(40)))
        # Each guest counts from one.
        assert sum(answer == "1" for answer in answers) <= 2


@pytest.mark.parametrize("spares", [0, 1])
async def test_one_site_cannot_starve_another(spares: int) -> None:
    async with GuestPool(replace(OPTIONS, guests_per_role=1, spares_per_role=spares)) as pool:
        done: list[str] = []

        async def read(site: str, times: int) -> None:
            for _ in range(times):
                await ask(pool, "echo x", site)
                done.append(site)

        greedy = [asyncio.create_task(read("greedy", 40)) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.gather(read("patient", 1), *greedy)
        assert done.index("patient") < 60


async def test_a_spare_is_started_for_the_second_site_not_for_the_only_one() -> None:
    async with GuestPool(replace(OPTIONS, guests_per_role=2, spares_per_role=1)) as pool:
        ward = pool._extracting
        assert ward is not None
        for _ in range(3):
            await ask(pool, "echo x", "only")
        assert ward._refill is None
        await ask(pool, "echo x", "second")
        assert ward._refill is not None
