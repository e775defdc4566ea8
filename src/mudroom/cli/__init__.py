"""The command line: what a person touches."""

from mudroom.cli.app import run

__all__ = ["run"]
