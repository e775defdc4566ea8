"""`mudroom doctor`: what this machine offers, and the fix for each lack."""

from __future__ import annotations

import platform
import sys

import click

from mudroom import __version__
from mudroom.assembly import examine_machine
from mudroom.cli.console import print_json, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.work import run_work

__all__ = ["command"]


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def command(*, as_json: bool) -> None:
    """Try every level of isolation, the workspace, the resolver and the scanner, and say what each lacks.

    Exit status: 0 everything needed is there, 1 something is missing.
    """
    settings = CommonOptions.current().load()
    checks = run_work(examine_machine(settings))
    if as_json:
        print_json(
            {
                "mudroom": __version__,
                "python": platform.python_version(),
                "platform": sys.platform,
                "checks": [
                    {"name": c.name, "state": c.state.value, "detail": c.detail, "fix": c.fix} for c in checks
                ],
            }
        )
    else:
        rows = [(check.name, check.state.value, check.detail) for check in checks]
        print_table(
            ("check", "state", "detail"), rows, {"ok": "green", "missing": "bold red", "weaker": "yellow"}
        )
        voice = CommonOptions.current().voice()
        for check in checks:
            if check.fix:
                voice.say("fix", f"{check.name}: {check.fix}")
    if any(check.state.value == "missing" for check in checks):
        raise click.exceptions.Exit(ExitStatus.FAILED)
