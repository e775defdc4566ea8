"""A body to a file and to consumers at once: all of it or nothing, and what happens when one of them fails."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest

from mudroom.errors import Code, FetchFailed, MudroomError, StoreFailed
from mudroom.fetch import BodyReader, Fetcher, FetchRequest, FileSink, Pump, Reply
from mudroom.fetch.file_sink import read_mask
from mudroom.net import NetLimits

CHUNKS = [bytes([n]) * 16_384 for n in range(100)]
BODY = b"".join(CHUNKS)


class World(Protocol):
    """See conftest."""

    DROP: str
    open: Callable[..., Fetcher]
    ask: Callable[..., FetchRequest]
    serve: Callable[..., None]
    settle: Callable[[], Awaitable[None]]


async def begin(world: World, *steps: Any, **settings: Any) -> Reply:
    world.serve("/", *steps)
    fetcher = world.open(limits=NetLimits(**settings))
    return await fetcher.submit(world.ask("/", is_streaming=True))


async def read(reader: BodyReader) -> bytes:
    return b"".join([chunk async for chunk in reader])


async def failure(asking: Awaitable[Any]) -> MudroomError:
    with pytest.raises(MudroomError) as caught:
        await asking
    return caught.value


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class BrokenSink:
    """A file that fails when so many bytes have been taken, or at its end."""

    def __init__(self, after_bytes: int | None) -> None:
        self._after_bytes = after_bytes

    async def take(self, chunks: AsyncIterator[bytes]) -> int:
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            if self._after_bytes is not None and size >= self._after_bytes:
                break
        raise StoreFailed(Code.NO_SPACE, "the disk is full")


async def test_a_file_and_its_consumers_get_the_same_bytes(world: World, tmp_path: Path) -> None:
    target = tmp_path / "page.bin"
    target.write_bytes(b"of yesterday")
    pump = Pump(await begin(world, *CHUNKS), FileSink(target))
    readers = [asyncio.create_task(read(pump.subscribe())) for _ in range(2)]
    pumped = await pump.run()
    assert (pumped.size_bytes, pumped.is_kept, pumped.failure) == (len(BODY), True, None)
    assert await asyncio.gather(*readers) == [BODY, BODY]
    assert target.read_bytes() == BODY
    assert names_in(tmp_path) == ["page.bin"]
    await world.settle()


async def test_a_file_alone_and_consumers_alone_will_do(world: World, tmp_path: Path) -> None:
    target = tmp_path / "page.bin"
    assert (await Pump(await begin(world, *CHUNKS), FileSink(target)).run()).is_kept
    assert target.read_bytes() == BODY
    pump = Pump(await begin(world, *CHUNKS))
    reading = asyncio.create_task(read(pump.subscribe()))
    assert not (await pump.run()).is_kept
    assert await reading == BODY


async def test_a_file_has_the_mode_that_its_user_gives_to_files(paper: World, tmp_path: Path) -> None:
    target, other = tmp_path / "page.bin", tmp_path / "other"
    other.touch()
    await Pump(await begin(paper, b"x"), FileSink(target)).run()
    assert target.stat().st_mode == other.stat().st_mode


def test_threads_that_ask_for_the_mask_at_once_leave_it_as_it_was() -> None:
    interval, mask, start = sys.getswitchinterval(), read_mask(), threading.Barrier(4)

    def ask() -> set[int]:
        start.wait(30)
        return {read_mask() for _ in range(100_000)}

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert [each.result() for each in [threads.submit(ask) for _ in range(4)]] == [{mask}] * 4
        assert read_mask() == mask
    finally:
        sys.setswitchinterval(interval)
        os.umask(mask)


async def test_a_link_at_the_name_is_replaced_and_not_followed(paper: World, tmp_path: Path) -> None:
    target, aim = tmp_path / "page.bin", tmp_path / "aim"
    aim.write_bytes(b"mine")
    target.symlink_to(aim)
    await Pump(await begin(paper, b"x"), FileSink(target)).run()
    assert (aim.read_bytes(), target.read_bytes(), target.is_symlink()) == (b"mine", b"x", False)


async def test_a_body_that_breaks_off_leaves_no_file_and_tells_every_consumer(
    world: World, tmp_path: Path
) -> None:
    pump = Pump(await begin(world, *CHUNKS, world.DROP), FileSink(tmp_path / "page.bin"))
    readers = [asyncio.create_task(read(pump.subscribe())) for _ in range(2)]
    assert (await failure(pump.run())).code is Code.CONNECTION_LOST
    for reading in readers:
        assert (await failure(reading)).code is Code.CONNECTION_LOST
    assert names_in(tmp_path) == []
    await world.settle()


async def test_whoever_cancels_the_pump_leaves_nothing(sockets: Any, tmp_path: Path) -> None:
    pump = Pump(await begin(sockets, *CHUNKS, asyncio.Event()), FileSink(tmp_path / "page.bin"))
    reader = pump.subscribe()
    running = asyncio.create_task(pump.run())
    await anext(reader)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert (await failure(read(reader))).code is Code.CANCELLED
    assert names_in(tmp_path) == []
    await sockets.site.wait_for_close()
    await sockets.settle()


class SlowDisk(ThreadPoolExecutor):
    """Threads of which the first call stands still until it is let go."""

    def __init__(self) -> None:
        super().__init__(2)
        self.is_let_go = threading.Event()
        self._is_first = True

    def submit(self, call: Any, /, *arguments: Any, **options: Any) -> Any:
        stands, self._is_first = self._is_first, False

        def run() -> Any:
            if stands:
                self.is_let_go.wait(30)
            return call(*arguments, **options)

        return super().submit(run)


async def test_whoever_cancels_waits_for_a_slow_disk_so_that_nothing_outlives_him(tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"x"

    disk = SlowDisk()
    asyncio.get_running_loop().set_default_executor(disk)
    taking = asyncio.create_task(FileSink(tmp_path / "page.bin").take(chunks()))
    for _ in range(3):  # an impatient one
        await asyncio.sleep(0)
        taking.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not taking.done()
    disk.is_let_go.set()
    await asyncio.wait([taking])
    assert taking.cancelled()
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("after_bytes", [1, 40_000, None])
async def test_a_file_that_fails_costs_its_consumers_nothing(world: World, after_bytes: int | None) -> None:
    pump = Pump(await begin(world, *CHUNKS), BrokenSink(after_bytes))
    reading = asyncio.create_task(read(pump.subscribe()))
    pumped = await pump.run()
    assert await reading == BODY
    assert not pumped.is_kept
    assert pumped.failure is not None
    assert pumped.failure.code is Code.NO_SPACE
    await world.settle()


@pytest.mark.parametrize("after_bytes", [1, 40_000, None])
async def test_a_file_that_fails_alone_is_the_failure(world: World, after_bytes: int | None) -> None:
    pump = Pump(await begin(world, *CHUNKS), BrokenSink(after_bytes))
    error = await failure(pump.run())
    assert isinstance(error, StoreFailed)
    assert error.code is Code.NO_SPACE
    await world.settle()


async def test_a_file_that_fails_alone_does_not_wait_for_a_slow_peer(paper: World) -> None:
    pump = Pump(await begin(paper, b"x" * 5120, asyncio.Event()), BrokenSink(1))
    assert (await failure(pump.run())).code is Code.NO_SPACE
    await paper.settle()


NOWHERE = [
    ("no such folder", lambda folder: folder / "missing" / "page.bin"),
    ("a folder", lambda folder: folder),
    ("a file where a folder should be", lambda folder: folder / "file" / "page.bin"),
]


@pytest.mark.parametrize("choose", [row[1] for row in NOWHERE], ids=[row[0] for row in NOWHERE])
async def test_a_file_that_cannot_be_written_is_named(
    paper: World, tmp_path: Path, choose: Callable[[Path], Path]
) -> None:
    (tmp_path / "file").touch()
    target = choose(tmp_path)
    before = sorted(tmp_path.parent.rglob("*"))
    error = await failure(Pump(await begin(paper, *CHUNKS), FileSink(target)).run())
    assert error.code is Code.STORE_UNAVAILABLE
    assert str(target) in error.message
    pump = Pump(await begin(paper, *CHUNKS), FileSink(target))
    reading = asyncio.create_task(read(pump.subscribe()))
    assert (await pump.run()).failure is not None
    assert await reading == BODY
    assert sorted(tmp_path.parent.rglob("*")) == before


async def test_a_consumer_that_stalls_lags_and_the_file_is_kept(paper: World, tmp_path: Path) -> None:
    pump = Pump(await begin(paper, *CHUNKS), FileSink(tmp_path / "page.bin"))
    slow, quick = pump.subscribe(), asyncio.create_task(read(pump.subscribe()))
    pumped = await pump.run()
    assert pumped.is_kept
    assert (await failure(read(slow))).code is Code.CONSUMER_LAGGED
    assert await quick == BODY


async def test_when_every_consumer_has_left_the_transfer_ends(paper: World) -> None:
    pump = Pump(await begin(paper, *CHUNKS))
    reader = pump.subscribe()
    running = asyncio.create_task(pump.run())
    await anext(reader)
    reader.close()
    error = await failure(running)
    assert isinstance(error, FetchFailed)
    assert error.code is Code.CANCELLED
    await paper.settle()


async def test_a_sink_with_a_fault_of_its_own_does_not_hang_the_others(paper: World) -> None:
    class Faulty:
        async def take(self, chunks: AsyncIterator[bytes]) -> int:
            await anext(chunks)
            raise LookupError("a fault")

    pump = Pump(await begin(paper, *CHUNKS), Faulty())
    reading = asyncio.create_task(read(pump.subscribe()))
    with pytest.raises(LookupError):
        await pump.run()
    assert await reading == BODY
    await paper.settle()
