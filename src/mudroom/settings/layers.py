"""Where settings come from: the file, the environment, the command line; the later wins.

Only the user's configuration folder, `--config` and the environment count: never the current directory, and
never a `.env`, since whoever can write there would decide what is fetched and how it is judged (decision 16).
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from mudroom.errors import InvalidConfig

__all__ = [
    "CONFIG_VARIABLE",
    "WORKSPACE_VARIABLE",
    "Layer",
    "find_config_file",
    "read_environment",
    "read_file",
]

CONFIG_VARIABLE = "MUDROOM_CONFIG"
WORKSPACE_VARIABLE = "MUDROOM_WORKSPACE"
_PREFIX = "MUDROOM_"
_DELIMITER = "__"
_MAX_CONFIG_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Values of one origin, by section and key."""

    origin: str
    """For people: the file's path, 'environment' or 'command line'."""
    values: Mapping[tuple[str, str], object] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def find_config_file(environment: Mapping[str, str]) -> Path:
    """The settings file of this user; it need not exist."""
    named = environment.get(CONFIG_VARIABLE)
    return Path(named) if named else user_config_path("mudroom", appauthor=False) / "mudroom.toml"


def read_file(path: Path, *, is_required: bool) -> Layer:
    """The values of a settings file; none when it is missing and not required.

    Raises: InvalidConfig when it cannot be read, is no TOML, or may be written by other users.
    """
    origin = str(path)
    try:
        with path.open("rb") as file:
            _check_owner(path, os.fstat(file.fileno()))
            text = file.read(_MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        if is_required:
            raise InvalidConfig(f"{path}: no such settings file") from None
        return Layer(origin=origin)
    except OSError as error:
        raise InvalidConfig(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(text) > _MAX_CONFIG_BYTES:
        raise InvalidConfig(f"{path}: larger than {_MAX_CONFIG_BYTES:,} bytes; this is no settings file")
    try:
        content = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: not TOML: {error}") from error
    return _flatten(origin, content)


def read_environment(environment: Mapping[str, str]) -> Layer:
    """The values of variables named MUDROOM_SECTION__KEY."""
    values: dict[tuple[str, str], object] = {}
    for name, text in environment.items():
        if name.startswith(_PREFIX) and _DELIMITER in name:
            section, _, key = name.removeprefix(_PREFIX).lower().partition(_DELIMITER)
            values[section, key] = _parse_value(text)
    return Layer(origin="environment", values=values)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidConfig(
            f"{path}: others can write this file, so it is not believed; run chmod go-w {path}"
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise InvalidConfig(
            f"{path}: belongs to another user, so it is not believed; copy it to your own folder"
        )


def _flatten(origin: str, content: Mapping[str, object]) -> Layer:
    values: dict[tuple[str, str], object] = {}
    faults = []
    for section, table in content.items():
        if isinstance(table, dict):
            values.update(((section, key), value) for key, value in table.items())
        else:
            faults.append(f"{section}: stands outside a section; write it under [section] ({origin})")
    return Layer(origin=origin, values=values, faults=tuple(faults))


def _parse_value(text: str) -> object:
    """A variable's text as TOML would read it, else as the text it is; commas make a list."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return [part.strip() for part in text.split(",")] if "," in text else text
