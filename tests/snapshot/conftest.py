from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SnapshotOptions, SourceKind
from mudroom.snapshot.disk import Disk, SystemDisk

_START = datetime(2026, 11, 30, 12, 0, 0, 0, UTC)


class FixedClock:
    """Stands still."""

    def now(self) -> datetime:
        return _START

    def monotonic(self) -> float:
        return 0.0


class FaultyDisk(SystemDisk):
    """Takes `room_bytes` and then raises `fault`; its truncate and sync can fail too."""

    def __init__(self) -> None:
        self.room_bytes: int | None = None
        self.fault: OSError | None = None
        self.sync_fault: OSError | None = None
        self.truncate_fault: OSError | None = None
        self.syncs = 0

    def write(self, descriptor: int, data: memoryview, offset: int) -> int:
        if self.room_bytes is None or self.fault is None:
            return super().write(descriptor, data, offset)
        if self.room_bytes == 0:
            raise self.fault
        taken = super().write(descriptor, data[: self.room_bytes], offset)
        self.room_bytes -= taken
        return taken

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        if self.sync_fault:
            raise self.sync_fault
        super().sync(descriptor)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        if self.truncate_fault:
            raise self.truncate_fault
        super().truncate(descriptor, size_bytes)


def page(
    path: str = "p", body: bytes = b"<p>hello", *, seconds: int = 0, run_id: str = "crawl_1"
) -> SnapshotInput:
    url = f"https://example.org/{path}"
    return SnapshotInput(
        kind=SourceKind.PAGE,
        requested_url=url,
        url=url,
        status=200,
        fetched_at=_START + timedelta(seconds=seconds),
        body=body,
        headers=(("Content-Type", "text/html"),),
        raw_header=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        run_id=run_id,
    )


OpenStore = Callable[..., FileSnapshotStore]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "private" / "archive"


@pytest.fixture
async def open_store(root: Path) -> AsyncIterator[OpenStore]:
    """Opens stores on one folder, as so many processes would, and closes them all."""
    async with AsyncExitStack() as stack:

        def make(disk: Disk | None = None, **options: int) -> FileSnapshotStore:
            made = FileSnapshotStore(root, SnapshotOptions(**options), FixedClock(), disk=disk)
            stack.push_async_callback(made.aclose)
            return made

        yield make
