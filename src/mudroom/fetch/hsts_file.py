"""What hosts said of https, kept in a file between runs.

The file is read once, at the start, and written anew at most every few seconds while something changes, and
at the end; both in a thread. A writer takes the file's lock, reads what other processes have written since,
puts its own changes over that and renames the whole into place, so that a file is never half written and two
processes do not undo each other.

A file that is damaged costs what it held, and a warning. A file that cannot be written costs what was learned.
Neither costs a fetch.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import stat
from pathlib import Path
from typing import Any, Self

from mudroom.clock import Clock
from mudroom.fetch.hsts import HstsEntry, MemoryHstsStore

__all__ = ["FileHstsStore"]

_log = logging.getLogger(__name__)

_SCHEMA = "mudroom.hsts/1"
_MAX_HOSTS = 10_000
_MAX_FILE_BYTES = 16 * 1024 * 1024
_DELAY_SECONDS = 5.0
_MAX_UNIX_TIME = 1e12

_Entries = dict[tuple[str, str], HstsEntry]
_Changes = dict[tuple[str, str], HstsEntry | None]


class _DamagedError(ValueError):
    """The file is not what this module writes."""


class FileHstsStore:
    """An `HstsStore` over a file: answers from memory, writes behind the loop's back. For one loop.

    Shapes: the folder of `path` is made where it is missing, those above it are not; where they are missing
        nothing is kept, so that a single download leaves no workspace behind.
    """

    def __init__(
        self, path: Path, clock: Clock, *, max_hosts: int = _MAX_HOSTS, delay_seconds: float = _DELAY_SECONDS
    ) -> None:
        self._path = path
        self._now = clock.now
        self._max_hosts = max_hosts
        self._delay_seconds = delay_seconds
        self._memory = MemoryHstsStore(max_hosts)
        self._changes: _Changes = {}
        self._writing: asyncio.Task[None] | None = None
        self._has_failed = False

    async def __aenter__(self) -> Self:
        """Read the file. Raises: nothing; a damaged file counts as empty."""
        entries = await asyncio.to_thread(_read_or_warn, self._path)
        for (partition, host), entry in entries.items():
            self._memory.store(partition, host, entry)
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Write what has changed."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._write()

    def load(self, partition: str, host: str) -> HstsEntry | None:
        """What is known of exactly this host."""
        return self._memory.load(partition, host)

    def store(self, partition: str, host: str, entry: HstsEntry) -> None:
        """Know this of the host from now on."""
        for forgotten in self._memory.make_room(partition, host):
            self._change(partition, forgotten, None)
        self._memory.store(partition, host, entry)
        self._change(partition, host, entry)

    def remove(self, partition: str, host: str) -> None:
        """Know nothing of the host."""
        self._memory.remove(partition, host)
        self._change(partition, host, None)

    def _change(self, partition: str, host: str, entry: HstsEntry | None) -> None:
        self._changes[partition, host] = entry
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_soon())

    async def _write_soon(self) -> None:
        while self._changes:
            await asyncio.sleep(self._delay_seconds)
            await self._write()

    async def _write(self) -> None:
        """Put what has changed into the file; what cannot be written now is tried again with the next change."""
        if not self._changes:
            return
        changes, self._changes = self._changes, {}
        now = self._now().timestamp()
        # Shielded: a thread cannot be stopped, and its changes must not be written twice.
        writing = asyncio.ensure_future(
            asyncio.to_thread(_write_changes, self._path, changes, now, self._max_hosts)
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.gather(writing, return_exceptions=True)
            raise
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                _log.warning("%s cannot be written: %s", self._path, error.strerror)


def _write_changes(path: Path, changes: _Changes, now: float, max_hosts: int) -> None:
    if not path.parent.parent.is_dir():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = _read_or_warn(path)
        for key, entry in changes.items():
            entries.pop(key, None)
            if entry is not None:
                entries[key] = entry
        kept = [(key, entry) for key, entry in entries.items() if entry.expires_at > now][-max_hosts:]
        _replace(path, _encode(dict(kept)))
    finally:
        os.close(lock)


def _replace(path: Path, content: bytes) -> None:
    """Put a file in another's place; whoever holds the lock is alone, so that a killed writer leaves one partial."""
    partial = path.with_suffix(".partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    partial.unlink(missing_ok=True)  # a pipe of this name would keep us waiting for its reader
    with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _read_or_warn(path: Path) -> _Entries:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _DamagedError
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _decode(file.read(_MAX_FILE_BYTES + 1))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return {}
    except OSError as error:
        _log.warning(
            "%s cannot be read: %s; hosts that asked for https are learned anew", path, error.strerror
        )
    except _DamagedError:
        _log.warning("%s is damaged; hosts that asked for https are learned anew", path)
    return {}


def _encode(entries: _Entries) -> bytes:
    hosts = [
        [partition, host, entry.expires_at, entry.include_subdomains]
        for (partition, host), entry in entries.items()
    ]
    return json.dumps({"schema": _SCHEMA, "hosts": hosts}, separators=(",", ":")).encode()


def _decode(untrusted: bytes) -> _Entries:
    """The entries of a file. Raises: _DamagedError for anything that `_encode` would not have written."""
    if len(untrusted) > _MAX_FILE_BYTES:
        raise _DamagedError
    try:
        value = json.loads(untrusted)
    except (ValueError, RecursionError) as fault:
        raise _DamagedError from fault
    if (
        not isinstance(value, dict)
        or value.get("schema") != _SCHEMA
        or not isinstance(value.get("hosts"), list)
    ):
        raise _DamagedError
    return dict(map(_decode_entry, value["hosts"]))


def _decode_entry(row: Any) -> tuple[tuple[str, str], HstsEntry]:
    match row:
        case [str(partition), str(host), float() | int() as expires_at, bool(include_subdomains)]:
            if host and abs(expires_at) < _MAX_UNIX_TIME:  # no NaN either
                entry = HstsEntry(expires_at=float(expires_at), include_subdomains=include_subdomains)
                return (partition, host), entry
    raise _DamagedError
