"""A room holds what a guest needs, and nothing of the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mudroom
from mudroom.errors import GuestFailed
from mudroom.jail.furniture import choose_furniture, find_bwrap, outermost, system_folders
from mudroom.jail.options import GuestRole
from mudroom.jail.users import SlotUsers, has_range


def test_the_room_holds_the_real_interpreter_and_the_package() -> None:
    room = choose_furniture(GuestRole(name="probe"))
    package = Path(mudroom.__file__).parent
    assert room.interpreter.is_file()
    assert not room.interpreter.is_symlink()
    assert package in room.shown
    assert room.search_path == (package.parent,)
    assert all(path.exists() for path in room.shown)


def test_packages_bring_their_folder_and_what_is_not_installed_is_passed_over() -> None:
    room = choose_furniture(GuestRole(name="probe", packages=("webencodings", "no_such_package_anywhere")))
    assert len(room.search_path) == 2
    assert (room.search_path[1] / "webencodings").is_dir()


def test_no_room_holds_a_home_or_the_root() -> None:
    room = choose_furniture(GuestRole(name="probe", packages=("webencodings",)))
    for path in (*room.shown, *system_folders()):
        assert not Path.home().is_relative_to(path)
        assert not Path.cwd().is_relative_to(path)


def test_folders_inside_others_are_left_out() -> None:
    paths = [Path("/a/b"), Path("/a"), Path("/c/d"), Path("/a/b"), Path("/c/dd")]
    assert outermost(paths) == (Path("/a"), Path("/c/d"), Path("/c/dd"))


def test_bwrap_is_found_with_the_libraries_beside_it() -> None:
    found = find_bwrap()
    if sys.platform != "linux":
        assert found is None
        return
    assert found is not None
    assert found.folder is None or found.program.is_relative_to(found.folder)


@pytest.mark.parametrize(
    ("lines", "holds"),
    [
        ("0 0 4294967295", True),
        ("0 1000 1\n1 100000 65536", True),
        ("0 1000 1", False),
        ("0 100000 65200", False),
        ("65101 100000 256", False),
        ("65100 100000 256", True),
    ],
)
def test_a_root_without_other_users_cannot_give_guests_their_own(
    tmp_path: Path, lines: str, holds: bool
) -> None:
    (tmp_path / "uid_map").write_text(lines)
    assert has_range(tmp_path / "uid_map", 65_100) is holds


def test_each_guest_of_root_has_a_user_of_its_own() -> None:
    users = SlotUsers(base=70_000)
    taken = [users.take() for _ in range(10)]
    assert len(set(taken)) == 10
    assert all(70_000 <= uid < 70_256 for uid in taken)
    users.give_back(taken[3])
    assert users.take() == taken[3]


def test_guests_of_two_mudrooms_of_one_root_never_have_one_user(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    ours, theirs = (SlotUsers(70_000, tmp_path / "users") for _ in range(2))
    taken, others = [ours.take() for _ in range(100)], [theirs.take() for _ in range(100)]
    assert len({*taken, *others}) == 200
    for uid in taken:
        ours.give_back(uid)
    assert {theirs.take() for _ in range(100)} == set(taken)
    others += taken
    rest = [ours.take() for _ in range(56)]
    with pytest.raises(GuestFailed, match="are taken"):
        ours.take()
    for users, uids in ((ours, rest), (theirs, others)):
        for uid in uids:
            users.give_back(uid)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_users_of_a_mudroom_that_was_killed_are_free_again(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from mudroom.jail.users import SlotUsers\n"
        "users = SlotUsers(70_000, pathlib.Path(sys.argv[1]))\n"
        "print([users.take() for _ in range(256)][-1], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    source = Path(__file__).parents[2] / "src"
    killed = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "users")],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        check=False,
    )
    assert killed.stdout == b"70255\n"
    users = SlotUsers(70_000, tmp_path / "users")
    assert len({users.take() for _ in range(256)}) == 256
    for uid in range(70_000, 70_256):
        users.give_back(uid)


def test_without_a_ledger_numbers_begin_at_random(tmp_path: Path) -> None:
    firsts = {SlotUsers(70_000, tmp_path / "gone" / "users").take() for _ in range(20)}
    assert len(firsts) > 1
