import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mudroom.fetch import FileHstsStore, HstsEntry
from mudroom.testing.clocks import FixedClock

ENTRY = HstsEntry(expires_at=2e9, include_subdomains=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "hsts.json"


def open_store(path: Path, **options: float) -> FileHstsStore:
    return FileHstsStore(path, FixedClock(), **options)  # type: ignore[arg-type] - options differ in type


def hosts_in(path: Path) -> list[str]:
    return [row[1] for row in json.loads(path.read_bytes())["hosts"]] if path.exists() else []


def modes_in(folder: Path) -> dict[str, int]:
    return {one.name: one.stat().st_mode & 0o777 for one in (folder, *folder.iterdir())}


def put(path: Path, content: bytes | None) -> None:
    path.parent.mkdir(exist_ok=True)
    if content is not None:
        path.write_bytes(content)


async def keep(path: Path, *hosts: str, entry: HstsEntry = ENTRY) -> None:
    async with open_store(path) as store:
        for host in hosts:
            store.store("tab", host, entry)


async def test_what_one_run_learned_the_next_one_knows(path: Path) -> None:
    await keep(path, "site.test", "bücher.test")
    async with open_store(path) as store:
        assert store.load("tab", "site.test") == ENTRY
        assert store.load("tab", "bücher.test") == ENTRY
        assert store.load("", "site.test") is None
    assert modes_in(path.parent) == {"state": 0o700, "hsts.json": 0o600, "hsts.lock": 0o600}


async def test_what_was_removed_or_has_ended_is_not_kept(path: Path) -> None:
    await keep(path, "site.test", "gone.test")
    await keep(path, "ended.test", entry=HstsEntry(expires_at=1.0, include_subdomains=True))
    async with open_store(path) as store:
        store.remove("tab", "gone.test")
    assert hosts_in(path) == ["site.test"]


async def test_two_processes_do_not_undo_each_other(path: Path) -> None:
    await keep(path, "old.test")
    async with open_store(path) as one, open_store(path) as two:
        one.store("tab", "one.test", ENTRY)
        two.store("tab", "two.test", ENTRY)
        two.remove("tab", "old.test")
    async with open_store(path) as store:
        known = [host for host in ("old.test", "one.test", "two.test") if store.load("tab", host)]
    assert known == ["one.test", "two.test"]


async def test_it_is_written_while_it_is_open_and_once_for_many_changes(path: Path) -> None:
    put(path, None)
    async with open_store(path, delay_seconds=0.001) as store:
        for number in range(100):
            store.store("", f"{number}.test", ENTRY)
        assert hosts_in(path) == []
        while not hosts_in(path):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0)
        assert len(hosts_in(path)) == 100


async def test_no_more_hosts_are_kept_than_may_be(path: Path) -> None:
    await keep(path, *(f"{number}.test" for number in range(9)))
    async with open_store(path, max_hosts=3) as store:
        store.store("tab", "new.test", ENTRY)
    assert hosts_in(path) == ["7.test", "8.test", "new.test"]


async def test_a_workspace_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    await keep(tmp_path / "workspace" / "state" / "hsts.json", "site.test")
    assert modes_in(tmp_path).keys() == {tmp_path.name}


async def test_nothing_is_written_where_nothing_was_learned(path: Path) -> None:
    async with open_store(path) as store:
        store.load("", "site.test")
    assert not path.parent.exists()


DAMAGE = [
    b"",
    b"\xff\xfe",
    b"[]",
    b'{"schema": "mudroom.hsts/1"}',
    b'{"schema": "mudroom.hsts/2", "hosts": []}',
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "site.test", 2e9]]}',
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "", 2e9, true]]}',
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "site.test", NaN, true]]}',
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "site.test", Infinity, true]]}',
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "site.test", 1' + b"0" * 4000 + b", true]]}",
    b'{"schema": "mudroom.hsts/1", "hosts": [["", "site.test", "2e9", true]]}',
    b'{"schema": "mudroom.hsts/1", "hosts": [[1, "site.test", 2e9, true]]}',
    b"[" * 200_000,
]


@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
async def test_a_damaged_file_costs_what_it_held_and_a_warning(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    put(path, content)
    with caplog.at_level(logging.WARNING):
        await keep(path, "new.test")
    assert "damaged" in caplog.messages[0]
    async with open_store(path) as store:
        assert store.load("tab", "new.test") == ENTRY
        assert store.load("", "site.test") is None


def link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("make", [Path.mkdir, link, os.mkfifo], ids=["folder", "link", "pipe"])
async def test_what_is_no_file_costs_no_fetch(
    path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    put(path, None)
    make(path)
    with caplog.at_level(logging.WARNING):
        await keep(path, "new.test")
    assert caplog.messages


@pytest.mark.parametrize("make", [link, os.mkfifo, lambda path: path.hardlink_to(path.parent.parent / "own")])
async def test_what_lies_where_the_file_is_made_is_neither_waited_for_nor_written_to(
    path: Path, make: Callable[[Path], None]
) -> None:
    put(path, None)
    own = path.parent.parent / "own"
    own.write_bytes(b"somebody's own")
    make(path.with_suffix(".partial"))
    await asyncio.wait_for(keep(path, "new.test"), 10)
    assert hosts_in(path) == ["new.test"]
    assert own.read_bytes() == b"somebody's own"


async def test_a_folder_that_cannot_be_written_costs_a_warning_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        await keep(tmp_path / "state" / "hsts.json", "site.test")
    assert "cannot be written" in caplog.text
