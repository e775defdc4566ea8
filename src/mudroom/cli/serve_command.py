"""`mudroom serve`: agents, over MCP."""

from __future__ import annotations

import click

from mudroom.assembly.agents import serve_agents
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.work import run_work

__all__ = ["command"]


@click.command("serve")
@common_options
def command() -> None:
    r"""Serve agents over MCP on standard input and output.

    \b
    A client starts it itself; its configuration names the command:
    {"mcpServers": {"mudroom": {"command": "mudroom", "args": ["serve"]}}}

    An agent gets accepted documents, fenced as untrusted; of a withheld page its number,
    origin and code.
    """
    run_work(serve_agents(CommonOptions.current().load()))
