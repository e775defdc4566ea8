"""What has come of a download that can be gone on with: a hidden file beside its target, and notes on it.

    data.csv  ◀─ .data.csv.part        its bytes so far, locked while they grow
                 .data.csv.part.json   of which URL and version they are, and how many are certain

The notes are written before the first byte and again, after a sync, every 32 MiB and at the end: what lies in the
file beyond them, after a crash, is cut. Files that are not what we left there are not gone on with.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mudroom.errors import Code, FetchFailed, StoreFailed
from mudroom.fetch import BodyVersion, HeldBody, fail_to_write, put_in_place

__all__ = ["PartialFile"]

_SCHEMA = "mudroom.partial/1"
_MAX_NOTES_BYTES = 8192
_MAX_NAME_BYTES = 200
_SYNC_BYTES = 32 * 1024 * 1024
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES = 5


class PartialFile:
    """The bytes of one URL for one target, held from `with` to its end.

    Leaving without `finish` keeps what came where it can be gone on with, and removes it where it cannot.
    """

    def __init__(self, target: Path, untrusted_url: str) -> None:
        self._target = target
        self._url_digest = _digest(untrusted_url)
        self._source_digest = ""
        name = f".{_shorten_name(target.name)}.part"
        self._path = target.parent / name
        self._notes_path = target.parent / f"{name}.json"
        self._descriptor = -1
        self._is_done = False
        self.held = HeldBody()
        """What lies here of the body, and is certain."""
        self._certain = 0
        self.kept_bytes = 0
        """What was left to be gone on with, in the end."""

    def __enter__(self) -> Self:
        """Open, lock and read. Raises: StoreFailed, also where another download holds it."""
        try:
            self._descriptor = self._open()
            self.held = self._read_notes()
            os.ftruncate(self._descriptor, self.held.size)
            os.lseek(self._descriptor, self.held.size, os.SEEK_SET)
        except OSError as error:
            self._close()
            raise fail_to_write(self._target, error) from error
        except StoreFailed:
            self._close()
            raise
        self._certain = self.held.size
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keep or remove."""
        try:
            if not self._is_done:
                self._leave()
        finally:
            self._close()

    def expect(self, total: int | None) -> None:
        """Note what the rest makes the whole, where it was not known before."""
        if self.held.total is None:
            self.held = replace(self.held, total=total)

    def begin(self, validators: BodyVersion, total: int | None, source: str = "") -> None:
        """Begin anew with an answer, of this final URL; what lay here is gone. Raises: StoreFailed."""
        try:
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            self.held = HeldBody(size=0, total=total, validators=validators)
            self._source_digest, self._certain = _digest(source), 0
            self._write_notes()
        except OSError as error:
            raise fail_to_write(self._target, error) from error

    def is_from(self, source: str) -> bool:
        """Whether what lies here came from this final URL: what tells versions apart says nothing of two addresses."""
        return self._source_digest == _digest(source)

    def forget(self) -> None:
        """Let go of what lies here. Raises: StoreFailed."""
        self.begin(BodyVersion(), None)

    async def take(self, chunks: AsyncIterator[bytes]) -> None:
        """Add what comes. Raises: StoreFailed; what `chunks` raises."""
        async for chunk in chunks:
            try:
                self._write(chunk)
            except OSError as error:
                raise fail_to_write(self._target, error) from error

    def finish(self) -> int:
        """Put the file at its name; its size. Raises: FetchFailed where bytes are missing; StoreFailed."""
        size, total = self.held.size, self.held.total
        if total is not None and size != total:
            if size > total:
                self.forget()
            raise FetchFailed(Code.CONNECTION_LOST, f"{total} bytes were declared, and {size} have come")
        try:
            put_in_place(self._descriptor, self._path, self._target)
            self._is_done = True
            self._notes_path.unlink(missing_ok=True)
        except OSError as error:
            raise fail_to_write(self._target, error) from error
        return self.held.size

    def _write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest:
            written = os.write(self._descriptor, rest)
            self.held = replace(self.held, size=self.held.size + written)
            rest = rest[written:]
        if self.held.size - self._certain >= _SYNC_BYTES:
            self._write_notes()

    def _open(self) -> int:
        """A descriptor of the file at its name, locked. Raises: OSError, StoreFailed."""
        for _ in range(_TRIES):
            descriptor = os.open(self._path, _FLAGS, 0o600)
            try:
                _check(descriptor, self._path)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), self._path.lstat()):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise StoreFailed(
                    Code.STORE_UNAVAILABLE, f"another download to {self._target} is running"
                ) from None
            except FileNotFoundError:
                pass  # another download has just put it in place
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise StoreFailed(Code.STORE_UNAVAILABLE, f"another download to {self._target} is running")

    def _read_notes(self) -> HeldBody:
        """What the notes say, as far as the file bears it out; nothing where they are not of this URL."""
        try:
            descriptor = os.open(self._notes_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return HeldBody()
        try:
            _check(descriptor, self._notes_path)
            notes = json.loads(os.read(descriptor, _MAX_NOTES_BYTES))
        except (OSError, ValueError, RecursionError):
            return HeldBody()
        finally:
            os.close(descriptor)
        held = _parse_notes(notes, self._url_digest)
        self._source_digest = notes["source_sha256"] if held.size else ""
        return held if held.size <= os.fstat(self._descriptor).st_size else HeldBody()

    def _write_notes(self) -> None:
        """Make what has come certain, and say so; removed where nothing could go on with it."""
        held = self.held
        if not held.validators.if_range:
            self._notes_path.unlink(missing_ok=True)
            return
        os.fdatasync(self._descriptor)
        notes = {
            "schema": _SCHEMA,
            "url_sha256": self._url_digest,
            "source_sha256": self._source_digest,
            "etag": held.validators.etag,
            "last_modified": held.validators.last_modified,
            "size": held.size,
            "total": held.total,
        }
        fresh = self._notes_path.with_name(f"{self._notes_path.name}.new")
        fresh.unlink(missing_ok=True)
        with open(fresh, "x", encoding="ascii", opener=_open_closed) as file:
            json.dump(notes, file)
        fresh.replace(self._notes_path)
        self._certain = held.size

    def _leave(self) -> None:
        """Keep what can be gone on with; an error here must not hide why the download ended."""
        with suppress(OSError):
            if self.held.size:
                self._write_notes()
        if self._certain:
            self.kept_bytes = self._certain
            return
        with suppress(OSError):
            self._notes_path.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _check(descriptor: int, path: Path) -> None:
    """That the file is one that we may write: not a link to another, not somebody else's."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_uid != os.geteuid():
        raise StoreFailed(Code.STORE_UNAVAILABLE, f"{path} is not what a download left there; remove it")


def _parse_notes(notes: Any, url_digest: str) -> HeldBody:
    """The notes where they are of this form and URL; a file that anybody may have written is not believed more."""
    match notes:
        case {
            "schema": str(schema),
            "url_sha256": str(digest),
            "source_sha256": str(),
            "etag": str(etag),
            "last_modified": str(last_modified),
            "size": int(size),
            "total": int() | None as total,
        } if (
            schema == _SCHEMA and digest == url_digest and size >= 0 and bool not in {type(size), type(total)}
        ):
            validators = BodyVersion(etag=etag, last_modified=last_modified)
            return HeldBody(
                size=size, total=total, validators=validators if validators.is_sound else BodyVersion()
            )
    return HeldBody()


def _shorten_name(name: str) -> str:
    """The name, or where it is long its beginning and a digest, so that what is put to it still fits."""
    encoded = os.fsencode(name)
    if len(encoded) <= _MAX_NAME_BYTES:
        return name
    return os.fsdecode(encoded[:_MAX_NAME_BYTES]) + "-" + hashlib.sha256(encoded).hexdigest()[:16]


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()


def _open_closed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
