"""Groups are made, counted and removed; where none can be made, that is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mudroom.jail.cgroups import Cgroups, GuestCgroup, sweep


@pytest.mark.parametrize(
    ("name", "content", "kills"),
    [
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 2),
        ("memory.events", "low 0\nhigh 0\nmax 5\noom 1\noom_kill 1\n", 1),
        ("memory.events", "low 0\n", 0),
        ("other", "", 0),
    ],
)
def test_kills_for_memory_are_counted(tmp_path: Path, name: str, content: str, kills: int) -> None:
    (tmp_path / name).write_text(content)
    assert GuestCgroup(folders=(tmp_path,)).oom_kills() == kills


def test_a_group_is_removed_once_it_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / "mudroom-1-1"
    folder.mkdir()
    (folder / "file").touch()
    group = GuestCgroup(folders=(folder,))
    assert not group.remove()
    (folder / "file").unlink()
    assert group.remove()
    assert group.remove()


def test_groups_of_the_dead_are_swept_away_and_no_others(tmp_path: Path) -> None:
    names = [f"mudroom-{os.getpid()}-1", "mudroom-4194305-1", "mudroom-x", "other"]
    for name in names:
        (tmp_path / name).mkdir()
    sweep(tmp_path)
    # No process can have a number above the kernel's largest, 4194304.
    assert {path.name for path in tmp_path.iterdir()} == {names[0], names[2], names[3]}


def test_without_a_writable_group_guests_run_without() -> None:
    none = Cgroups(memory=None, tasks=None, version=0)
    assert none.make(1) is None
    assert none.held == ()


def test_what_this_machine_holds_caps_a_guest() -> None:
    found = Cgroups.find()
    if found.memory is None:
        pytest.skip("no memory controller can be written here")
    group = found.make(64 * 1024 * 1024)
    assert group is not None
    try:
        limits = [
            path for name in ("memory.limit_in_bytes", "memory.max") for path in group.folders[0].glob(name)
        ]
        assert [int(path.read_text()) for path in limits] == [64 * 1024 * 1024]
        assert f"mudroom-{os.getpid()}-" in group.folders[0].name
    finally:
        assert group.remove()
