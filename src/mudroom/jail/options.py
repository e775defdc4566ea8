"""What a jail is made of and what it lets pass."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from typing import Literal

from mudroom.model import Isolation
from mudroom.wire import AnswerLimits

__all__ = ["EXTRACT_ROLE", "PROBE_ROLE", "SCAN_ROLE", "GuestRole", "GuestSharing", "JailOptions"]


@unique
class GuestSharing(StrEnum):
    """What a guest may serve before it is replaced (decision 11)."""

    SITE = "site"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestRole:
    """A kind of guest: the name of its work, and the packages it imports beside mudroom's own."""

    name: str
    """One of the guest's own roles, or `module:attribute`."""
    packages: tuple[str, ...] = ()
    """Top-level modules whose folders are shown to it; what is not installed is passed over."""
    folders: tuple[Path, ...] = ()
    """Further folders on its search path."""
    settings: tuple[int, ...] = ()
    """Limits that it is told once, in the order of their declaration."""


EXTRACT_ROLE = GuestRole(
    name="extract", packages=("turbohtml", "webencodings", "chardet", "puremagic", "markdown_it", "ada_url")
)
SCAN_ROLE = GuestRole(name="scan", packages=("re2", "yaml"))
PROBE_ROLE = GuestRole(name="probe")


@dataclass(frozen=True, slots=True, kw_only=True)
class JailOptions:
    """How guests are held, how many there are, and what one document may cost."""

    isolation: Isolation | Literal["auto"] = "auto"
    """`auto` is the strongest level that passes its probe on this machine."""
    floor: Isolation = Isolation.PROCESS
    """The weakest level that `auto` may take; one that is asked for by its name is taken all the same."""
    by: GuestSharing = GuestSharing.SITE
    guests_per_role: int = field(default_factory=lambda: max(2, os.cpu_count() or 1))
    spares_per_role: int = 1
    """Guests that wait, warm and untouched, beyond those that serve."""
    wall_seconds: float = 60.0
    cpu_seconds: float = 20.0
    max_memory_bytes: int = 1024 * 1024 * 1024
    answer: AnswerLimits = field(default_factory=AnswerLimits)
    start_timeout_seconds: float = 30.0
    start_attempts: int = 3
    extract_role: GuestRole = EXTRACT_ROLE
    scan_role: GuestRole = SCAN_ROLE
