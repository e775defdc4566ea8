import errno
import os
from collections.abc import AsyncIterator
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
