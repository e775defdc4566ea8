"""Lines of a run that lasts: appended as pages end, read in the order of the pages.

In memory a line costs twenty bytes, so that a crawl of a million pages is recorded in a flat process.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mudroom.corpus.files import make_file

__all__ = ["FileJournal", "JournalLeft", "read_journal"]

_OPEN = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileJournal:
    """A file of lines whose lock is held while its run lasts."""

    def __init__(self, folder: int, name: str, lines: Iterable[tuple[int, bytes]] | None = None) -> None:
        """A new journal; or, with lines, one in place of what a dead run left. Raises OSError."""
        self._folder = folder
        self._name = name
        place = name if lines is None else f"{name}.new"
        if lines is None:
            self._descriptor = os.open(place, _OPEN, 0o600, dir_fd=folder)
        else:
            self._descriptor = make_file(place, 0o600, within=folder, flags=os.O_RDWR | os.O_APPEND)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever gets it knows the run is dead
        self._numbers = array("I")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._end = 0
        if lines is not None:
            for number, line in lines:
                self.append(number, line)
            os.fsync(self._descriptor)
            os.rename(place, name, src_dir_fd=folder, dst_dir_fd=folder)

    def append(self, number: int, line: bytes) -> None:
        """A line behind the others, all of it or nothing. Raises OSError."""
        data = line + b"\n"
        written = 0
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        finally:
            if written < len(data):
                os.ftruncate(self._descriptor, self._end)
        self._numbers.append(number)
        self._offsets.append(self._end)
        self._lengths.append(len(line))
        self._end += len(data)

    def lines(self) -> Iterator[bytes]:
        """All lines by the number of their page."""
        if not self._end:
            return
        order = sorted(range(len(self._numbers)), key=self._numbers.__getitem__)
        with mmap.mmap(self._descriptor, self._end, prot=mmap.PROT_READ) as view:
            for at in order:
                offset = self._offsets[at]
                yield view[offset : offset + self._lengths[at]]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def remove(self) -> None:
        """Delete the file: what it held stands elsewhere now."""
        os.unlink(self._name, dir_fd=self._folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLeft:
    """A journal as somebody else finds it."""

    lines: list[bytes]
    """Whole ones: a torn last line is no line."""
    is_live: bool
    """Whether its run still lasts: its writer holds the lock."""


def read_journal(folder: int, name: str) -> JournalLeft | None:
    """A journal that another process may be writing; None when there is none. Raises OSError."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        is_live = _is_locked(descriptor)
        return JournalLeft(lines=stream.read().split(b"\n")[:-1], is_live=is_live)


def _is_locked(descriptor: int) -> bool:
    """Whether the writer lives. The lock tried is a shared one, so that two who look do not meet."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False  # closing the descriptor lets it go
