import asyncio
from pathlib import Path

import pytest

from mudroom.assembly.build import build_scheduler
from mudroom.errors import InvalidConfig
from mudroom.fetch import Priority
from mudroom.settings import Settings, load_settings
from mudroom.testing.clocks import FixedClock


def load(folder: Path, **fetch: object) -> Settings:
    overrides = {("fetch", key): value for key, value in fetch.items()}
    return load_settings({"HOME": str(folder)}, workspace=folder, overrides=overrides)


async def count_running(settings: Settings, *, hosts: int, protocol: str = "HTTP/1.1") -> int:
    """How many of 50 hops to each host run at once, when each host has answered by a protocol."""
    slots = build_scheduler(settings, FixedClock())
    held = [
        slots.hold(f"http://{number}.test", f"{number}.test", Priority.NORMAL)
        for number in range(hosts)
        for _ in range(50)
    ]
    for slot in held:
        slots.enter(slot)
        slot.note_answer(protocol, 200, ())
    await asyncio.sleep(0)
    return slots.running


@pytest.mark.parametrize(
    ("fetch", "hosts", "protocol", "running"),
    [
        ({}, 1, "HTTP/1.1", 6),
        ({}, 1, "HTTP/2", 16),
        ({}, 9, "HTTP/1.1", 32),
        ({"global_slots": 40}, 9, "HTTP/1.1", 40),
        ({"origin_slots": 9}, 1, "HTTP/1.1", 9),
        ({"http2_origin_slots": 20}, 1, "HTTP/2", 20),
        ({"host_delay_seconds": 1.0}, 1, "HTTP/1.1", 1),
        ({"host_delay_seconds": 1.0}, 3, "HTTP/1.1", 3),
    ],
)
async def test_settings_say_how_many_exchanges_run_at_once(
    tmp_path: Path, fetch: dict[str, object], hosts: int, protocol: str, running: int
) -> None:
    assert await count_running(load(tmp_path, **fetch), hosts=hosts, protocol=protocol) == running


@pytest.mark.parametrize("key", ["global_slots", "origin_slots", "http2_origin_slots"])
@pytest.mark.parametrize("value", [0, -1])
def test_no_slots_at_all_is_a_fault_of_the_settings(tmp_path: Path, key: str, value: int) -> None:
    with pytest.raises(InvalidConfig, match=f"fetch.{key}"):
        load(tmp_path, **{key: value})


@pytest.mark.parametrize("key", ["host_delay_seconds", "max_host_pause_seconds"])
def test_a_negative_time_is_a_fault_of_the_settings(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidConfig, match=f"fetch.{key}"):
        load(tmp_path, **{key: -1})
