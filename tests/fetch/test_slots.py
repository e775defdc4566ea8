import asyncio
import tracemalloc

import pytest

from mudroom.fetch import OriginSlots, Priority


class Running:
    """Tasks that hold a slot until told."""

    def __init__(self, slots: OriginSlots) -> None:
        self._slots = slots
        self.started: list[str] = []
        self.release = asyncio.Event()

    def start(self, origin: str, count: int = 1) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._hold(origin)) for _ in range(count)]

    async def _hold(self, origin: str) -> None:
        async with self._slots.hold(origin, Priority.NORMAL):
            self.started.append(origin)
            await self.release.wait()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_stalled_origin_leaves_the_others_their_slots() -> None:
    slots = OriginSlots(global_slots=8, origin_slots=6)
    running = Running(slots)
    tasks = running.start("http://stalled.test", 40) + running.start("http://other.test")
    await settle()
    assert running.started.count("http://stalled.test") == 6
    assert running.started.count("http://other.test") == 1
    running.release.set()
    await asyncio.gather(*tasks)


async def test_no_more_than_the_global_slots_run_at_once() -> None:
    running = Running(OriginSlots(global_slots=3, origin_slots=2))
    tasks = [task for n in range(4) for task in running.start(f"http://{n}.test", 2)]
    await settle()
    assert len(running.started) == 3
    running.release.set()
    await asyncio.gather(*tasks)
    assert len(running.started) == 8


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    slots = OriginSlots(global_slots=1, origin_slots=1)
    running = Running(slots)
    [first, second, third] = [*running.start("http://a.test", 2), *running.start("http://b.test")]
    await settle()
    second.cancel()
    third.cancel()
    await asyncio.gather(second, third, return_exceptions=True)
    running.release.set()
    await first
    for origin in ("http://a.test", "http://b.test"):
        async with asyncio.timeout(5), slots.hold(origin, Priority.NORMAL):
            pass


async def test_who_gives_up_before_a_global_slot_gives_its_origins_slot_back() -> None:
    slots = OriginSlots(global_slots=1, origin_slots=1)
    running = Running(slots)
    elsewhere = running.start("http://b.test")
    await settle()
    given_up, waiting = running.start("http://a.test", 2)
    await settle()
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    running.release.set()
    await asyncio.wait_for(asyncio.gather(*elsewhere, waiting), timeout=5)
    assert running.started == ["http://b.test", "http://a.test"]


async def test_a_slot_that_was_handed_to_one_who_gives_up_goes_on_to_the_next() -> None:
    running = Running(OriginSlots(global_slots=1, origin_slots=1))
    [first] = running.start("http://a.test")
    await settle()
    given_up, waiting = running.start("http://a.test", 2)
    await settle()
    running.release.set()
    await first
    given_up.cancel()
    await asyncio.wait_for(asyncio.gather(given_up, waiting, return_exceptions=True), timeout=5)
    assert running.started.count("http://a.test") >= 2


async def test_hops_start_in_the_order_in_which_they_came() -> None:
    slots = OriginSlots(global_slots=1, origin_slots=1)
    order: list[int] = []

    async def hop(number: int) -> None:
        async with slots.hold("http://a.test", Priority.NORMAL):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(hop(number) for number in range(20)))
    assert order == list(range(20))


async def test_nothing_is_remembered_of_origins_that_have_gone() -> None:
    slots = OriginSlots()
    tracemalloc.start()
    try:
        for number in range(2000):
            async with slots.hold(f"http://{number}.test", Priority.NORMAL):
                pass
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000  # 2,000 gates would take ten times as much


@pytest.mark.parametrize("limits", [{"global_slots": 0}, {"origin_slots": 0}])
def test_no_slots_at_all_is_a_mistake(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        OriginSlots(**limits)
