"""Paths that a person wrote, made whole: `~` is their home, the rest is below where they stand."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

from mudroom.errors import InvalidConfig

__all__ = ["expand_home", "find_user_folder", "make_absolute"]


def expand_home(name: str) -> Path:
    """The path with `~` or `~user` replaced; where nobody knows that home it stays as written.

    Why: a path that cannot be is told by whoever opens it, as the one target or file that it is.
    """
    return Path(name) if "\0" in name else Path(os.path.expanduser(name))  # noqa: PTH111 - Path's own raises


def make_absolute(path: Path, name: str) -> Path:
    """The path from the root on; `name` says what it is for.

    Raises: InvalidConfig for a relative path where the current folder is gone.
    """
    try:
        return expand_home(str(path)).absolute()
    except FileNotFoundError:
        raise InvalidConfig(
            f"{name} is {str(path)!r}, below a current folder that is not there any more; "
            "write it from / on, or change to a folder that exists"
        ) from None


def find_user_folder(find: Callable[[], Path], below_home: str, instead: str) -> Path:
    """A folder of this user as the XDG specification has it, or `below_home` in the home that the system knows.

    A folder that is not absolute is passed over, as the specification asks: it would be one below whatever
    folder this program happens to run in. Raises: InvalidConfig, which names the variables to set, where
    no home is known.
    """
    try:
        folder = find()
    except RuntimeError:  # no home: HOME is not set, and this user has no entry
        folder = Path()
    if folder.is_absolute():
        return folder
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir) / below_home
    except KeyError:
        raise InvalidConfig(
            f"no home folder is known for user {os.geteuid()}; set HOME or {instead} (environment)"
        ) from None
