"""A foreign archive opened: the WARC streams in it, nothing of it unpacked to disk.

A WACZ is a zip file whose records lie in `archive/`. Its directory is measured before it is read, and an
entry that is a link, is encrypted, comes twice or has another way in its name is refused with the whole file:
a sound writer makes none. Its index, its pages and its own digests are not read: each record is judged by
itself.
Source: WACZ 1.1.1 (webrecorder) section 5; APPNOTE.TXT 6.3.10 sections 4.3.14 to 4.3.16.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mudroom.errors import Code, FileRefused
from mudroom.intake import open_local_file
from mudroom.warc import ByteSource

__all__ = ["ArchiveStream", "open_archive"]

_ZIP_MAGIC = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_GZIP_MAGIC = b"\x1f\x8b"
_WARC_MAGIC = b"WARC/"
_END_RECORD = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64_RECORD = struct.Struct("<4sQ2H2L4Q")
_MAX_COMMENT = 0xFFFF
_MAX_DIRECTORY_BYTES = 16 << 20
_MAX_ENTRIES = 100_000
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


class ArchiveStream:
    """One WARC in an archive; what its container says wrong becomes a refusal of the file."""

    def __init__(self, source: ByteSource, shown_name: str) -> None:
        self._source = source
        self._shown_name = shown_name

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end. Raises: FileRefused FILE_UNREADABLE."""
        try:
            return self._source.read(size)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise FileRefused(
                Code.FILE_UNREADABLE, f"{self._shown_name} could not be read to its end: it is damaged"
            ) from error


@contextmanager
def open_archive(path: Path) -> Iterator[Iterator[ArchiveStream]]:
    """The WARC streams of a file, one after the other; each is read before the next is asked for.

    Raises: FileRefused FILE_NOT_FOUND, FILE_NOT_REGULAR, FILE_UNREADABLE; UNSUPPORTED_CONTENT_TYPE for a file
    that is neither a WARC nor a sound WACZ.
    """
    with open_local_file(path) as file:
        head = file.read(8)
        file.seek(0)
        if head.startswith((_ZIP_MAGIC, _EMPTY_ZIP)):
            with _open_zip(file, path.name) as container:
                entries = _list_entries(container, path.name)
                yield (_open_entry(container, entry, path.name) for entry in entries)
        elif head.startswith((_GZIP_MAGIC, _WARC_MAGIC)):
            yield iter((ArchiveStream(file, path.name),))
        else:
            raise _unsupported(path.name, "it is neither a WARC nor a WACZ file")


def _open_zip(file: BinaryIO, shown_name: str) -> zipfile.ZipFile:
    if _measure_directory(file) > _MAX_DIRECTORY_BYTES:
        raise _unsupported(shown_name, "its zip directory is missing or too large")
    file.seek(0)
    try:
        return zipfile.ZipFile(file)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _unsupported(shown_name, "its zip directory is damaged") from error


def _measure_directory(file: BinaryIO) -> int:
    """How large the directory says it is; more than any may be where there is none."""
    size = file.seek(0, 2)
    start = max(0, size - _MAX_COMMENT - _END_RECORD.size)
    file.seek(start)
    tail = file.read(_MAX_COMMENT + _END_RECORD.size)
    at = tail.rfind(_EMPTY_ZIP)
    if at < 0 or len(tail) - at < _END_RECORD.size:
        return _MAX_DIRECTORY_BYTES + 1
    directory_bytes = int(_END_RECORD.unpack_from(tail, at)[5])
    locator_at = start + at - _END64_LOCATOR.size
    if locator_at >= 0:
        file.seek(locator_at)
        mark, _, offset, _ = _END64_LOCATOR.unpack(file.read(_END64_LOCATOR.size))
        if mark == b"PK\x06\x07" and offset + _END64_RECORD.size <= size:
            file.seek(offset)
            directory_bytes = max(
                directory_bytes % 0xFFFFFFFF, int(_END64_RECORD.unpack(file.read(_END64_RECORD.size))[8])
            )
    return directory_bytes


def _list_entries(container: zipfile.ZipFile, shown_name: str) -> list[zipfile.ZipInfo]:
    """The WARC entries, in the order of their names."""
    entries = container.infolist()
    if len(entries) > _MAX_ENTRIES or len({entry.filename for entry in entries}) != len(entries):
        raise _unsupported(shown_name, "its zip directory names an entry twice, or has too many")
    for entry in entries:
        if _is_odd(entry):
            raise _unsupported(shown_name, "an entry of it is a link, is encrypted or leads out of the file")
    found = [entry for entry in entries if _is_warc(entry.filename)]
    if not found:
        raise _unsupported(shown_name, "it is a zip file without WARC files in archive/")
    return sorted(found, key=lambda entry: entry.filename)


def _is_odd(entry: zipfile.ZipInfo) -> bool:
    name, mode = entry.filename, entry.external_attr >> 16
    is_other = stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}
    leads_out = (
        name.startswith("/")
        or "\\" in entry.orig_filename
        or ".." in name.split("/")
        or "\0" in entry.orig_filename
    )
    return is_other or leads_out or bool(entry.flag_bits & _ENCRYPTED) or entry.compress_type not in _METHODS


def _is_warc(name: str) -> bool:
    folder, _, file_name = name.rpartition("/")
    return folder == "archive" and file_name.lower().endswith((".warc", ".warc.gz"))


def _open_entry(container: zipfile.ZipFile, entry: zipfile.ZipInfo, shown_name: str) -> ArchiveStream:
    try:
        return ArchiveStream(container.open(entry), shown_name)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _unsupported(
            shown_name, "the name of an entry differs from the one in its directory"
        ) from error


def _unsupported(shown_name: str, why: str) -> FileRefused:
    return FileRefused(Code.UNSUPPORTED_CONTENT_TYPE, f"{shown_name} cannot be imported: {why}")
