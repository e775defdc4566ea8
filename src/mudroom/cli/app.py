"""The commands and the one place where a failure becomes a message and an exit status."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from mudroom import __version__
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import make_inert
from mudroom.errors import InvalidConfig, MudroomError

__all__ = ["main", "run"]

_COMMANDS = {
    "open": "Take one page or file in, or many; prints its Markdown.",
    "crawl": "Take a site in, page by page, within budgets.",
    "download": "Fetch bytes, guarded but not screened.",
    "scan": "Look for instructions hidden in files.",
    "check": "Judge URLs without connecting.",
    "runs": "List what this workspace holds.",
    "serve": "Serve agents over MCP (stdio).",
    "demo": "Take the sample site in, hostile pages and all.",
    "doctor": "Show what this machine offers, and the fix for each lack.",
    "config": "Show settings and where they come from.",
}
"""Name and caption; the module of the same name is loaded only when its command is asked for."""


class _LazyGroup(click.Group):
    r"""A group whose commands are imported when they are used, so that --help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"mudroom.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", message="mudroom %(version)s")
def main() -> None:
    r"""The room where untrusted web pages and files come in first.

    \b
    Fetches guarded, keeps the exact bytes, reads them in a jail, looks for hidden
    instructions, and hands on only what was accepted.

    \b
    Exit status: 0 done · 1 could not be done · 2 usage or configuration
                 3 a negative verdict · 130 cancelled
    """


def run() -> NoReturn:
    """Run the command line of this process; a person never sees a traceback."""
    try:
        main(standalone_mode=False)
    except click.exceptions.Exit as end:
        _leave(ExitStatus(end.exit_code) if end.exit_code in set(ExitStatus) else ExitStatus.FAILED)
    except click.ClickException as error:
        error.show()
        _leave(ExitStatus.USAGE)
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("cancelled\n")
        _leave(ExitStatus.CANCELLED)
    except InvalidConfig as error:
        for fault in error.faults:
            sys.stderr.write(f"settings   {make_inert(fault)}\n")
        sys.stderr.write(f"look       {error.advice}\n")
        _leave(ExitStatus.USAGE)
    except MudroomError as error:
        sys.stderr.write(f"{error.code.value}  {make_inert(error.message)}\n")
        sys.stderr.write(f"look       {error.advice}\n")
        _leave(ExitStatus.FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _leave(ExitStatus.FAILED)
    _leave(ExitStatus.DONE)


def _leave(status: ExitStatus) -> NoReturn:
    raise SystemExit(int(status))
