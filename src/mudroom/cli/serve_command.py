"""`mudroom serve`: agents, over MCP."""

from __future__ import annotations

import fcntl
import os
import sys

import click

from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.mcp.house import serve_agents

__all__ = ["command"]


@click.command("serve", cls=TeachingCommand)
@common_options
def command() -> None:
    """Serve agents over MCP on standard input and output.

    A client starts it itself; its configuration names the command:
    {"mcpServers": {"mudroom": {"command": "mudroom", "args": ["serve"]}}}

    An agent gets accepted documents, fenced as untrusted; of a withheld page its number,
    origin and code. Of your exceptions only those in mcp.allow_origins are open to it.

    Exit status: 0 when the client leaves, 130 cancelled.
    """
    if not (_is_open_for(0, os.O_RDONLY) and _is_open_for(1, os.O_WRONLY)):
        raise click.UsageError("a client speaks on standard input and output, and one of them is closed")
    common = CommonOptions.current()
    settings = common.load()
    if sys.stdin.isatty():
        common.voice().say("note", "an MCP client is expected on standard input; Ctrl-C ends")
    run_work(serve_agents(settings))


def _is_open_for(descriptor: int, access: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE in {access, os.O_RDWR}
