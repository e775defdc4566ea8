"""The frontier on disk, one file a run: a crawl that was killed goes on from it.

What is done between two commits is there for the next sitting wholly or not at all. A commit writes and does
not wait for the disk: a process that is killed loses nothing, a loss of power some last pages, which `restore`
then finds in the record of the run. `sync` waits for the disk, in a thread.

In memory are the first URLs of each host and nothing else that grows with the queue.
"""

from __future__ import annotations

import asyncio
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Admission, CountOpen, FrontierEntry, Left, Recorded
from mudroom.crawl.frontier_rows import CLAIMED, ENTRY_COLUMNS, digest_key, from_row, make_recorded, to_row
from mudroom.crawl.heads import HostHeads
from mudroom.crawl.windows import HostWindows
from mudroom.errors import Code, StoreFailed

__all__ = ["SqliteFrontier", "map_frontier_faults"]

_DAMAGED = (sqlite3.DatabaseError, ValueError, KeyError, TypeError, struct.error)
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
_LAST_TAKEN_IN = "taken_in"
_CACHE_KIB = 16 * 1024
_INSERT = "INSERT INTO urls (digest, rank, host, url, key, initiator, scope) VALUES (?, ?, ?, ?, ?, ?, ?)"


class SqliteFrontier:
    """One crawl's queue in one file. It belongs to the event loop's thread, save for `sync`."""

    def __init__(self, path: Path, cap: int) -> None:
        """Open a file that has the schema. Raises: StoreFailed."""
        self._path = path
        self._cap = cap
        with map_frontier_faults(path):
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA wal_autocheckpoint = 0")
            self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._windows = HostWindows(self._read_window)
        self._heads: HostHeads[bytes] = HostHeads(self._windows.find_head)
        self._waiting = 0
        self._open: set[int] = set()
        self._again: list[FrontierEntry] = []
        self._last_number = 0
        self._is_within = False
        self._fault: StoreFailed | None = None

    def __len__(self) -> int:
        """How many URLs wait."""
        return self._waiting + len(self._again)

    def find_spelling(self, key: str) -> str | None:
        """The URL that entered under this key."""
        row = self._read_one("SELECT url FROM urls WHERE digest = ?", (digest_key(key),))
        return None if row is None else row[0]

    def add(self, entry: FrontierEntry) -> Admission:
        """Queue a URL, unless its key was there before or the queue is full."""
        row = to_row(entry)
        if self._waiting + len(self._open) >= self._cap:
            return Admission.FULL if self._find_id(row[0]) is None else Admission.KNOWN
        if not self._write(_INSERT + " ON CONFLICT DO NOTHING", row):
            return Admission.KNOWN
        self._waiting += 1
        if self._windows.add(entry.host, row[1]):
            self._heads.push(row[1], entry.host)
        return Admission.QUEUED

    def claim(self, key: str) -> bool:
        """Whether a page that a redirect led to this key may have it."""
        claimed = self._write(
            "INSERT INTO urls (digest, number) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (digest_key(key), CLAIMED),
        )
        return claimed == 1

    def take(self, count_open: CountOpen) -> FrontierEntry | None:
        """The next URL with its number, or None when no host that has one may be asked now."""
        for at, entry in enumerate(self._again):
            if count_open(entry.host) is not None:
                return self._again.pop(at)
        host = self._heads.choose(count_open)
        head = None if host is None else self._windows.find_head(host)
        if head is None:
            return None
        return self._take("host = ? AND rank = ?", (host, head), self._last_number + 1)

    def take_key(self, key: str, number: int) -> FrontierEntry | None:
        """The URL that waits under this key, with this number; None when none does."""
        return self._take("digest = ?", (digest_key(key),), number)

    def hold(self, page: EndedPage) -> None:
        """Keep what a page leaves behind until it is taken in."""
        self._write("INSERT OR REPLACE INTO held (number, page) VALUES (?, ?)", (page.number, page.encode()))
        self.commit()

    def release(self, number: int) -> None:
        """The page of this number was taken in: its place is free."""
        self._write("DELETE FROM held WHERE number = ?", (number,))
        self.note(_LAST_TAKEN_IN, str(number))
        self._open.discard(number)

    def find_twin(self, digest: bytes, number: int) -> int | None:
        """The page that had this content first, if one had."""
        self._write("INSERT INTO contents VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, number))
        row = self._read_one("SELECT number FROM contents WHERE digest = ?", (digest,))
        return None if row is None or row[0] == number else int(row[0])

    def note(self, name: str, value: str) -> None:
        """Keep something that the crawl has to know again."""
        self._write("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def commit(self) -> None:
        """All or nothing of what was done since the last time is there for the next sitting."""
        if self._fault is not None:
            raise self._fault
        if self._is_within:
            with self._noting_faults():
                self._db.execute("COMMIT")
            self._is_within = False

    def rollback(self) -> None:
        """Undo what was done since the last commit, for the next sitting; this one only closes then."""
        if self._db.in_transaction:
            with map_frontier_faults(self._path):
                self._db.execute("ROLLBACK")
        self._is_within = False

    async def sync(self) -> None:
        """Bring what was committed to the disk itself, from the log into the file."""
        self.commit()
        await asyncio.to_thread(self._checkpoint)

    def restore(self, recorded: Sequence[Recorded]) -> Left:
        """Take up what an earlier sitting left, as the record of the run has it.

        Where a loss of power took pages out of the file that the record has, they are put in again.
        """
        with map_frontier_faults(self._path):
            notes = {
                str(name): str(value) for name, value in self._db.execute("SELECT name, value FROM notes")
            }
            taken_in = int(notes.pop(_LAST_TAKEN_IN, "0"))
            if recorded and self._read_one("SELECT id FROM urls LIMIT 1", ()) is None:
                raise _damaged(self._path)
            ends = {page.number: page for page in recorded if page.number > taken_in}
            for page in ends.values():
                self._mend(page)
            line: list[tuple[int, EndedPage | None]] = []
            lost = 0
            for row in self._list_started(taken_in):
                entry = from_row(row)
                self._open.add(entry.number)
                page_end = ends.get(entry.number)
                if page_end is None:
                    self._again.append(entry)
                    line.append((entry.number, None))
                    continue
                held = self._read_held(entry.number)
                lost += held is None and page_end.has_links
                line.append((entry.number, held or EndedPage(number=entry.number, depth=entry.depth)))
            self._find_last(taken_in, recorded)
            self._load_hosts()
        self.commit()
        return Left(line=tuple(line), lost=lost, notes=notes)

    def close(self, *, keeps: bool) -> None:
        """Let the file go; unless it is kept, delete it."""
        with map_frontier_faults(self._path):
            try:
                self.commit()
            finally:
                self._db.close()
            if not keeps:
                for suffix in ("", "-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        Path(f"{self._path}{suffix}").unlink()

    # Rows.

    def _take(self, where: str, values: tuple[object, ...], number: int) -> FrontierEntry | None:
        row = self._read_one(
            f"SELECT id, {ENTRY_COLUMNS} FROM urls WHERE {where} AND number IS NULL LIMIT 1",  # noqa: S608 - fixed words
            values,
        )
        if row is None:
            return None
        with map_frontier_faults(self._path):
            entry = replace(from_row(row[1:]), number=number)
        self._write("UPDATE urls SET number = ? WHERE id = ?", (number, row[0]))
        self._waiting -= 1
        self._last_number = max(self._last_number, number)
        self._open.add(number)
        head = self._windows.remove(entry.host, row[1])
        if head is not None:
            self._heads.push(head, entry.host)
        return entry

    def _mend(self, page: Recorded) -> None:
        """Let the record be right about who has a number, where the file has lost it."""
        entry = make_recorded(page)
        if entry is None:
            return
        digest = digest_key(entry.key)
        row = self._read_one("SELECT number FROM urls WHERE digest = ?", (digest,))
        if row is not None and row[0] == page.number:
            return
        self._write("UPDATE urls SET number = NULL WHERE number = ?", (page.number,))
        if row is None:
            self._write(_INSERT, to_row(entry))
        self._write("UPDATE urls SET number = ? WHERE digest = ?", (page.number, digest))

    def _list_started(self, taken_in: int) -> list[tuple[bytes, str, str, str | None, str, str, int | None]]:
        return self._db.execute(
            f"SELECT {ENTRY_COLUMNS} FROM urls WHERE number > ? ORDER BY number",  # noqa: S608 - fixed words
            (taken_in,),
        ).fetchall()

    def _read_held(self, number: int) -> EndedPage | None:
        row = self._read_one("SELECT page FROM held WHERE number = ?", (number,))
        return None if row is None else EndedPage.decode(row[0])

    def _find_last(self, taken_in: int, recorded: Sequence[Recorded]) -> None:
        (last,) = self._db.execute("SELECT max(number) FROM urls WHERE number IS NOT NULL").fetchone()
        self._last_number = max(taken_in, last or 0, *(page.number for page in recorded), 0)

    def _load_hosts(self) -> None:
        rows = self._db.execute(
            "SELECT host, count(*), min(rank) FROM urls WHERE number IS NULL GROUP BY host"
        ).fetchall()
        for host, waiting, head in rows:
            self._windows.expect(host, waiting)
            self._heads.push(head, host)
            self._waiting += waiting

    def _read_window(self, host: str, limit: int) -> list[bytes]:
        with map_frontier_faults(self._path):
            rows = self._db.execute(
                "SELECT rank FROM urls WHERE host = ? AND number IS NULL ORDER BY rank LIMIT ?", (host, limit)
            ).fetchall()
        if not rows:
            raise _damaged(self._path)
        return [rank for (rank,) in rows]

    def _find_id(self, digest: bytes) -> int | None:
        row = self._read_one("SELECT id FROM urls WHERE digest = ?", (digest,))
        return None if row is None else int(row[0])

    def _read_one(self, query: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        with map_frontier_faults(self._path):
            row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return row

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        """How many rows it changed."""
        with self._noting_faults():
            if not self._is_within:
                self._db.execute("BEGIN IMMEDIATE")
                self._is_within = True
            return self._db.execute(statement, values).rowcount

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        """A write that fails may take all since the last commit with it, so that nothing is committed any more."""
        try:
            with map_frontier_faults(self._path):
                yield
        except StoreFailed as failure:
            self._fault = failure
            raise

    def _checkpoint(self) -> None:
        with map_frontier_faults(self._path):
            other = sqlite3.connect(self._path, isolation_level=None)
            try:
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                other.close()


@contextmanager
def map_frontier_faults(path: Path) -> Iterator[None]:
    """Turns what SQLite, the system and a row that is none raise into StoreFailed.

    Raises: StoreFailed NO_SPACE, SNAPSHOT_CORRUPT, STORE_UNAVAILABLE.
    """
    try:
        yield
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode in _NO_SPACE:
            raise StoreFailed(
                Code.NO_SPACE, f"there is no room left for the frontier of {path.stem}"
            ) from fault
        raise StoreFailed(
            Code.STORE_UNAVAILABLE, f"the frontier of {path.stem} cannot be used: {fault.sqlite_errorname}"
        ) from fault
    except _DAMAGED as fault:
        raise _damaged(path) from fault
    except OSError as fault:
        raise StoreFailed(
            Code.STORE_UNAVAILABLE, f"the frontier of {path.stem} cannot be used: {fault.strerror}"
        ) from fault


def _damaged(path: Path) -> StoreFailed:
    return StoreFailed(
        Code.SNAPSHOT_CORRUPT,
        f"the frontier of {path.stem} is damaged, so the crawl cannot go on; begin it anew",
    )
