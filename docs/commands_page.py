"""The help of every command as a page."""  # noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

from collections.abc import Iterator

import click

from mudroom.cli.app import main

__all__ = ["render_commands"]

_HEAD = """\
# Commands

<!-- Written by docs/generate.py from the commands' own help; do not edit. -->

The result goes to standard output, words for people to standard error: progress on a terminal, one line an
event elsewhere. `--json` gives one JSON document, `--jsonl` one a line. Text from outside is inert: it holds no
control sequence and no markup by the time it is shown.

| Status | Means |
|---|---|
| 0 | done, and positive: stored (also with a warning), complete or a limit reached, allowed, found, clean |
| 1 | could not be done, or nothing found |
| 2 | usage or configuration |
| 3 | a negative verdict: blocked, quarantined, refused, a finding at or above `--fail-on` |
| 130 | cancelled |
"""


def render_commands() -> str:
    """The page: the help of each command, as it is shown at 100 columns."""
    parts = (
        f"## {context.command_path}\n\n```text\n{context.get_help().rstrip()}\n```\n"
        for context in _list_contexts(click.Context(main, info_name="mudroom"))
    )
    return "\n".join((_HEAD, *parts))


def _list_contexts(context: click.Context) -> Iterator[click.Context]:
    context.terminal_width = 96
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None:
                yield from _list_contexts(click.Context(command, info_name=name, parent=context))
