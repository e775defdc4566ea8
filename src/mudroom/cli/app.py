"""The commands, loaded when they are asked for."""

from __future__ import annotations

import importlib

import click

from mudroom import __version__
from mudroom.cli.teaching import TeachingGroup

__all__ = ["main"]

_COMMANDS = {
    "open": "Take one page or file in, or many; prints its Markdown.",
    "crawl": "Take a site in, page by page, within budgets.",
    "download": "Fetch bytes, guarded but not screened.",
    "scan": "Look for instructions hidden in files.",
    "check": "Judge URLs without connecting.",
    "runs": "List what this workspace holds.",
    "prune": "Remove from the archive what no run refers to any more.",
    "rebuild": "Make the archive's index again from its segments.",
    "inspect": "Show what is known of a run, a reference or a URL.",
    "replay": "Crawl again from the archive, without a network, and compare.",
    "rescan": "Show which decisions the rules of now would change.",
    "verify": "Check a run or reference again, from bytes to text.",
    "export": "Write a run as a WARC or WACZ file.",
    "import": "Take the pages of a WARC or WACZ file in.",
    "serve": "Serve agents over MCP (stdio).",
    "demo": "Take the sample site in, hostile pages and all.",
    "doctor": "Show what this machine offers, and the fix for each lack.",
    "config": "Show settings and where they come from.",
}
"""Name and caption; the module of the same name is loaded only when its command is asked for."""


class _LazyGroup(TeachingGroup):
    """A group whose commands are imported when they are used, so that --help stays quick."""

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
    """The room where untrusted web pages and files come in first.

    Fetches guarded, keeps the exact bytes, reads them in a jail, looks for hidden
    instructions, and hands on only what was accepted.

    mudroom demo                                   see it at work, without a network
    mudroom open https://example.org/              one page
    mudroom crawl https://docs.example.org/        a site
    mudroom COMMAND --help                         what a command takes, with examples

    Exit status: 0 done · 1 could not be done · 2 usage or configuration
                 3 a negative verdict · 130 cancelled
    """
