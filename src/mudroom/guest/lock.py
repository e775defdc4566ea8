"""A guest locks itself: what it gives up, in which order, at which level."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass

from mudroom.guest.kernel import Kernel
from mudroom.guest.trial import Escape, Trial
from mudroom.model import Isolation
from mudroom.syscalls import architecture_of, build_guest_filter
from mudroom.wire import GuestReady

__all__ = ["LockOrder", "lock_guest"]

_OPEN_FILES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOrder:
    """How a guest is to lock itself."""

    isolation: Isolation
    uid: int | None
    """To become this user and group, when started as root outside a namespace."""
    max_memory_bytes: int


def lock_guest(order: LockOrder) -> GuestReady:
    """What holds now, and what a trial of the lock found.

    Why this order: the user is changed while that is still allowed; limits and Landlock come before the
    filter, which forbids to change any of them. At `process` only the limits hold, and nothing is tried.
    Raises: OSError where a part of the lock is refused, and the guest ends: it is never weakened here.
    """
    if order.uid is not None:
        _become(order.uid)
    if os.uname().sysname == "Linux":
        kernel = Kernel()
        if order.isolation is not Isolation.STRICT:
            kernel.die_with_parent(signal.SIGKILL)
        if order.isolation is not Isolation.PROCESS:
            return _lock(order, kernel)
    elif order.isolation is not Isolation.PROCESS:
        raise OSError("only Linux has the parts of this lock")
    _set_limits(order.max_memory_bytes)
    return GuestReady(landlock_abi=0, has_seccomp=False, uid=os.getuid(), escapes=0)


def _lock(order: LockOrder, kernel: Kernel) -> GuestReady:
    uid, machine = os.getuid(), os.uname().machine
    architecture = architecture_of(machine)
    if architecture is None:
        raise OSError(f"the system calls of {machine} are not known")
    trial = Trial(kernel, architecture)
    # Behind walls the walls alone must hold already; the lock comes on top of them.
    escapes = trial.try_the_door() if order.isolation is Isolation.STRICT else Escape(0)
    _set_limits(order.max_memory_bytes)
    kernel.forbid_new_privileges()
    landlock_abi = kernel.close_filesystem()
    kernel.install_filter(build_guest_filter(architecture))
    escapes |= trial.try_the_door() | trial.try_namespaces()
    return GuestReady(landlock_abi=landlock_abi, has_seccomp=True, uid=uid, escapes=int(escapes))


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _set_limits(max_memory_bytes: int) -> None:
    limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
        "RLIMIT_AS": max_memory_bytes,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if os.getuid() != 0:
        limits["RLIMIT_NPROC"] = 0
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            _, hard = resource.getrlimit(kind)
            most = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (most, most))
