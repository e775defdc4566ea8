"""Where a run's files go, as a seam; and the same in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum, unique
from typing import Protocol

__all__ = ["JournalName", "MemorySink", "RunSink"]


_TEXT_FOLDERS = ("pages/", "quarantine/")


@unique
class JournalName(StrEnum):
    """What is journalled line by line while a run lasts."""

    PAGES = "pages"
    FINDINGS = "findings"
    SOURCES = "sources"


class RunSink(Protocol):
    """The files of one run. Every method does all of what it says or raises StoreFailed."""

    def put(self, path: str, content: bytes) -> None:
        """A file of the run's folder, there at once and whole."""
        ...

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        ...

    def replace(self, path: str, pieces: Iterable[bytes]) -> None:
        """As `put`, from pieces, and synced to the disk itself."""
        ...

    def read(self, path: str) -> bytes:
        """A file of the run's folder."""
        ...

    def append(self, journal: JournalName, number: int, line: bytes) -> None:
        """A line behind the others."""
        ...

    def lines(self, journal: JournalName) -> Iterable[bytes]:
        """All lines in the order of their numbers, whatever the order in which they came."""
        ...

    def close(self) -> None:
        """The run is over and its record complete: journals are not needed any more."""
        ...

    def abandon(self) -> None:
        """The run is over and its record could not be completed: what the journals hold stays."""
        ...


class MemorySink:
    """The files of one run in a dictionary; without `keeps_text`, none that hold a page's text."""

    def __init__(self, *, keeps_text: bool = True) -> None:
        self._keeps_text = keeps_text
        self.files: dict[str, bytes] = {}
        self._journals: dict[JournalName, list[tuple[int, bytes]]] = {name: [] for name in JournalName}

    def put(self, path: str, content: bytes) -> None:
        """A file of the run's folder."""
        if self._keeps_text or not path.startswith(_TEXT_FOLDERS):
            self.files[path] = content

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        self.files.pop(path, None)

    def replace(self, path: str, pieces: Iterable[bytes]) -> None:
        """As `put`, from pieces."""
        self.files[path] = b"".join(pieces)

    def read(self, path: str) -> bytes:
        """A file of the run's folder."""
        return self.files[path]

    def append(self, journal: JournalName, number: int, line: bytes) -> None:
        """A line behind the others."""
        self._journals[journal].append((number, line))

    def lines(self, journal: JournalName) -> Sequence[bytes]:
        """All lines in the order of their numbers."""
        return [line for _, line in sorted(self._journals[journal])]

    def close(self) -> None:
        """The run is over."""
        for journal in self._journals.values():
            journal.clear()

    def abandon(self) -> None:
        """The run is over, its record incomplete."""
