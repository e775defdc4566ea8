"""`mudroom config`: settings, and where each comes from."""

from __future__ import annotations

import os
from enum import Enum

import click

from mudroom.address import AllowedOrigin
from mudroom.cli.console import print_json, print_table
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.teaching import TeachingGroup
from mudroom.settings import find_config_file, make_absolute

__all__ = ["command"]


@click.group("config", cls=TeachingGroup)
def command() -> None:
    """Show settings and where they come from.

    mudroom config show            every setting as it holds, and its origin
    mudroom config path            the settings file that is read
    MUDROOM_CRAWL__MAX_PAGES=20 mudroom config show --changed

    Settings come from your configuration folder, then from MUDROOM_SECTION__KEY in the
    environment, then from the command line; the later wins. MUDROOM_CONFIG names another
    file, as --config does; MUDROOM_WORKSPACE another workspace, as --workspace does.
    The current directory and .env files are never looked at, and a file that others can
    write is refused.
    """


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--changed", "is_changed_only", is_flag=True, help="Only what is not the default.")
@common_options
def show(*, as_json: bool, is_changed_only: bool) -> None:
    """Every setting as it holds, and its origin.

    Exit status: 0, or 2 when a setting cannot be used; then every fault is named.
    """
    settings = CommonOptions.current().load()
    values = [v for v in settings.values if not is_changed_only or v.origin != "default"]
    if as_json:
        print_json(
            {
                "workspace": str(settings.workspace),
                "config_file": str(settings.config_file),
                "settings": [
                    {"section": v.section, "key": v.key, "value": _to_plain(v.value), "origin": v.origin}
                    for v in values
                ],
            }
        )
        return
    rows = [(f"{v.section}.{v.key}", _to_words(_to_plain(v.value)), v.origin) for v in values]
    print_table(
        ("setting", "value", "from"),
        [("workspace", str(settings.workspace), ""), *rows],
        {"environment": "yellow", "default": "dim"},
    )


@command.command("path")
@common_options
def path() -> None:
    """The settings file that is read; it need not exist."""
    path = CommonOptions.current().config or find_config_file(os.environ)
    click.echo(str(make_absolute(path, "--config")))


def _to_plain(value: object) -> object:
    """A value as JSON holds it."""
    if isinstance(value, frozenset):
        return sorted((_to_plain(item) for item in value), key=str)
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, AllowedOrigin):
        return value.name
    if isinstance(value, Enum):
        return value.value
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _to_words(value: object) -> str:
    """A value as a settings file would say it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)
