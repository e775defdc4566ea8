"""Hostile containers: zip files that lie, lead out, or blow up; each is refused whole, nothing is unpacked."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from mudroom.errors import Code, FileRefused
from mudroom.exchange.opening import open_archive

WARC = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
NAME = "archive/data.warc"


def make(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as container:
        for name, content in entries:
            container.writestr(name, content)
    return out.getvalue()


def entry(name: str = NAME, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def read_all(path: Path) -> list[bytes]:
    with open_archive(path) as streams:
        return [b"".join(iter(lambda stream=stream: stream.read(1 << 16), b"")) for stream in streams]


SOUND = make((NAME, WARC))


def encrypted() -> bytes:
    data = bytearray(SOUND)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark) + offset
        data[at] |= 1
    return bytes(data)


def twice() -> bytes:
    data = make((NAME, WARC), ("archive/dato.warc", WARC))
    return data.replace(b"dato.warc", b"data.warc")


HOSTILE = {
    "a way out": make(("../archive/x.warc", WARC), (NAME, WARC)),
    "a way out within": make(("archive/../../x.warc", WARC), (NAME, WARC)),
    "an absolute name": make(("/etc/x.warc", WARC), (NAME, WARC)),
    "a backslash": make(("archive\\..\\x.warc", WARC), (NAME, WARC)),
    "a symbolic link": make((entry("archive/l.warc", stat.S_IFLNK | 0o777), b"/etc/passwd"), (NAME, WARC)),
    "a device": make((entry("archive/d.warc", stat.S_IFCHR | 0o666), b""), (NAME, WARC)),
    "an encrypted entry": encrypted(),
    "an entry twice": twice(),
    "another compression": make((NAME, WARC), method=zipfile.ZIP_BZIP2),
    "no directory": SOUND[:-22],
    "a directory of 4 GB": SOUND[:-10] + struct.pack("<L", 0xFFFFFFF0) + SOUND[-6:],
    "a directory that is cut": SOUND[: SOUND.find(b"PK\x01\x02") + 10] + SOUND[-22:],
    "nothing in it": make(),
    "nothing of an archive": make(("readme.txt", b"x")),
    "only the beginning": b"PK\x03\x04" + b"\0" * 10,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(content)
    with pytest.raises(FileRefused) as caught:
        read_all(path)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
    assert list(tmp_path.iterdir()) == [path]


LYING = {
    "another name in front": SOUND.replace(NAME.encode(), b"archive/othr.warc", 1),
    "a checksum that does not hold": SOUND.replace(b"\r\n\r\nx\r\n", b"\r\n\r\ny\r\n", 1),
}


@pytest.mark.parametrize("content", LYING.values(), ids=LYING)
def test_an_entry_that_lies_is_refused_when_it_is_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(content)
    with pytest.raises(FileRefused):
        read_all(path)


def test_a_sound_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(make((NAME, WARC), method=zipfile.ZIP_DEFLATED))
    assert read_all(path) == [WARC]


def test_the_file_itself_is_no_link_pipe_or_folder(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "x.warc", tmp_path / "link", tmp_path / "pipe"
    target.write_bytes(WARC)
    link.symlink_to(target)
    os.mkfifo(pipe)
    codes = []
    for path in (link, pipe, tmp_path, tmp_path / "none"):
        with pytest.raises(FileRefused) as caught, open_archive(path):
            pass
        codes.append(caught.value.code)
    assert codes == [Code.FILE_NOT_REGULAR] * 3 + [Code.FILE_NOT_FOUND]
