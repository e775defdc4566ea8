"""What this machine offers, and the fix for each lack."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

from mudroom.assembly.build import build_jail_options
from mudroom.jail import probe_isolation
from mudroom.screen import load_rules
from mudroom.settings import Settings

__all__ = ["Check", "CheckState", "examine_machine"]


@unique
class CheckState(StrEnum):
    """What a check of the machine found."""

    OK = "ok"
    WEAKER = "weaker"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that mudroom needs or can use, whether it is there, and how to get it."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""


async def examine_machine(settings: Settings) -> tuple[Check, ...]:
    """Every check, each tried for real: a guest started at each level, a file written, a rule matched."""
    return (
        *await _check_isolation(settings),
        _check_workspace(settings.workspace),
        _check_environment(),
        _check_rules(),
    )


async def _check_isolation(settings: Settings) -> tuple[Check, ...]:
    results = await probe_isolation(build_jail_options(settings))
    best = next((result for result in results if result.is_available), None)
    checks = []
    for result in results:
        if result.is_available:
            state = CheckState.OK
        else:
            state = CheckState.WEAKER if best is not None else CheckState.MISSING
        detail = f"{result.detail} (used)" if result is best else result.detail
        checks.append(
            Check(name=f"isolation {result.level.value}", state=state, detail=detail, fix=result.fix)
        )
    return tuple(checks)


def _check_workspace(workspace: Path) -> Check:
    existing = next(path for path in (workspace, *workspace.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"mudroom")
    except OSError as error:
        return Check(
            name="workspace",
            state=CheckState.MISSING,
            detail=f"{existing} cannot be written: {error.strerror}",
            fix="name another folder with --workspace or MUDROOM_WORKSPACE",
        )
    free = os.statvfs(existing)
    gib = free.f_bavail * free.f_frsize / 1024**3
    return Check(name="workspace", state=CheckState.OK, detail=f"{workspace}, {gib:.1f} GiB free")


def _check_environment() -> Check:
    """Variables that other programs obey and this one does not."""
    proxies = sorted(
        name
        for name in os.environ
        if name.lower() in {"http_proxy", "https_proxy", "all_proxy"} and os.environ[name]
    )
    if not proxies:
        return Check(name="proxy", state=CheckState.OK, detail="none in the environment")
    return Check(
        name="proxy",
        state=CheckState.WEAKER,
        detail=f"{', '.join(proxies)} set, and ignored: a proxy would choose the address in our place",
        fix="run mudroom where hosts can be reached directly",
    )


def _check_rules() -> Check:
    rules = load_rules()
    return Check(
        name="scanner", state=CheckState.OK, detail=f"{sum(1 for _ in rules.all_rules())} rules, digest {rules.digest[:12]}"
    )
