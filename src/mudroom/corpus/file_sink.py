"""The files of one run in its folder of a workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from mudroom.corpus.files import (
    enter_folder,
    enter_private,
    enter_workspace,
    map_faults,
    open_folder,
    read_file,
    write_file,
)
from mudroom.corpus.journal import FileJournal
from mudroom.corpus.sink import JournalName

__all__ = ["JOURNAL_FOLDERS", "RUNS_FOLDER", "FileSink", "journal_name"]

RUNS_FOLDER = "runs"
"""Where the runs of a workspace lie."""
JOURNAL_FOLDERS = ("private", "state", "runs")
"""Where the journals of runs that last, or were killed, lie."""

_OPEN_FOLDERS = ("pages", "metadata", "security")
_PRIVATE_FOLDER = "quarantine"
# Folders that are held beside those of the run; no path of a run's file has such a name.
_RUNS = "/runs"
_JOURNALS = "/journals"


def journal_name(run_id: str, journal: JournalName) -> str:
    """The file of one journal."""
    return f"{run_id}.{journal.value}.jsonl"


class FileSink:
    """The files of one run; folders are held open, so that nothing swapped for a link is written through.

    They are opened one below the other from the workspace down, so that no link among them is either.

    Pages are not synced one by one: what a loss of power takes of them is noticed by its digest when it is
    read. Manifest and journals are, at each checkpoint.
    """

    def __init__(
        self,
        workspace: Path,
        run_id: str,
        lines: Mapping[JournalName, Iterable[tuple[int, bytes]]] | None = None,
    ) -> None:
        """Make the files of a new run; or, with lines, enter those of one that nobody writes any more.

        Shapes: `lines` are what its journals shall hold. Raises: StoreFailed.
        """
        self._workspace = workspace
        self._run_id = run_id
        self._folders: dict[str, int] = {}
        self._journals: dict[JournalName, FileJournal] = {}
        is_held = False
        try:
            with map_faults(workspace):
                self._make_all() if lines is None else self._enter_all(lines)
            is_held = True
        finally:
            if not is_held and lines is None:
                self.discard()
            elif not is_held:
                self._let_go(keeps_journals=True)

    def _enter_all(self, lines: Mapping[JournalName, Iterable[tuple[int, bytes]]]) -> None:
        self._enter_outer()
        self._folders[""] = open_folder(self._run_id, within=self._folders[_RUNS])
        for name in _OPEN_FOLDERS:
            self._folders[name] = enter_folder(name, 0o755, within=self._folders[""])
        for journal in JournalName:
            name = journal_name(self._run_id, journal)
            self._journals[journal] = FileJournal(self._folders[_JOURNALS], name, lines[journal])

    def _enter_outer(self) -> None:
        workspace = enter_workspace(self._workspace)
        try:
            self._folders[_JOURNALS] = _enter_journals(workspace)
            self._folders[_RUNS] = enter_folder(RUNS_FOLDER, 0o755, within=workspace)
        finally:
            os.close(workspace)

    def _make_all(self) -> None:
        self._enter_outer()
        os.mkdir(self._run_id, 0o755, dir_fd=self._folders[_RUNS])
        self._folders[""] = open_folder(self._run_id, within=self._folders[_RUNS])
        for name in _OPEN_FOLDERS:
            self._make(name, 0o755)
        for journal in JournalName:
            name = journal_name(self._run_id, journal)
            self._journals[journal] = FileJournal(self._folders[_JOURNALS], name)

    def put(self, path: str, content: bytes) -> None:
        """A file of the run's folder, there at once and whole."""
        self._write(path, [content], is_synced=False)

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        folder, _, name = path.rpartition("/")
        if folder in self._folders:
            with map_faults(self._workspace), suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folders[folder])

    def replace(self, path: str, pieces: Iterable[bytes]) -> None:
        """As `put`, from pieces, and synced to the disk itself."""
        self._write(path, pieces, is_synced=True)

    def read(self, path: str) -> bytes:
        """A file of the run's folder."""
        folder, _, name = path.rpartition("/")
        with map_faults(self._workspace):
            return read_file(self._folders[folder], name)

    def append(self, journal: JournalName, number: int, line: bytes) -> None:
        """A line behind the others."""
        with map_faults(self._workspace):
            self._journals[journal].append(number, line)

    def lines(self, journal: JournalName) -> Iterable[bytes]:
        """All lines in the order of their numbers."""
        return self._journals[journal].lines()

    def close(self) -> None:
        """Delete the journals and let the folders go."""
        with map_faults(self._workspace):
            self._let_go()

    def abandon(self) -> None:
        """Let journals and folders go, and leave all that was written."""
        with map_faults(self._workspace):
            self._let_go(keeps_journals=True)

    def discard(self) -> None:
        """Take back a run that could not begin: what was made of it is removed as far as it can be."""
        if "" in self._folders:
            shutil.rmtree(self._run_id, ignore_errors=True, dir_fd=self._folders[_RUNS])
        with suppress(OSError):
            self._let_go()

    def _let_go(self, *, keeps_journals: bool = False) -> None:
        journals, folders = list(self._journals.values()), list(self._folders.values())
        self._journals.clear()
        self._folders.clear()
        try:
            for journal in journals:
                journal.close()
                if not keeps_journals:
                    journal.remove()
        finally:
            for descriptor in folders:
                os.close(descriptor)

    def _make(self, name: str, mode: int) -> None:
        os.mkdir(name, mode, dir_fd=self._folders[""])
        self._folders[name] = open_folder(name, within=self._folders[""])

    def _write(self, path: str, pieces: Iterable[bytes], *, is_synced: bool) -> None:
        folder, _, name = path.rpartition("/")
        with map_faults(self._workspace):
            if folder == _PRIVATE_FOLDER and folder not in self._folders:
                self._folders[folder] = enter_folder(folder, 0o700, within=self._folders[""])
            mode = 0o600 if folder == _PRIVATE_FOLDER else 0o644
            write_file(self._folders[""], self._folders[folder], name, pieces, mode=mode, is_synced=is_synced)


def _enter_journals(workspace: int) -> int:
    """A descriptor of the folder of journals; each folder on the way is closed to others."""
    descriptor = workspace
    for name in JOURNAL_FOLDERS:
        above = descriptor
        try:
            descriptor = enter_private(name, within=above)
        finally:
            if above != workspace:
                os.close(above)
    return descriptor
