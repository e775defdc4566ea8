"""What is left of a download that breaks off, and what is believed of it the next time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mudroom.cli.partial import PartialFile
from mudroom.errors import Code, FetchFailed, StoreFailed
from mudroom.fetch import BodyVersion, HeldBody

URL = "https://a.test/f"
VALIDATORS = BodyVersion(etag='"v1"')


async def body(*chunks: bytes | Exception) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def break_off(target: Path, *chunks: bytes, validators: BodyVersion = VALIDATORS) -> None:
    with pytest.raises(FetchFailed), PartialFile(target, URL) as part:  # noqa: PT012 - it is the leaving that counts
        part.begin(validators, 9)
        await part.take(body(*chunks, FetchFailed(Code.CONNECTION_LOST, "gone")))


def held(target: Path, url: str = URL) -> HeldBody:
    with PartialFile(target, url) as part:
        return part.held


async def test_what_came_is_kept_with_its_version_and_gone_on_with(tmp_path: Path) -> None:
    target = tmp_path / "f"
    await break_off(target, b"first", b"half")
    assert names(tmp_path) == [".f.part", ".f.part.json"]
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names(tmp_path)} == {0o600}
    with PartialFile(target, URL) as part:
        assert part.held == HeldBody(size=9, total=9, validators=VALIDATORS)
        assert part.finish() == 9
    assert (names(tmp_path), target.read_bytes()) == (["f"], b"firsthalf")


@pytest.mark.parametrize(
    ("validators", "chunks"), [(BodyVersion(), (b"half",)), (VALIDATORS, ())], ids=["no version", "no byte"]
)
async def test_what_cannot_be_gone_on_with_is_removed(
    tmp_path: Path, validators: BodyVersion, chunks: tuple[bytes, ...]
) -> None:
    await break_off(tmp_path / "f", *chunks, validators=validators)
    assert names(tmp_path) == []


async def test_bytes_beyond_the_notes_are_cut(tmp_path: Path) -> None:
    await break_off(tmp_path / "f", b"half")
    with (tmp_path / ".f.part").open("ab") as file:
        file.write(b"\0\0\0")
    assert held(tmp_path / "f").size == 4
    assert (tmp_path / ".f.part").read_bytes() == b"half"


async def test_of_a_large_body_what_is_certain_grows(tmp_path: Path) -> None:
    mib = 1024 * 1024
    with PartialFile(tmp_path / "f", URL) as part:
        part.begin(VALIDATORS, None)
        await part.take(body(*[b"x" * mib] * 33))
        assert json.loads((tmp_path / ".f.part.json").read_text())["size"] == 32 * mib


FORGED: list[tuple[str, dict[str, Any] | bytes]] = [
    ("not JSON", b"{"),
    ("deep", b"[" * 8000),
    ("another schema", {"schema": "mudroom.partial/2"}),
    ("another URL", {"url_sha256": "0" * 64}),
    ("larger than the file", {"size": 5}),
    ("negative", {"size": -1}),
    ("a truth", {"size": True}),
    ("a total that is none", {"total": "9"}),
    ("a total that is a truth", {"total": True}),
    ("a header of another line", {"etag": '"v1"\r\nX: y'}),
    ("a weak version", {"etag": 'W/"v1"'}),
    ("no source", {"source_sha256": None}),
    ("a list", b"[]"),
]


@pytest.mark.parametrize("forged", [row[1] for row in FORGED], ids=[row[0] for row in FORGED])
async def test_notes_that_are_not_sound_are_not_gone_on_with(
    tmp_path: Path, forged: dict[str, Any] | bytes
) -> None:
    await break_off(tmp_path / "f", b"half")
    notes = tmp_path / ".f.part.json"
    if isinstance(forged, dict):
        notes.write_text(json.dumps(json.loads(notes.read_text()) | forged))
    else:
        notes.write_bytes(forged)
    assert held(tmp_path / "f").range_headers == ()


async def test_the_part_of_another_url_is_not_gone_on_with(tmp_path: Path) -> None:
    await break_off(tmp_path / "f", b"half")
    assert held(tmp_path / "f", "https://b.test/f") == HeldBody()


@pytest.mark.parametrize("kind", ["symlink", "symlink to nothing", "hard link", "fifo", "folder"])
async def test_what_we_did_not_leave_there_is_not_written(tmp_path: Path, kind: str) -> None:
    precious, part = tmp_path / "precious", tmp_path / ".f.part"
    precious.write_bytes(b"mine")
    match kind:
        case "symlink":
            part.symlink_to(precious)
        case "symlink to nothing":
            part.symlink_to("absent")
        case "hard link":
            part.hardlink_to(precious)
        case "fifo":
            os.mkfifo(part)
        case _:
            part.mkdir()
    with pytest.raises(StoreFailed) as caught, PartialFile(tmp_path / "f", URL):
        raise AssertionError("it opened")
    assert caught.value.code is Code.STORE_UNAVAILABLE
    assert precious.read_bytes() == b"mine"
    assert names(tmp_path) == [".f.part", "precious"]


async def test_notes_behind_a_link_are_not_read(tmp_path: Path) -> None:
    await break_off(tmp_path / "f", b"half")
    (tmp_path / ".f.part.json").rename(tmp_path / "elsewhere")
    (tmp_path / ".f.part.json").symlink_to("elsewhere")
    assert held(tmp_path / "f") == HeldBody()


async def test_two_downloads_never_write_one_file(tmp_path: Path) -> None:
    with PartialFile(tmp_path / "f", URL) as part:
        with pytest.raises(StoreFailed, match="another download"), PartialFile(tmp_path / "f", URL):
            raise AssertionError("it opened")
        part.begin(VALIDATORS, None)
        await part.take(body(b"whole"))
        part.finish()
    assert (tmp_path / "f").read_bytes() == b"whole"


@pytest.mark.parametrize(("came", "is_kept"), [(b"eight888", True), (b"ten1010101", False)])
async def test_a_file_that_is_not_as_long_as_declared_is_not_put_in_place(
    tmp_path: Path, came: bytes, is_kept: bool
) -> None:
    with pytest.raises(FetchFailed), PartialFile(tmp_path / "f", URL) as part:  # noqa: PT012 - as above
        part.begin(VALIDATORS, 9)
        await part.take(body(came))
        part.finish()
    assert names(tmp_path) == ([".f.part", ".f.part.json"] if is_kept else [])
    assert part.kept_bytes == (8 if is_kept else 0)


@pytest.mark.parametrize("name", ["gone/f", "f" * 256])
async def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreFailed), PartialFile(tmp_path / name, URL) as part:  # noqa: PT012 - as above
        part.begin(VALIDATORS, None)
        part.finish()


async def test_a_name_as_long_as_a_name_can_be_has_a_part_too(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 127)
    await break_off(target, b"half")
    assert held(target).size == 4
    with PartialFile(target, URL) as part:
        part.expect(None)
        part.held = HeldBody(size=4, total=4, validators=VALIDATORS)
        part.finish()
    assert names(tmp_path) == [target.name]


async def test_a_full_disk_keeps_what_was_certain(tmp_path: Path) -> None:
    await break_off(tmp_path / "f", b"half")
    with pytest.raises(StoreFailed) as caught, PartialFile(tmp_path / "f", URL) as part:  # noqa: PT012 - as above
        # The descriptor of a device that is always full stands for the disk.
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, part._descriptor)
        os.close(full)
        await part.take(body(b"more"))
    assert caught.value.code is Code.NO_SPACE
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert held(tmp_path / "f").size == 4


async def test_what_another_put_in_the_place_of_a_part_is_neither_opened_up_nor_moved(tmp_path: Path) -> None:
    """In a folder that others write to, a link may stand where the part was: its mode is its owner's business."""
    secret = tmp_path / "secret"
    secret.write_text("key")
    secret.chmod(0o600)
    folder = tmp_path / "shared"
    folder.mkdir()
    with PartialFile(folder / "f", URL) as part:
        part.begin(VALIDATORS, 4)
        await part.take(body(b"body"))
        (folder / ".f.part").unlink()
        (folder / ".f.part").symlink_to(secret)
        with pytest.raises(StoreFailed) as caught:
            part.finish()
    assert "another file has taken the place" in caught.value.message
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not (folder / "f").exists()


async def test_notes_that_are_another_file_are_named_as_what_is_to_be_removed(tmp_path: Path) -> None:
    await break_off(tmp_path / "f", b"half")
    (tmp_path / ".f.part.json").unlink()
    os.mkfifo(tmp_path / ".f.part.json")
    with pytest.raises(StoreFailed) as caught, PartialFile(tmp_path / "f", URL):
        pass
    assert f"{tmp_path}/.f.part.json is not what a download left there" in caught.value.message
