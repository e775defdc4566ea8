import asyncio
import errno
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from mudroom.cli.saving import FileDestination
from mudroom.errors import Code, FetchFailed, StoreFailed


async def body(*chunks: bytes | Exception) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_whole_body_replaces_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_bytes(b"old")
    assert await FileDestination(target).take(body(b"ne", b"w")) == 3
    assert (target.read_bytes(), names(tmp_path)) == (b"new", ["f"])


async def test_a_file_has_the_mode_that_its_user_gives_files(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        await FileDestination(tmp_path / "f").take(body(b"x"))
    finally:
        os.umask(mask)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (FetchFailed(Code.CONNECTION_LOST, "gone"), Code.CONNECTION_LOST),
        (OSError(errno.ENOSPC, "No space left on device"), Code.NO_SPACE),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Code.NO_SPACE),
        (OSError(errno.EIO, "Input/output error"), Code.STORE_UNAVAILABLE),
    ],
    ids=str,
)
async def test_of_a_body_that_breaks_off_nothing_is_left(
    tmp_path: Path, fault: Exception, expected: Code
) -> None:
    target = tmp_path / "f"
    target.write_bytes(b"old")
    with pytest.raises((FetchFailed, StoreFailed)) as caught:
        await FileDestination(target).take(body(b"half", fault))
    assert caught.value.code is expected
    assert (target.read_bytes(), names(tmp_path)) == (b"old", ["f"])


async def test_a_link_is_replaced_and_what_it_led_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "f").symlink_to("precious")
    await FileDestination(tmp_path / "f").take(body(b"new"))
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert not (tmp_path / "f").is_symlink()


@pytest.mark.parametrize("name", [".", "gone/f", "x" * 300])
async def test_a_place_that_cannot_be_written_is_told_before_anything_is_read(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(StoreFailed) as caught:
        await FileDestination(tmp_path / name).take(body(AssertionError("the body was read")))
    assert caught.value.code is Code.STORE_UNAVAILABLE
    assert names(tmp_path) == []


async def read_pipe(descriptor: int, writing: asyncio.Task[int]) -> bytes:
    """What came through a pipe, read in small bites until its writer is done."""
    got = b""
    while True:
        is_done = writing.done()
        piece = None
        with suppress(BlockingIOError):
            piece = os.read(descriptor, 4096)
        if is_done and not piece:
            return got
        got += piece or b""
        await asyncio.sleep(0)


async def test_a_pipe_is_written_through_at_the_pace_of_its_reader(tmp_path: Path) -> None:
    target = tmp_path / "pipe"
    os.mkfifo(target)
    sent = os.urandom(300_000)  # more than a pipe holds
    taking = asyncio.create_task(FileDestination(target).take(body(sent, b"end")))
    await asyncio.sleep(0)  # nobody reads yet, which costs it nothing
    reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
    try:
        got = await read_pipe(reader, taking)
        assert await taking == len(sent) + 3
    finally:
        os.close(reader)
    assert got == sent + b"end"
    assert (stat.S_ISFIFO(target.lstat().st_mode), names(tmp_path)) == (True, ["pipe"])


async def test_waiting_for_the_reader_of_a_pipe_can_be_cancelled(tmp_path: Path) -> None:
    target = tmp_path / "pipe"
    os.mkfifo(target)
    taking = asyncio.create_task(FileDestination(target).take(body(b"x")))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking


async def test_a_pipe_whose_reader_goes_is_a_failed_store(tmp_path: Path) -> None:
    target = tmp_path / "pipe"
    os.mkfifo(target)
    reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK)

    async def leave() -> AsyncIterator[bytes]:
        os.close(reader)
        yield b"x"

    with pytest.raises(StoreFailed):
        await FileDestination(target).take(leave())


async def test_a_device_is_written_through_and_stays_a_device(tmp_path: Path) -> None:
    target = tmp_path / "null"
    try:
        os.mknod(target, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(target, os.O_WRONLY))
    except PermissionError:
        pytest.skip("only root, and on a file system with devices, makes one")
    assert await FileDestination(target).take(body(b"gone", b"!")) == 5
    assert (stat.S_ISCHR(target.lstat().st_mode), names(tmp_path)) == (True, ["null"])


async def test_a_link_to_a_device_is_written_through_too(tmp_path: Path) -> None:
    target = tmp_path / "link"
    target.symlink_to("/dev/null")
    assert await FileDestination(target).take(body(b"gone")) == 4
    assert (str(target.readlink()), names(tmp_path)) == ("/dev/null", ["link"])


async def test_the_names_of_what_is_open_are_written_through(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        await FileDestination(Path(f"/dev/fd/{file.fileno()}")).take(body(b"new"))
    assert ((tmp_path / "out").read_bytes(), names(tmp_path)) == (b"new", ["out"])


async def test_a_socket_is_refused_and_stays_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name has few characters
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with pytest.raises(StoreFailed) as caught:
            await FileDestination(tmp_path / "s").take(body(AssertionError("the body was read")))
    assert "is a socket" in caught.value.message
    assert stat.S_ISSOCK((tmp_path / "s").lstat().st_mode)


async def test_a_link_to_a_folder_is_refused_as_the_folder_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "f").symlink_to("folder")
    with pytest.raises(StoreFailed):
        await FileDestination(tmp_path / "f").take(body(AssertionError("the body was read")))
    assert (tmp_path / "f").is_symlink()


async def test_a_terminal_is_refused_by_its_name(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        with pytest.raises(StoreFailed) as caught:
            await FileDestination(Path(os.ttyname(theirs))).take(body(AssertionError("the body was read")))
    finally:
        os.close(ours)
        os.close(theirs)
    assert "is a terminal" in caught.value.message
