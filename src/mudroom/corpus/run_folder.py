"""The files of a run that has ended, in its folder; no link among them is followed."""

from __future__ import annotations

import os
from contextlib import suppress

from mudroom.corpus.files import enter_private, open_folder, read_file, write_file
from mudroom.errors import Code, StoreFailed

__all__ = ["FolderFiles"]

_PRIVATE_FOLDER = "quarantine"


class FolderFiles:
    """Reads, replaces and removes files of one run; the folder is held by whoever opened it.

    Raises, everywhere: OSError as it comes; StoreFailed SNAPSHOT_CORRUPT for a path that is not ours.
    """

    def __init__(self, folder: int) -> None:
        self._folder = folder

    def read(self, path: str) -> bytes:
        """A file."""
        below, name = _split(path)
        if not below:
            return read_file(self._folder, name)
        descriptor = open_folder(below, within=self._folder)
        try:
            return read_file(descriptor, name)
        finally:
            os.close(descriptor)

    def put(self, path: str, content: bytes) -> None:
        """A file, whole or not at all, and synced."""
        below, name = _split(path)
        mode = 0o600 if below == _PRIVATE_FOLDER else 0o644
        if not below:
            write_file(self._folder, self._folder, name, [content], mode=mode, is_synced=True)
            return
        is_private = below == _PRIVATE_FOLDER
        enter = enter_private if is_private else open_folder
        descriptor = enter(below, within=self._folder)
        try:
            write_file(self._folder, descriptor, name, [content], mode=mode, is_synced=True)
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        below, name = _split(path)
        descriptor = open_folder(below, within=self._folder)
        try:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
        finally:
            os.close(descriptor)


def _split(path: str) -> tuple[str, str]:
    below, _, name = path.rpartition("/")
    if not name or "/" in below or below in {".", ".."} or name in {".", ".."}:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a record of the workspace names a path that is not ours")
    return below, name
