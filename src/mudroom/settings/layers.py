"""Where settings come from: the file, the environment, the command line; the later wins.

Only the user's configuration folder, `--config` and the environment count: never the current directory, and
never a `.env`, since whoever can write there would decide what is fetched and how it is judged (decision 16).
For the same reason a path in the environment counts only when it is absolute, and a file that others could
have written is not believed.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from mudroom.settings.paths import find_user_folder

__all__ = [
    "CONFIG_VARIABLE",
    "TESTING_VARIABLE",
    "WORKSPACE_VARIABLE",
    "Layer",
    "find_config_file",
    "read_environment",
    "read_file",
]

CONFIG_VARIABLE = "MUDROOM_CONFIG"
WORKSPACE_VARIABLE = "MUDROOM_WORKSPACE"
TESTING_VARIABLE = "MUDROOM_TESTING"
_OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, WORKSPACE_VARIABLE, TESTING_VARIABLE})
_PREFIX = "MUDROOM_"
_DELIMITER = "__"
_MAX_CONFIG_BYTES = 1024 * 1024
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Values of one origin, by section and key, and what is wrong with the origin itself."""

    origin: str
    """For people: the file's path, 'environment' or 'command line'."""
    values: Mapping[tuple[str, str], object] = field(default_factory=dict)
    is_text: bool = False
    """Whether every value is still the text of a variable."""
    faults: tuple[str, ...] = ()


def find_config_file(environment: Mapping[str, str]) -> Path:
    """The settings file of this user; it need not exist. Raises InvalidConfig where no home is known."""
    named = environment.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    folder = find_user_folder(
        lambda: user_config_path("mudroom", appauthor=False), ".config/mudroom", CONFIG_VARIABLE
    )
    return folder / "mudroom.toml"


def read_file(path: Path, *, is_required: bool) -> Layer:
    """The values of a settings file; none when it is missing and not required.

    A link is followed once, and what it leads to is judged: the file and its folder. The null device is a
    file without settings, so that `--config /dev/null` gives the defaults.
    """
    origin = str(path)
    try:
        text = _read_trusted(path)
    except FileNotFoundError:
        return Layer(origin=origin, faults=(f"{path}: no such settings file",) if is_required else ())
    except OSError as error:
        return Layer(origin=origin, faults=(f"{path}: cannot be read: {error.strerror or error}",))
    except _NotBelievedError as error:
        return Layer(origin=origin, faults=(f"{path}: {error}",))
    try:
        content = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        return Layer(origin=origin, faults=(f"{path}: not TOML: {error}",))
    return _flatten(origin, content)


def read_environment(environment: Mapping[str, str]) -> Layer:
    """The texts of variables named MUDROOM_SECTION__KEY; another MUDROOM_ variable is a slip, and a fault."""
    values: dict[tuple[str, str], object] = {}
    faults = []
    for name, text in sorted(environment.items()):
        if not name.startswith(_PREFIX) or name in _OTHER_VARIABLES:
            continue
        section, delimiter, key = name.removeprefix(_PREFIX).lower().partition(_DELIMITER)
        if delimiter:
            values[section, key] = text
        else:
            faults.append(f"{name}: no such variable; expected MUDROOM_SECTION__KEY (environment)")
    named = environment.get(CONFIG_VARIABLE)
    if named and not Path(named).is_absolute():
        faults.append(f"{CONFIG_VARIABLE} is {named!r}; expected an absolute path (environment)")
    return Layer(origin="environment", values=values, is_text=True, faults=tuple(faults))


class _NotBelievedError(Exception):
    """Why a file is not taken for the user's own."""


def _read_trusted(path: Path) -> bytes:
    real = Path(os.path.realpath(path, strict=True))
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if os.path.samestat(status, os.stat(os.devnull)):  # noqa: PTH116 - the device, whatever its path
            return b""
        if not stat.S_ISREG(status.st_mode):
            raise _NotBelievedError("is not a file")
        _check_owner(real, status)
        _check_folder(real.parent)
        with open(descriptor, "rb", closefd=False) as file:
            text = file.read(_MAX_CONFIG_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(text) > _MAX_CONFIG_BYTES:
        raise _NotBelievedError(f"larger than {_MAX_CONFIG_BYTES:,} bytes; this is no settings file")
    return text


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in {os.geteuid(), 0}:
        raise _NotBelievedError("belongs to another user, so it is not believed; copy it to your own folder")
    if status.st_mode & _OTHERS_WRITE:
        raise _NotBelievedError(f"others can write it, so it is not believed; run chmod go-w {path}")


def _check_folder(folder: Path) -> None:
    """Whoever can write the folder can put another file there; unless it is sticky, as /tmp is."""
    status = folder.stat()
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        raise _NotBelievedError(
            f"others can write its folder, so it is not believed; run chmod go-w {folder}"
        )


def _flatten(origin: str, content: Mapping[str, object]) -> Layer:
    values: dict[tuple[str, str], object] = {}
    faults = []
    for section, table in content.items():
        if isinstance(table, dict):
            values.update(((section, key), value) for key, value in table.items())
        else:
            faults.append(f"{section}: stands outside a section; expected it under one [section] ({origin})")
    return Layer(origin=origin, values=values, faults=tuple(faults))
