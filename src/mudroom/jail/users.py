"""Users that belong to nobody, one for each guest that root starts."""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
from pathlib import Path

from mudroom.errors import Code, GuestFailed

__all__ = ["SlotUsers", "find_users", "has_range"]

# Above what useradd, systemd and subordinate ranges give out.
_HIGH_BASE = 1_879_000_000
# Inside the 65,536 users that a container may have, above what Debian gives out.
_LOW_BASE = 65_100
_SLOTS = 256
_CAP_SETGID = 6
_CAP_SETUID = 7
# A folder that root alone can write in, and that is empty after a start of the system.
_LEDGER = Path("/run/mudroom-users.lock")
_LEDGER_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class SlotUsers:
    """Hands out user numbers; a number is given again only when its guest has ended.

    Two guests of one number could reach each other at the level `confined`. So that those of two mudrooms
    cannot have one, a number is a byte of the ledger that is locked while it is taken: the kernel lets it
    go with whoever held it. Where there is no ledger, numbers begin at random.
    """

    def __init__(self, base: int, ledger: Path | None = None) -> None:
        self._base = base
        self._ledger = ledger
        self._ledger_fd: int | None = None
        self._offset = 0
        self._taken: set[int] = set()

    def take(self) -> int:
        """A number that no guest has. Raises GuestFailed JAIL_UNAVAILABLE."""
        if not self._taken:
            self._open_ledger()
        for step in range(_SLOTS):
            uid = self._base + (self._offset + step) % _SLOTS
            if uid not in self._taken and self._lock(uid):
                self._taken.add(uid)
                return uid
        self._close_unused()
        raise GuestFailed(
            Code.JAIL_UNAVAILABLE, f"all {_SLOTS} users for guests are taken, here and by other mudrooms"
        )

    def give_back(self, uid: int) -> None:
        """The number is free again."""
        self._taken.discard(uid)
        if self._ledger_fd is not None:
            _set_lock(self._ledger_fd, uid, fcntl.F_UNLCK)
        self._close_unused()

    def _open_ledger(self) -> None:
        try:
            if self._ledger is not None:
                self._ledger_fd = os.open(self._ledger, _LEDGER_FLAGS, 0o600)
        except OSError:
            # A system without /run, or one that is read only, as containers are: others are merely unlikely.
            self._ledger_fd = None
        self._offset = secrets.randbelow(_SLOTS) if self._ledger_fd is None else 0

    def _lock(self, uid: int) -> bool:
        """Whether nobody else has the number, who then will not get it either."""
        if self._ledger_fd is None:
            return True
        try:
            _set_lock(self._ledger_fd, uid, fcntl.F_WRLCK)
        except BlockingIOError:
            return False
        return True

    def _close_unused(self) -> None:
        if not self._taken and self._ledger_fd is not None:
            os.close(self._ledger_fd)
            self._ledger_fd = None


def _set_lock(ledger: int, uid: int, kind: int) -> None:
    """A lock on one byte that belongs to the open file, not to the process. Raises BlockingIOError."""
    # struct flock: type, whence, start, length, pid (0 for locks of open files).
    fcntl.fcntl(ledger, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, os.SEEK_SET, uid, 1, 0))


def find_users() -> SlotUsers | None:
    """Users for guests; None where this process is not root, or is a root that cannot become anyone else.

    Such a root is that of a user namespace with one user in it, or of a container without CAP_SETUID.
    """
    if os.geteuid() != 0 or not _may_change_user():
        return None
    base = next((base for base in (_HIGH_BASE, _LOW_BASE) if _is_mapped(base)), None)
    return None if base is None else SlotUsers(base, _LEDGER)


def _may_change_user() -> bool:
    status = Path("/proc/self/status")
    if not status.exists():
        return False
    (mask,) = (
        int(line.split()[1], 16) for line in status.read_text().splitlines() if line.startswith("CapEff")
    )
    return bool(mask >> _CAP_SETUID & mask >> _CAP_SETGID & 1)


def _is_mapped(base: int) -> bool:
    return all(has_range(Path(f"/proc/self/{name}"), base) for name in ("uid_map", "gid_map"))


def has_range(id_map: Path, base: int) -> bool:
    """Whether a uid_map or gid_map holds all users from `base` on that guests may get."""
    ranges = [[int(word) for word in line.split()] for line in id_map.read_text().splitlines()]
    return any(first <= base and base + _SLOTS <= first + count for first, _, count in ranges)
