"""The frontiers of a workspace: files of their own, closed to others, one a run."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

from mudroom.crawl.frontier_rows import SCHEMA, VERSION
from mudroom.crawl.sqlite_frontier import SqliteFrontier, map_frontier_faults
from mudroom.errors import Code, StoreFailed

__all__ = ["SqliteShelf"]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_QUICK_CHECK_BYTES = 64 * 1024 * 1024
"""A larger file is not read as a whole before a crawl goes on; what is damaged in it shows when it is met."""


class SqliteShelf:
    """Frontiers in a folder, by default `<workspace>/private/frontier`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, run_id: str, cap: int) -> SqliteFrontier:
        """An empty frontier for a new run. Never one that is there already. Raises: StoreFailed."""
        path = self._folder / f"{run_id}.sqlite"
        with map_frontier_faults(path):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._folder.is_symlink():
                raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a link stands where the folder of frontiers was")
            os.close(os.open(path, _FLAGS, 0o600))
            database = sqlite3.connect(path, isolation_level=None)
            try:
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            finally:
                database.close()
        return SqliteFrontier(path, cap)

    def reopen(self, run_id: str, cap: int) -> SqliteFrontier | None:
        """The frontier that the run has left; None when there is none, or none that was ever begun.

        Raises: StoreFailed SNAPSHOT_CORRUPT for a damaged one, STORE_UNAVAILABLE for one of a later version.
        """
        path = self._folder / f"{run_id}.sqlite"
        with map_frontier_faults(path):
            try:
                status = path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            if not stat.S_ISREG(status.st_mode) or self._folder.is_symlink():
                raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the frontier of {run_id} is not a regular file")
            version = self._examine(path, is_small=status.st_size <= _QUICK_CHECK_BYTES)
        if version > VERSION:
            raise StoreFailed(
                Code.STORE_UNAVAILABLE,
                f"the frontier of {run_id} was written by a later version of mudroom; use that version",
            )
        if not version:
            with map_frontier_faults(path):
                path.unlink()  # its maker was killed before it held anything
            return None
        return SqliteFrontier(path, cap)

    def _examine(self, path: Path, *, is_small: bool) -> int:
        """The version of its schema, 0 when it has none. Raises: sqlite3.DatabaseError when it is damaged."""
        database = sqlite3.connect(path, isolation_level=None)
        try:
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            if is_small and database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("the check failed")
            return version
        finally:
            database.close()
