"""Filters as classic BPF: a handful of instructions, assembled in order.

The kernel runs the program on each system call over `struct seccomp_data`: number at offset 0, architecture
at 4, six arguments of eight bytes from 16. Only forward jumps exist; each check here ends in a return.
Source: Linux, Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/{bpf_common,filter,seccomp}.h.
"""

from __future__ import annotations

import struct

from mudroom.syscalls.numbers import Architecture

__all__ = ["ALLOW", "EPERM", "MISSING", "FilterProgram"]

_INSTRUCTION = struct.Struct("=HBBI")
_LOAD_WORD = 0x20
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_JUMP_IF_ANY_BIT = 0x45
_RETURN = 0x06
_NUMBER_OFFSET = 0
_ARCHITECTURE_OFFSET = 4
_ARGUMENTS_OFFSET = 16
_ARGUMENT_BYTES = 8

ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
EPERM = _ERRNO | 1
MISSING = _ERRNO | 38
"""ENOSYS: the caller falls back to an older call, which is then judged itself."""


class FilterProgram:
    """A program under construction; calls that are not of the architecture kill the process."""

    __slots__ = ("_architecture", "_code")

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._code: list[bytes] = []
        self._emit(_LOAD_WORD, operand=_ARCHITECTURE_OFFSET)
        self._emit(_JUMP_IF_EQUAL, if_true=1, operand=architecture.audit_arch)
        self._emit(_RETURN, operand=_KILL_PROCESS)
        self._emit(_LOAD_WORD, operand=_NUMBER_OFFSET)
        if architecture.first_foreign_number is not None:
            self._emit(_JUMP_IF_AT_LEAST, if_false=1, operand=architecture.first_foreign_number)
            self._emit(_RETURN, operand=_KILL_PROCESS)

    def answer(self, name: str, verdict: int) -> None:
        """A verdict on a call, whatever its arguments; nothing where this machine has no such call."""
        number = self._architecture.numbers.get(name)
        if number is not None:
            self._emit(_JUMP_IF_EQUAL, if_false=1, operand=number)
            self._emit(_RETURN, operand=verdict)

    def allow_without_bits(self, name: str, argument: int, bits: int) -> None:
        """Allows a call unless one of `bits` is set in the low half of an argument."""
        number = self._architecture.numbers.get(name)
        if number is not None:
            self._emit(_JUMP_IF_EQUAL, if_false=4, operand=number)
            self._emit(_LOAD_WORD, operand=_ARGUMENTS_OFFSET + _ARGUMENT_BYTES * argument)
            self._emit(_JUMP_IF_ANY_BIT, if_false=1, operand=bits)
            self._emit(_RETURN, operand=EPERM)
            self._emit(_RETURN, operand=ALLOW)

    def finish(self, otherwise: int) -> bytes:
        """The program; `otherwise` is the verdict on every call not named."""
        return b"".join(self._code) + _INSTRUCTION.pack(_RETURN, 0, 0, otherwise)

    def _emit(self, code: int, *, if_true: int = 0, if_false: int = 0, operand: int) -> None:
        self._code.append(_INSTRUCTION.pack(code, if_true, if_false, operand))
