"""Caps of the kernel on a guest's memory and tasks, where this process may set them.

A resource limit caps one process, a control group caps the room. Version 1 or 2, whichever is writable;
where neither is, guests run without, and `held` says so.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Cgroups", "GuestCgroup", "sweep"]

_NAME = re.compile(r"mudroom-(\d+)-\d+")
_MAX_TASKS = 4
_MOUNT_POINT = 4


@dataclass(slots=True, kw_only=True)
class GuestCgroup:
    """The groups of one guest."""

    folders: tuple[Path, ...]

    def add(self, pid: int) -> None:
        """Moves a process in. One that ended already is no fault."""
        for folder in self.folders:
            with contextlib.suppress(ProcessLookupError):
                (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        """How often the kernel killed in here for want of memory."""
        total = 0
        for folder in self.folders:
            for name in ("memory.oom_control", "memory.events"):
                with contextlib.suppress(OSError):
                    words = (folder / name).read_text().split()
                    total += int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0
        return total

    def kill(self) -> None:
        """Ends whatever is in here: a process whose starter was ended before it could tie itself to it."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Whether the groups are gone; not before their processes are."""
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


@dataclass(slots=True, kw_only=True)
class Cgroups:
    """Where groups for guests can be made, and what they will hold."""

    memory: Path | None
    tasks: Path | None
    version: int
    _made: int = field(default=0)

    @classmethod
    def find(cls) -> Cgroups:
        """What this process may write, as found by trying; stale groups of dead mudrooms are removed."""
        found = _find_version_1() or _find_version_2()
        if found is None:
            return cls(memory=None, tasks=None, version=0)
        for parent in {found.memory, found.tasks} - {None}:
            assert parent is not None  # noqa: S101 - taken out one line above
            sweep(parent)
        return found

    @property
    def held(self) -> tuple[str, ...]:
        """What is capped, in words for a report."""
        parts = (("memory", self.memory), ("pids", self.tasks))
        return tuple(f"{name} (cgroup v{self.version})" for name, parent in parts if parent is not None)

    def make(self, max_memory_bytes: int) -> GuestCgroup | None:
        """Groups for one guest; None where none can be made."""
        if self.memory is None and self.tasks is None:
            return None
        self._made += 1
        name = f"mudroom-{os.getpid()}-{self._made}"
        folders = [parent / name for parent in dict.fromkeys((self.memory, self.tasks)) if parent is not None]
        for folder in folders:
            folder.mkdir(exist_ok=True)
            for file, value in (
                ("memory.limit_in_bytes", max_memory_bytes),
                ("memory.max", max_memory_bytes),
                ("memory.swap.max", 0),
                ("pids.max", _MAX_TASKS),
            ):
                if (folder / file).exists():
                    (folder / file).write_text(str(value))
        return GuestCgroup(folders=tuple(folders))


def _find_version_1() -> Cgroups | None:
    mounts = _mounts("cgroup")
    places = _own_groups()
    found: dict[str, Path | None] = {}
    for controller in ("memory", "pids"):
        parent = (
            next((_join(mount, places[controller]) for mount, words in mounts if controller in words), None)
            if controller in places
            else None
        )
        found[controller] = parent if parent is not None and _can_make(parent, controller) else None
    if not any(found.values()):
        return None
    return Cgroups(memory=found["memory"], tasks=found["pids"], version=1)


def _find_version_2() -> Cgroups | None:
    places = _own_groups()
    if "" not in places:
        return None
    for mount, _ in _mounts("cgroup2"):
        parent = _join(mount, places[""])
        with contextlib.suppress(OSError):
            (parent / "cgroup.subtree_control").write_text("+memory +pids")
        memory, tasks = (parent if _can_make(parent, name) else None for name in ("memory", "pids"))
        if memory is not None or tasks is not None:
            return Cgroups(memory=memory, tasks=tasks, version=2)
    return None


def _can_make(parent: Path, controller: str) -> bool:
    """Whether a group made here has the controller's files."""
    trial = parent / f"mudroom-{os.getpid()}-0"
    try:
        trial.mkdir(exist_ok=True)
    except OSError:
        return False
    names = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max",)}[controller]
    works = any(os.access(trial / name, os.W_OK) for name in names)
    trial.rmdir()
    return works


def _mounts(kind: str) -> list[tuple[Path, frozenset[str]]]:
    """Mount points of a file system, with their controllers; only those that show their own root."""
    found: list[tuple[Path, frozenset[str]]] = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            head, _, tail = line.partition(" - ")
            words = head.split()
            file_system, _, options = tail.split(" ", 2)
            if file_system == kind:
                found.append((Path(words[_MOUNT_POINT]), frozenset(options.split(","))))
    return found


def _own_groups() -> dict[str, str]:
    """This process's group by controller; the unified hierarchy has the name ''."""
    groups: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                groups[controller] = path
    return groups


def _join(mount: Path, group: str) -> Path:
    joined = mount / group.lstrip("/")
    # In a container the path may be that of the host; its own root is what is mounted then.
    return joined if joined.is_dir() else mount


def sweep(parent: Path) -> None:
    """Removes the empty groups of mudrooms that are gone: a killed one cannot remove its own."""
    for folder in parent.glob("mudroom-*"):
        match = _NAME.fullmatch(folder.name)
        if match is not None and not Path(f"/proc/{match[1]}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
