"""A private view of the disk for guests that root starts.

Root's interpreter may stand where no other user may look (a home of mode 0700), and a guest must not be root.
So one small process holds a mount namespace in which those folders are bound at a readable place; each guest
enters it, changes its user, and only then builds its own room from there. The holder ends with its parent:
it reads a pipe that the parent never writes to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mudroom.errors import Code, GuestFailed
from mudroom.jail.furniture import system_folders

__all__ = ["Staging"]

_PLACES = ("/mnt", "/media", "/srv", "/run", "/tmp", "/var/tmp")  # noqa: S108 - covered by a mount of ours
_SCRIPT = """
set -e
stage=$1; shift
mount -t tmpfs -o mode=0755,size=64k mudroom "$stage"
n=0
for source; do
    if [ -d "$source" ]; then mkdir "$stage/$n"; else : > "$stage/$n"; fi
    mount --bind "$source" "$stage/$n"
    n=$((n + 1))
done
echo staged
exec cat
"""
_CLEAN_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class Staging:
    """A mount namespace in which `sources` stand at readable paths."""

    def __init__(self, holder: subprocess.Popen[bytes], places: dict[Path, Path]) -> None:
        self._holder = holder
        self._places = places

    @classmethod
    def open(cls, sources: Sequence[Path]) -> Staging:
        """A namespace with each source bound; needs root with the right to mount.

        Raises: GuestFailed(JAIL_UNAVAILABLE) where it cannot be made.
        """
        stage = _choose_place(sources)
        unshare = _find_program("unshare")
        holder = subprocess.Popen(  # noqa: S603 - our own script, arguments are paths of our interpreter
            [
                unshare,
                "--mount",
                "--propagation",
                "private",
                "/bin/sh",
                "-c",
                _SCRIPT,
                "sh",
                str(stage),
                *map(str, sources),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": _CLEAN_PATH},
            start_new_session=True,
        )
        places = {source: stage / str(number) for number, source in enumerate(sources)}
        staging = cls(holder, places)
        assert holder.stdout is not None  # noqa: S101 - it is a pipe, as asked for above
        if holder.stdout.readline() != b"staged\n":
            detail = staging._end()
            raise GuestFailed(
                Code.JAIL_UNAVAILABLE,
                f"root could not prepare a private mount namespace for guests: {detail}",
            )
        return staging

    def place_of(self, path: Path) -> Path:
        """Where a path stands in the namespace; itself where it was not bound."""
        for source, place in self._places.items():
            if path.is_relative_to(source):
                return place / path.relative_to(source) if path != source else place
        return path

    def entering(self, uid: int) -> list[str]:
        """The command that enters the namespace as that user and group, and goes on with what follows it."""
        namespace = f"--mount=/proc/{self._holder.pid}/ns/mnt"
        return [_find_program("nsenter"), namespace, f"--setuid={uid}", f"--setgid={uid}", "--"]

    def close(self) -> None:
        """Nothing is left: the namespace ends with its last process."""
        self._end()

    def _end(self) -> str:
        self._holder.kill()
        _, errors = self._holder.communicate()
        return errors.decode(errors="replace").strip()[-200:] or "no reason given"


def _choose_place(sources: Sequence[Path]) -> Path:
    taken = (*sources, *system_folders())
    for name in _PLACES:
        place = Path(name)
        if place.is_dir() and not any(path.is_relative_to(place) for path in taken):
            return place
    raise GuestFailed(Code.JAIL_UNAVAILABLE, f"none of {', '.join(_PLACES)} can be covered by a mount")


def _find_program(name: str) -> str:
    found = shutil.which(name, path=_CLEAN_PATH)
    if found is None:
        raise GuestFailed(Code.JAIL_UNAVAILABLE, f"the program {name} (package util-linux) is not installed")
    return os.path.realpath(found)
