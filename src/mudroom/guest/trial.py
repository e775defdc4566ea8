"""A lock tried from inside: each forbidden thing attempted, each success reported as a bit."""

from __future__ import annotations

import os
from enum import IntFlag

from mudroom.guest.kernel import Kernel
from mudroom.syscalls import Architecture

__all__ = ["Escape", "Trial"]

_AF_INET = 2
_SOCK_STREAM = 1
_SIGCHLD = 17
_CLONE_NEWUSER = 0x10000000
_FOLDERS = ("/", "/tmp", "/dev/shm")  # noqa: S108 - where a file could be made


class Escape(IntFlag):
    """What worked that must not."""

    OPEN = 1
    WRITE = 2
    SOCKET = 4
    FORK = 8
    NAMESPACE = 16
    SIGNAL = 32


class Trial:
    """The door and how to try it; made before the lock, since a locked guest cannot even ask its name."""

    def __init__(self, kernel: Kernel, architecture: Architecture) -> None:
        self._kernel = kernel
        self._numbers = architecture.numbers
        self._parent = os.getppid()

    def try_the_door(self) -> Escape:
        """What of the forbidden works here; nothing of it is left behind when it does."""
        escapes = Escape(0)
        if _can_open("/etc/passwd", os.O_RDONLY) or _can_open("/proc/self/environ", os.O_RDONLY):
            escapes |= Escape.OPEN
        # O_TMPFILE: what is made has no name.
        if any(_can_open(folder, os.O_TMPFILE | os.O_WRONLY) for folder in _FOLDERS):
            escapes |= Escape.WRITE
        if self._kernel.raw(self._numbers["socket"], _AF_INET, _SOCK_STREAM, 0) >= 0:
            escapes |= Escape.SOCKET
        if _can_fork(self._kernel, self._numbers["clone"]):
            escapes |= Escape.FORK
        if self._parent > 1 and _can_signal(self._parent):
            escapes |= Escape.SIGNAL
        return escapes

    def try_namespaces(self) -> Escape:
        """Whether a new user namespace can be had. It would change this process, so it comes last."""
        works = self._kernel.raw(self._numbers["unshare"], _CLONE_NEWUSER) == 0
        return Escape.NAMESPACE if works else Escape(0)


def _can_open(path: str, flags: int) -> bool:
    try:
        os.close(os.open(path, flags))
    except OSError:
        return False
    return True


def _can_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _can_fork(kernel: Kernel, clone_number: int) -> bool:
    child = kernel.raw(clone_number, _SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    return child > 0
