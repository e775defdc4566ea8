"""Users that belong to nobody, one for each guest that root starts."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["SlotUsers"]

# Above what useradd, systemd and subordinate ranges give out.
_HIGH_BASE = 1_879_000_000
# Inside the 65,536 users that a container may have, above what Debian gives out.
_LOW_BASE = 65_100
_SLOTS = 256


class SlotUsers:
    """Hands out user numbers; a number is given again only when its guest has ended."""

    def __init__(self, base: int | None = None) -> None:
        self._base = _choose_base() if base is None else base
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


def _choose_base() -> int:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return _LOW_BASE
    for line in lines:
        first, _, count = (int(word) for word in line.split())
        if first <= _HIGH_BASE and first + count >= _HIGH_BASE + _SLOTS:
            return _HIGH_BASE
    return _LOW_BASE
