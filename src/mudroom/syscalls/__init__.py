"""The system calls that a guest may make, as programs for the kernel's filter."""

from mudroom.syscalls.numbers import Architecture, architecture_of
from mudroom.syscalls.profiles import build_guest_filter, build_wall_filter

__all__ = ["Architecture", "architecture_of", "build_guest_filter", "build_wall_filter"]
