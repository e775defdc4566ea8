"""What a person named: URLs, files, standard input, or lists of them."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from mudroom.address import ParsedUrl, parse_url, registrable_domain
from mudroom.settings import expand_home

__all__ = ["STANDARD_INPUT", "FileTarget", "Target", "UrlTarget", "complete_url", "read_targets", "read_urls"]

_MAX_LIST_BYTES = 64 * 1024 * 1024
STANDARD_INPUT = Path("-")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PORT = re.compile(r"[^/?#:]+:[0-9]{1,5}(?:[/?#]|$)")
# fmt: off
_DOCUMENT_SUFFIXES = frozenset({
    "csv", "doc", "docx", "eml", "epub", "htm", "html", "ini", "json", "jsonl",
    "log", "markdown", "md", "mdx", "odp", "ods", "odt", "pdf", "php", "ppt",
    "pptx", "ps", "py", "rst", "rtf", "sh", "svg", "tex", "toml", "tsv",
    "txt", "warc", "xhtml", "xls", "xlsx", "xml", "yaml", "yml", "zip",
})
# fmt: on
"""Words behind the last dot that tell a document; some are top-level domains too."""


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
    if "://" in name or (_SCHEME.match(name) and not _PORT.match(name)):
        return UrlTarget(untrusted_url=name)
    completed = f"https://{name}"
    if parse_url(name) is None and parse_url(completed) is not None:
        return UrlTarget(untrusted_url=completed, is_completed=True)
    return UrlTarget(untrusted_url=name)


def read_targets(words: tuple[str, ...], list_file: str | None) -> tuple[Target, ...]:
    """The targets in order. Raises click.UsageError when there is none, or the list cannot be read."""
    names = _read_names(words, list_file, "URLs or files")
    return tuple(_recognise(name) for name in names)


def read_urls(words: tuple[str, ...], list_file: str | None) -> tuple[UrlTarget, ...]:
    """The URLs in order, each once. Raises click.UsageError when there is none, or the list cannot be read."""
    names = _read_names(words, list_file, "URLs")
    return tuple({target.untrusted_url: target for target in map(complete_url, names)}.values())


def _read_names(words: tuple[str, ...], list_file: str | None, what: str) -> list[str]:
    names = list(words)
    if list_file is not None:
        names += _read_list(list_file)
    if not names:
        raise click.UsageError(f"name one or more {what}; -i LIST reads them from a file, one a line")
    return names


def _recognise(name: str) -> Target:
    """A URL where the word can only be one; else a file where there is one; else a host without scheme.

    A word that names neither a file nor a host under a known suffix is taken for a file, and so is one that
    ends as documents do: `notes.md` that is missing must not become a request to a host of that name.
    """
    if name == "-":
        return FileTarget(path=STANDARD_INPUT)
    if "://" in name:
        return UrlTarget(untrusted_url=name)
    if os.path.lexists(name) or name.startswith((".", "/", "~")):
        return FileTarget(path=expand_home(name))
    if _SCHEME.match(name) and not _PORT.match(name):
        # A scheme of its own is refused with its code, rather than looked for on disk.
        return UrlTarget(untrusted_url=name)
    completed = parse_url(f"https://{name}")
    if _PORT.match(name) or (completed is not None and _may_be_host(completed)):
        return UrlTarget(untrusted_url=f"https://{name}", is_completed=True)
    return FileTarget(path=Path(name))


def _may_be_host(url: ParsedUrl) -> bool:
    if url.address is not None:
        return True
    host = url.host
    return host.rpartition(".")[2] not in _DOCUMENT_SUFFIXES and registrable_domain(host) is not None


def _read_list(name: str) -> list[str]:
    try:
        if name == "-":
            if sys.stdin is None:  # the shell closed it
                raise click.UsageError("the list - cannot be read: there is no standard input")
            text = sys.stdin.buffer.read(_MAX_LIST_BYTES).decode("utf-8", "replace")
        else:
            with Path(name).open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MAX_LIST_BYTES)
    except OSError as error:
        raise click.UsageError(f"the list {name} cannot be read: {error.strerror or error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
