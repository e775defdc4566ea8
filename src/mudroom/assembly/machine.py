"""What this machine offers, and the fix for each lack."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

from mudroom.assembly.build import build_jail_options
from mudroom.errors import MudroomError
from mudroom.jail import probe_isolation
from mudroom.net import HAD_KEY_LOG, METERED_SINCE, LibraryFacts, describe_library, list_proxies
from mudroom.screen import Scanner, load_rules
from mudroom.settings import Settings

__all__ = ["Check", "CheckState", "check_network_library", "examine_machine"]


_RESOLVER_FILE = Path("/etc/resolv.conf")


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
        _check_resolver(),
        check_network_library(describe_library()),
        _check_proxies(),
        _check_key_log(),
        _check_rules(settings),
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
    # os.path: a folder that may not be looked into is one that is not there.
    existing = next(path for path in (workspace, *workspace.parents) if os.path.exists(path))  # noqa: PTH110
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
    shared = [path for path in (workspace, workspace / "runs") if _is_written_by_others(path)]
    if shared:
        names = " and ".join(map(str, shared))
        return Check(
            name="workspace",
            state=CheckState.WEAKER,
            detail=f"other users can write {names}, and so change what was scanned",
            fix=f"chmod go-w {' '.join(map(shlex.quote, map(str, shared)))}",
        )
    return Check(name="workspace", state=CheckState.OK, detail=f"{workspace}, {gib:.1f} GiB free")


def _is_written_by_others(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    except OSError:
        return False


def _check_proxies() -> Check:
    """The proxies of the environment, which other programs obey and this one does not."""
    proxies = list_proxies(os.environ)
    if not proxies:
        return Check(name="proxy", state=CheckState.OK, detail="none in the environment")
    return Check(
        name="proxy",
        state=CheckState.WEAKER,
        detail=f"{', '.join(proxies)} set, and ignored: a proxy would choose the address in our place",
        fix="run mudroom where hosts can be reached directly",
    )


def _check_key_log() -> Check:
    """The variable that has TLS libraries write down what decrypts every connection."""
    if not HAD_KEY_LOG:
        return Check(name="TLS secrets", state=CheckState.OK, detail="written nowhere")
    return Check(
        name="TLS secrets",
        state=CheckState.OK,
        detail="SSLKEYLOGFILE is set, and ignored: secrets of TLS sessions are written nowhere",
    )


def _check_resolver() -> Check:
    """Whether names can be looked up at all; nothing is asked, since any question would leave this machine."""
    try:
        lines = _RESOLVER_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return Check(
            name="resolver",
            state=CheckState.WEAKER,
            detail=f"{_RESOLVER_FILE} cannot be read: {error.strerror}",
            fix="only hosts named in /etc/hosts and literal addresses can be reached until it can",
        )
    servers = [line.split()[1] for line in lines if line.startswith("nameserver") and len(line.split()) > 1]
    if not servers:
        return Check(
            name="resolver",
            state=CheckState.WEAKER,
            detail=f"{_RESOLVER_FILE} names no server, so the one on this machine is asked",
            fix="add a nameserver line if names do not resolve",
        )
    return Check(name="resolver", state=CheckState.OK, detail=", ".join(servers))


def check_network_library(library: LibraryFacts) -> Check:
    """What speaks HTTP and TLS for us, and whether HTTP/2 is spoken with it."""
    if library.has_http2 and library.is_metered:
        return Check(name="network", state=CheckState.OK, detail=f"{library.name}, HTTP/2")
    since = ".".join(map(str, METERED_SINCE))
    why = f"older than {since}, so HTTP/2 is not spoken" if library.has_http2 else "no HTTP/2"
    return Check(
        name="network",
        state=CheckState.WEAKER,
        detail=f"{library.name}, {why}",
        fix="install pycurl from its wheel instead of building it against this system's libcurl",
    )


def _check_rules(settings: Settings) -> Check:
    """The scanner as guests run it: each rule has to find its own example."""
    try:
        rules = load_rules()
        Scanner(rules, settings.screen)
    except MudroomError as error:
        return Check(
            name="scanner",
            state=CheckState.MISSING,
            detail=error.message,
            fix="install mudroom again: a file of its rules is damaged",
        )
    count = sum(1 for _ in rules.all_rules())
    detail = f"{count} rules, each finds its example; digest {rules.digest[:12]}"
    return Check(name="scanner", state=CheckState.OK, detail=detail)
