"""Two filters: what a locked guest may still do, and what no process behind the wall may do at all.

Both machines are little endian, so the low half of an argument is its first word.
"""

from __future__ import annotations

from mudroom.syscalls.numbers import Architecture
from mudroom.syscalls.program import ALLOW, EPERM, MISSING, FilterProgram

__all__ = ["build_guest_filter", "build_wall_filter"]

_PROT_EXEC = 4

# Memory, the two pipes that stand open, time, chance, its own signals, and the end. Opening anything,
# making a process or thread, and naming another process are not among them.
_GUEST_MAY = (
    "read",
    "write",
    "readv",
    "writev",
    "futex",
    "munmap",
    "brk",
    "mremap",
    "madvise",
    "close",
    "fstat",
    "lseek",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "gettid",
    "getpid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "getrusage",
    "getrandom",
    "poll",
    "ppoll",
    "pselect6",
    "restart_syscall",
    "sched_yield",
    "sched_getaffinity",
    "sysinfo",
    "membarrier",
    "rseq",
    "exit",
    "exit_group",
)
# New code may not be made either.
_GUEST_MAY_WITHOUT_EXEC = ("mmap", "mprotect")

_NOBODY_MAY = (
    # Namespaces and mounts: the way to more kernel.
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "open_by_handle_at",
    "name_to_handle_at",
    # Other processes, and new ones: a guest is one process with one thread.
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "pidfd_getfd",
    "pidfd_open",
    "clone",
    "fork",
    "vfork",
    # No network, not even inside an empty namespace.
    "socket",
    "socketpair",
    # Parts of the kernel with a history, which default profiles let through.
    "keyctl",
    "add_key",
    "request_key",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "memfd_secret",
    "vmsplice",
    "mbind",
    "move_pages",
    "migrate_pages",
    "set_mempolicy",
    "lookup_dcookie",
    "nfsservctl",
    "personality",
    # The machine itself.
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "swapon",
    "swapoff",
    "reboot",
    "acct",
    "quotactl",
    "syslog",
    "iopl",
    "ioperm",
)


def build_guest_filter(architecture: Architecture) -> bytes:
    """The allow-list that a guest puts on itself when it is warm; everything else is EPERM."""
    program = FilterProgram(architecture)
    for name in _GUEST_MAY:
        program.answer(name, ALLOW)
    for name in _GUEST_MAY_WITHOUT_EXEC:
        program.allow_without_bits(name, argument=2, bits=_PROT_EXEC)
    return program.finish(EPERM)


def build_wall_filter(architecture: Architecture) -> bytes:
    """The deny-list that holds from before the first instruction of an interpreter in the jail."""
    program = FilterProgram(architecture)
    program.answer("clone3", MISSING)
    for name in _NOBODY_MAY:
        program.answer(name, EPERM)
    return program.finish(ALLOW)
