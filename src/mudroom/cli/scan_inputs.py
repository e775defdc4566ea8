"""The texts that `mudroom scan` was given: files, folders, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mudroom.errors import Code, FileRefused
from mudroom.intake import read_local_file, read_stream
from mudroom.media import TextKind, decode_text, is_text_type, sniff_type

__all__ = ["STDIN_NAME", "Passed", "Selection", "Text", "Unread", "read_texts"]

STDIN_NAME = "<stdin>"
"""As the classic scanner calls it."""
_PASSED_FOLDERS = frozenset({".git", ".hg", ".svn"})
"""What version control keeps in them is compressed, or is in the working tree too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which files of a folder are read, and how much of one."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int

    def takes(self, relative: str) -> bool:
        """Whether a file is read: its path below the folder, or its name, fits a glob."""
        names = (relative, relative.rpartition("/")[2])
        if any(fnmatchcase(name, glob) for glob in self.exclude for name in names):
            return False
        return not self.include or any(fnmatchcase(name, glob) for glob in self.include for name in names)


@dataclass(frozen=True, slots=True)
class Text:
    """One text to scan."""

    name: str
    untrusted_text: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Something named, or found, that could not be read: the answer is not known."""

    name: str
    error: FileRefused


@dataclass(frozen=True, slots=True)
class Passed:
    """Something found in a folder that holds no text, or leads elsewhere."""

    name: str
    why: str


Input = Text | Unread | Passed


def read_texts(paths: Sequence[str], selection: Selection) -> Iterator[Input]:
    """Each input in order; files of a folder by name."""
    for path in paths:
        if path == "-":
            yield _read_stdin(selection.max_file_bytes)
        elif os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - paths stay as written
            yield from _read_folder(path, selection)
        else:
            yield _read_file(path, selection.max_file_bytes, is_named=True)


def _read_stdin(max_bytes: int) -> Input:
    try:
        return _decode(STDIN_NAME, read_stream(sys.stdin.buffer, max_bytes), is_named=True)
    except FileRefused as error:
        return Unread(STDIN_NAME, error)


def _read_folder(folder: str, selection: Selection) -> Iterator[Input]:
    """Files below a folder; links are not followed, wherever they lead."""
    unread: list[Unread] = []

    def note(error: OSError) -> None:
        name = str(error.filename)
        refused = FileRefused(Code.FILE_UNREADABLE, f"{name} may not be looked into: {error.strerror}")
        unread.append(Unread(name, refused))

    for place, folders, files in os.walk(folder, followlinks=False, onerror=note):
        folders[:] = sorted(name for name in folders if name not in _PASSED_FOLDERS)
        for name in sorted(files):
            path = os.path.join(place, name)  # noqa: PTH118 - paths stay as written
            if not selection.takes(os.path.relpath(path, folder)):
                continue
            if os.path.islink(path):  # noqa: PTH114
                yield Passed(path, "a link")
            elif not os.path.isfile(path):  # noqa: PTH113
                yield Passed(path, "not a file")
            else:
                yield _read_file(path, selection.max_file_bytes, is_named=False)
    yield from unread


def _read_file(path: str, max_bytes: int, *, is_named: bool) -> Input:
    try:
        return _decode(path, read_local_file(Path(path), max_bytes), is_named=is_named)
    except FileRefused as error:
        return Unread(path, error)


def _decode(name: str, untrusted_body: bytes, *, is_named: bool) -> Input:
    """The text of a file. Of a binary one nothing is known: that is a failure only where it was named."""
    kind = sniff_type(None, untrusted_body, name).essence
    if untrusted_body and not is_text_type(kind):
        if is_named:
            return Unread(name, FileRefused(Code.FILE_UNREADABLE, f"it holds {kind}, which is not text"))
        return Passed(name, f"binary, {kind}")
    text_kind = TextKind.HTML if kind == "text/html" else TextKind.PLAIN
    return Text(name, decode_text(untrusted_body, None, text_kind).text)
