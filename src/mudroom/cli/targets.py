"""What a person named: URLs, files, standard input, or lists of them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from mudroom.address import parse_url, registrable_domain

__all__ = ["STANDARD_INPUT", "FileTarget", "Target", "UrlTarget", "complete_url", "read_targets"]

_MAX_LIST_BYTES = 64 * 1024 * 1024
STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """A URL to be fetched, as written."""

    untrusted_url: str
    is_completed: bool = False
    """The scheme was missing and https:// was put before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTarget:
    """A file to be read; `-` is standard input."""

    path: Path


Target = UrlTarget | FileTarget


def complete_url(name: str) -> UrlTarget:
    """A word that can only mean a URL, with https:// put before it where it begins with a host."""
    if "://" in name:
        return UrlTarget(untrusted_url=name)
    completed = f"https://{name}"
    if parse_url(name) is None and parse_url(completed) is not None:
        return UrlTarget(untrusted_url=completed, is_completed=True)
    return UrlTarget(untrusted_url=name)


def read_targets(words: tuple[str, ...], list_file: str | None) -> tuple[Target, ...]:
    """The targets in order. Raises click.UsageError when there is none, or the list cannot be read."""
    names = list(words)
    if list_file is not None:
        names += _read_list(list_file)
    if not names:
        raise click.UsageError("name one or more URLs or files; -i LIST reads them from a file, one a line")
    return tuple(_recognise(name) for name in names)


def _recognise(name: str) -> Target:
    """A URL where the word can only be one; else a file where there is one; else a host without scheme.

    A word that names neither a file nor a host under a public suffix is taken for a file, since then the
    message about the missing file helps more than one about a name that does not resolve.
    """
    if name == "-":
        return FileTarget(path=STANDARD_INPUT)
    if "://" in name:
        return UrlTarget(untrusted_url=name)
    if os.path.lexists(name) or name.startswith((".", "/", "~")):
        return FileTarget(path=Path(name).expanduser())
    completed = parse_url(f"https://{name}")
    has_host = completed is not None and (
        completed.address is not None or registrable_domain(completed.host) is not None
    )
    if has_host or ":" in name:
        return UrlTarget(untrusted_url=f"https://{name}" if has_host else name, is_completed=has_host)
    return FileTarget(path=Path(name))


def _read_list(name: str) -> list[str]:
    try:
        if name == "-":
            text = sys.stdin.read(_MAX_LIST_BYTES)
        else:
            with Path(name).open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MAX_LIST_BYTES)
    except OSError as error:
        raise click.UsageError(f"the list {name} cannot be read: {error.strerror or error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
