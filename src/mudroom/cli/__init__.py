"""The command line: what a person touches."""

from mudroom.cli.entry import run

__all__ = ["run"]
