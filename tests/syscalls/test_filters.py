"""The programs are judged by running them: a small machine for classic BPF stands in for the kernel."""

from __future__ import annotations

import struct

import pytest

from mudroom.syscalls import architecture_of, build_guest_filter, build_wall_filter

ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050001
ENOSYS = 0x00050026
X86, ARM = "x86_64", "aarch64"
ARCHES = {X86: 0xC000003E, ARM: 0xC00000B7}


def run(program: bytes, number: int, arch: int, *arguments: int) -> int:
    """The verdict of a program on one call."""
    padded = (*arguments, *([0] * (6 - len(arguments))))
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator = position = 0
    while True:
        code, if_true, if_false, operand = instructions[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[code]
            position += if_true if holds else if_false


GUEST_ROWS = [
    # machine, call, number, arguments, verdict; numbers from the kernel's tables
    (X86, "read", 0, (), ALLOW),
    (X86, "writev", 20, (), ALLOW),
    (X86, "mmap of data", 9, (0, 4096, 3), ALLOW),
    (X86, "mmap of code", 9, (0, 4096, 5), EPERM),
    (X86, "mprotect to code", 10, (0, 4096, 4), EPERM),
    (X86, "mprotect to data", 10, (0, 4096, 1), ALLOW),
    (X86, "exit_group", 231, (), ALLOW),
    (X86, "open", 2, (), EPERM),
    (X86, "openat", 257, (), EPERM),
    (X86, "openat2", 437, (), EPERM),
    (X86, "socket", 41, (2, 1, 0), EPERM),
    (X86, "clone", 56, (), EPERM),
    (X86, "clone3", 435, (), EPERM),
    (X86, "execve", 59, (), EPERM),
    (X86, "ptrace", 101, (), EPERM),
    (X86, "kill", 62, (), EPERM),
    (X86, "tgkill", 234, (), EPERM),
    (X86, "prctl", 157, (), EPERM),
    (X86, "prlimit64", 302, (), EPERM),
    (X86, "ioctl", 16, (), EPERM),
    (X86, "dup3", 292, (), EPERM),
    (X86, "sendmsg", 46, (), EPERM),
    (X86, "io_uring_enter", 426, (), EPERM),
    (X86, "memfd_create", 319, (), EPERM),
    (X86, "a call of tomorrow", 999, (), EPERM),
    (X86, "x32 read", 0x40000000, (), KILL),
    (ARM, "read", 63, (), ALLOW),
    (ARM, "mmap of code", 222, (0, 4096, 4), EPERM),
    (ARM, "openat", 56, (), EPERM),
    (ARM, "socket", 198, (), EPERM),
    (ARM, "clone", 220, (), EPERM),
    (ARM, "exit_group", 94, (), ALLOW),
]


@pytest.mark.parametrize(("machine", "call", "number", "arguments", "verdict"), GUEST_ROWS)
def test_a_locked_guest_may_do_this_and_no_more(
    machine: str, call: str, number: int, arguments: tuple[int, ...], verdict: int
) -> None:
    architecture = architecture_of(machine)
    assert architecture is not None
    assert run(build_guest_filter(architecture), number, ARCHES[machine], *arguments) == verdict


@pytest.mark.parametrize(
    ("machine", "number", "verdict"),
    [
        (X86, 59, ALLOW),  # execve: the interpreter itself is started through it
        (X86, 257, ALLOW),  # openat: modules are loaded
        (X86, 157, ALLOW),  # prctl: the guest's own lock
        (X86, 56, EPERM),
        (X86, 57, EPERM),
        (X86, 58, EPERM),
        (X86, 435, ENOSYS),
        (X86, 41, EPERM),
        (X86, 53, EPERM),
        (X86, 101, EPERM),
        (X86, 165, EPERM),
        (X86, 250, EPERM),
        (X86, 272, EPERM),
        (X86, 308, EPERM),
        (X86, 321, EPERM),
        (X86, 425, EPERM),
        (X86, 0x40000038, KILL),
        (ARM, 221, ALLOW),
        (ARM, 220, EPERM),
        (ARM, 97, EPERM),
        (ARM, 198, EPERM),
        (ARM, 425, EPERM),
    ],
)
def test_behind_the_wall_nobody_may_do_this(machine: str, number: int, verdict: int) -> None:
    architecture = architecture_of(machine)
    assert architecture is not None
    assert run(build_wall_filter(architecture), number, ARCHES[machine]) == verdict


@pytest.mark.parametrize("build", [build_guest_filter, build_wall_filter])
def test_calls_of_another_machine_kill(build) -> None:  # noqa: ANN001 - either builder
    architecture = architecture_of(X86)
    assert architecture is not None
    assert run(build(architecture), 0, ARCHES[ARM]) == KILL
    # The 32-bit table of the same machine: number 11 is execve there.
    assert run(build(architecture), 11, 0x40000003) == KILL


def test_a_machine_that_is_not_known_has_no_numbers() -> None:
    assert architecture_of("riscv64") is None
