"""`mudroom doctor`: what this machine offers, and the fix for each lack."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from mudroom import __version__
from mudroom.assembly import Check, CheckState, examine_machine
from mudroom.cli.console import print_json, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.errors import InvalidConfig
from mudroom.settings import Settings, load_settings

__all__ = ["command"]

_STYLES = {"ok": "green", "missing": "bold red", "weaker": "yellow"}


@click.command("doctor", cls=TeachingCommand)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def command(*, as_json: bool) -> int:
    """Try what mudroom needs on this machine, and say how to mend what is lacking.

    Each level of isolation is tried by a guest that attempts to break out of it; a file is
    written to the workspace; the scanner has to find its own examples. Nothing leaves this
    machine.

    The workspace is --workspace, else MUDROOM_WORKSPACE in the environment; the settings file
    is --config, else MUDROOM_CONFIG.

    ok        there, and works
    weaker    mudroom works without it, or with something weaker in its place
    missing   mudroom cannot work; the fix is named below the table

    Exit status: 0 everything needed is there, 1 something is missing.
    """
    common = CommonOptions.current()
    settings, first = _load(common)
    checks = [_describe_program(), first, *run_work(examine_machine(settings))]
    if as_json:
        _print_json(checks)
    else:
        rows = [(check.name, check.state.value, check.detail) for check in checks]
        print_table(("check", "state", "detail"), rows, _STYLES)
        for check in checks:
            if check.fix:
                common.voice().say("fix", f"{check.name}: {check.fix}")
    is_missing = any(check.state is CheckState.MISSING for check in checks)
    return ExitStatus.FAILED if is_missing else ExitStatus.DONE


def _load(common: CommonOptions) -> tuple[Settings, Check]:
    """The settings; where they cannot be used the defaults, and a check that names each fault."""
    try:
        settings = common.load()
    except InvalidConfig as error:
        check = Check(
            name="settings", state=CheckState.MISSING, detail="; ".join(error.faults), fix=error.advice
        )
        return load_settings({}, config=Path("/dev/null"), workspace=common.workspace), check
    there = "read" if settings.config_file.exists() else "not there, defaults hold"
    return settings, Check(name="settings", state=CheckState.OK, detail=f"{settings.config_file} {there}")


def _describe_program() -> Check:
    return Check(
        name="program",
        state=CheckState.OK,
        detail=f"mudroom {__version__}, Python {platform.python_version()}, {platform.platform()}",
    )


def _print_json(checks: Sequence[Check]) -> None:
    print_json(
        {
            "mudroom": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "checks": [asdict(check) for check in checks],
        }
    )
