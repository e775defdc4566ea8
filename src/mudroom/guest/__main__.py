"""`python -I -m mudroom.guest ROLE LEVEL UID MEMORY`: one guest, on its standard input and output.

The jail starts it with a search path of its own and without site; a person has no use for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import cast

from mudroom.guest.lock import LockOrder
from mudroom.guest.loop import Role, live
from mudroom.model import Isolation

__all__ = ["main"]

_ROLES = {
    "extract": "mudroom.guest.extracting:ExtractRole",
    "scan": "mudroom.guest.scanning:ScanRole",
    "probe": "mudroom.guest.probing:ProbeRole",
}
_USAGE = "usage: python -I -m mudroom.guest ROLE strict|confined|process UID|- MEMORY_BYTES"
_ARGUMENTS = 5


def main() -> None:
    """Nothing; the process is a guest until its input ends."""
    if len(sys.argv) != _ARGUMENTS:
        raise SystemExit(_USAGE)
    _, name, level, uid, memory = sys.argv
    order = LockOrder(
        isolation=Isolation(level),
        uid=None if uid == "-" else int(uid),
        max_memory_bytes=int(memory),
    )
    live(make_role(name), order)


def make_role(name: str) -> Role:
    """The role of that name; `module:attribute` names one that is not ours."""
    module_name, _, attribute = _ROLES.get(name, name).partition(":")
    factory = cast("Callable[[], Role]", getattr(importlib.import_module(module_name), attribute))
    return factory()


if __name__ == "__main__":
    main()
