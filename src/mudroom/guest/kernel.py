"""The few calls to the kernel that a guest makes to lock itself, through the C library.

ctypes is enough for them: nothing else has to be installed, and all of it happens before the first document.
"""

from __future__ import annotations

import ctypes
import os

__all__ = [
    "Kernel",
]

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_INSTRUCTION_BYTES = 8
# Rights over files by the ABI that brought the last of them.
_FS_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_NEWEST_FS_RIGHTS = 0xFFFF
_NET_RIGHTS = 0x3
_NET_ABI = 4
_SCOPES = 0x3
_SCOPE_ABI = 6


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class Kernel:
    """The C library of this process. Each method raises OSError where the kernel says no."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._machine = os.uname().machine

    def raw(self, number: int, *arguments: int) -> int:
        """A system call by number; -1 and a set errno are returned, not raised."""
        return int(self._libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments)))

    def last_errno(self) -> int:
        """The errno of the last call made here."""
        return ctypes.get_errno()

    def die_with_parent(self, signal_number: int) -> None:
        """The kernel sends `signal_number` when the thread that started this process ends."""
        self._check(self._libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl(PDEATHSIG)")

    def forbid_new_privileges(self) -> None:
        """No execve gives rights from here on; filters need this. Nothing of this process is dumpable."""
        self._check(self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")
        self._check(self._libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(DUMPABLE)")

    def close_filesystem(self) -> int:
        """The Landlock ABI under which every right over files, sockets and signals was given up.

        0 where the kernel has no Landlock, or has it switched off.
        """
        abi = int(self._libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION))
        if abi < 1:
            return 0
        attributes = _RulesetAttributes(
            handled_access_fs=_FS_RIGHTS.get(abi, _NEWEST_FS_RIGHTS),
            handled_access_net=_NET_RIGHTS if abi >= _NET_ABI else 0,
            scoped=_SCOPES if abi >= _SCOPE_ABI else 0,
        )
        fields = 3 if abi >= _SCOPE_ABI else 2 if abi >= _NET_ABI else 1
        size = ctypes.c_size_t(8 * fields)
        ruleset = self._libc.syscall(_LANDLOCK_CREATE_RULESET, ctypes.byref(attributes), size, 0)
        self._check(ruleset, "landlock_create_ruleset")
        self._check(self._libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
        os.close(ruleset)
        return abi

    def install_filter(self, program: bytes) -> None:
        """A seccomp filter over this process, for ever. Needs `forbid_new_privileges` first."""
        filter_program = _FilterProgram(len(program) // _INSTRUCTION_BYTES, program)
        number = _SECCOMP[self._machine]
        result = self._libc.syscall(number, _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(filter_program))
        self._check(result, "seccomp")

    def _check(self, result: int, what: str) -> None:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")
