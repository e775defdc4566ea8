"""Local files: only what is a file, by what was opened and not by what was named."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mudroom.errors import Code, FileRefused
from mudroom.intake import read_local_file, read_stream


def _link(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(b"secret")
    path.symlink_to(target)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


REFUSED: list[tuple[str, Callable[[Path], object], Code]] = [
    ("missing", lambda _path: None, Code.FILE_NOT_FOUND),
    ("symbolic-link", _link, Code.FILE_NOT_REGULAR),
    ("dangling-link", lambda path: path.symlink_to("nowhere"), Code.FILE_NOT_REGULAR),
    ("folder", Path.mkdir, Code.FILE_NOT_REGULAR),
    ("pipe-without-writer", os.mkfifo, Code.FILE_NOT_REGULAR),
    ("socket", _socket, Code.FILE_NOT_REGULAR),
    ("too-large", lambda path: path.write_bytes(b"x" * 11), Code.FILE_TOO_LARGE),
]


@pytest.mark.parametrize(("make", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_no_plain_file_is_refused_by_name_and_code(
    tmp_path: Path, make: Callable[[Path], object], code: Code
) -> None:
    path = tmp_path / "it"
    make(path)
    with pytest.raises(FileRefused) as caught:
        read_local_file(path, 10)
    assert caught.value.code is code
    assert "it" in caught.value.message


def test_a_device_is_refused() -> None:
    with pytest.raises(FileRefused) as caught:
        read_local_file(Path("/dev/zero"), 10)
    assert caught.value.code is Code.FILE_NOT_REGULAR


def test_a_path_through_a_file_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileRefused) as caught:
        read_local_file(tmp_path / "file" / "deeper", 10)
    assert caught.value.code is Code.FILE_NOT_FOUND


@pytest.mark.parametrize("size", [0, 1, 10])
def test_a_file_up_to_the_limit_is_read_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"x" * size)
    assert read_local_file(path, 10) == b"x" * size


def test_a_stream_is_read_up_to_the_limit() -> None:
    assert read_stream(io.BytesIO(b"0123456789"), 10) == b"0123456789"
    with pytest.raises(FileRefused) as caught:
        read_stream(io.BytesIO(b"0123456789!"), 10)
    assert caught.value.code is Code.FILE_TOO_LARGE
