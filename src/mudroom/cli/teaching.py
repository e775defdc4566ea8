"""Commands whose help is shown as it was laid out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["TeachingCommand", "TeachingGroup"]


class TeachingCommand(click.Command):
    """A command whose docstring is its help, line by line: examples stay examples, tables stay tables."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the help without wrapping it anew."""
        formatter.write_paragraph()
        with _indented(formatter) as indent:
            for line in inspect.cleandoc(self.help or "").splitlines():
                formatter.write(f"{indent}{line}".rstrip() + "\n")


class TeachingGroup(TeachingCommand, click.Group):
    """A group of such commands."""

    command_class = TeachingCommand


@contextmanager
def _indented(formatter: click.HelpFormatter) -> Iterator[str]:
    with formatter.indentation():
        yield " " * formatter.current_indent
