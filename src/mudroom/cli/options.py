"""Options that several commands share, and the settings they lead to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from mudroom.address import parse_url
from mudroom.cli.console import Voice
from mudroom.errors import FetchFailed
from mudroom.net import check_request_headers
from mudroom.settings import Settings, load_settings, make_absolute

__all__ = ["CommonOptions", "NetworkOptions", "common_options", "network_options", "parse_headers"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_META = "mudroom.common"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """What every command takes; kept by click beside the call."""

    config: Path | None = None
    workspace: Path | None = None
    is_quiet: bool = False
    is_verbose: bool = False

    @classmethod
    def current(cls) -> Self:
        """The options of the command that is running."""
        return cls(**click.get_current_context().meta.get(_META, {}))

    def load(self, overrides: Mapping[tuple[str, str], object] | None = None) -> Settings:
        """The settings of this call. Raises InvalidConfig with every fault."""
        return load_settings(
            os.environ, config=self.config, workspace=self.workspace, overrides=overrides or {}
        )

    def voice(self) -> Voice:
        """Who speaks to the person."""
        return Voice(is_quiet=self.is_quiet, is_verbose=self.is_verbose)


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    ctx.meta.setdefault(_META, {})[param.name] = value


def _apply(*options: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


common_options = _apply(
    click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Settings file to use instead of yours.",
        expose_value=False,
        callback=_keep,
    ),
    click.option(
        "--workspace",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder in which runs and the archive lie.",
        expose_value=False,
        callback=_keep,
    ),
    click.option(
        "-q",
        "--quiet",
        "is_quiet",
        is_flag=True,
        help="Say nothing but results and refusals.",
        expose_value=False,
        callback=_keep,
    ),
    click.option(
        "-v",
        "--verbose",
        "is_verbose",
        is_flag=True,
        help="Say more: hops, warnings, events.",
        expose_value=False,
        callback=_keep,
    ),
)

network_options = _apply(
    click.option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="A header for the origin asked for; dropped on any other. Repeatable.",
    ),
    click.option("-A", "--user-agent", "user_agent", metavar="TEXT", help="What the User-Agent header says."),
    click.option(
        "--cacert",
        "ca_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Trust the certificates in FILE for the hosts asked for.",
    ),
    click.option(
        "--allow-origin",
        "allow_origins",
        multiple=True,
        metavar="ORIGIN",
        help="Open one origin that is not public, such as http://127.0.0.1:8000. Repeatable; replaces egress.allow_origins.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """What the network options of a call say."""

    headers: tuple[tuple[str, str], ...] = ()
    user_agent: str | None = None
    ca_file: Path | None = None
    allow_origins: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        *,
        headers: tuple[str, ...],
        user_agent: str | None,
        ca_file: Path | None,
        allow_origins: tuple[str, ...],
    ) -> Self:
        """The options as click gives them. Raises click.UsageError for a header that cannot be sent."""
        return cls(
            headers=parse_headers(headers),
            user_agent=user_agent,
            ca_file=ca_file,
            allow_origins=allow_origins,
        )

    def gather_overrides(self, untrusted_urls: Iterable[str]) -> dict[tuple[str, str], object]:
        """What they change of the settings; the trust anchors hold for the hosts of these URLs."""
        overrides: dict[tuple[str, str], object] = {}
        if self.user_agent is not None:
            overrides["fetch", "user_agent"] = self.user_agent
        if self.ca_file is not None:
            parsed = (parse_url(url) for url in untrusted_urls)
            overrides["egress", "ca_file"] = str(make_absolute(self.ca_file, "--cacert"))
            overrides["egress", "ca_hosts"] = frozenset(url.host for url in parsed if url is not None)
        if self.allow_origins:
            overrides["egress", "allow_origins"] = self.allow_origins
        return overrides


def parse_headers(lines: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Headers from `NAME: VALUE`. Raises click.UsageError for a line that is none, or is ours to set.

    A message names the header and never its value, which may be a secret.
    """
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise click.UsageError("a header is written 'Name: value', on one line")
        header = (name.strip(), value.strip(" \t"))
        try:
            check_request_headers((header,))
        except FetchFailed as error:
            raise click.UsageError(error.message) from error
        headers.append(header)
    return tuple(headers)
