"""Users that belong to nobody, one for each guest that root starts."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["SlotUsers", "find_users", "has_range"]

# Above what useradd, systemd and subordinate ranges give out.
_HIGH_BASE = 1_879_000_000
# Inside the 65,536 users that a container may have, above what Debian gives out.
_LOW_BASE = 65_100
_SLOTS = 256
_CAP_SETGID = 6
_CAP_SETUID = 7


class SlotUsers:
    """Hands out user numbers; a number is given again only when its guest has ended."""

    def __init__(self, base: int) -> None:
        self._base = base
        # Two mudrooms of one root begin at different numbers.
        self._offset = os.getpid() * 16 % _SLOTS
        self._taken: set[int] = set()

    def take(self) -> int:
        """A number that no guest of this pool has."""
        for step in range(_SLOTS):
            uid = self._base + (self._offset + step) % _SLOTS
            if uid not in self._taken:
                self._taken.add(uid)
                return uid
        raise ValueError("more guests than users for them")

    def give_back(self, uid: int) -> None:
        """The number is free again."""
        self._taken.discard(uid)


def find_users() -> SlotUsers | None:
    """Users for guests; None where this process is not root, or is a root that cannot become anyone else.

    Such a root is that of a user namespace with one user in it, or of a container without CAP_SETUID.
    """
    if os.geteuid() != 0 or not _may_change_user():
        return None
    base = next((base for base in (_HIGH_BASE, _LOW_BASE) if _is_mapped(base)), None)
    return None if base is None else SlotUsers(base)


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
