"""`mudroom config`: settings, and where each comes from."""

from __future__ import annotations

import click

from mudroom.cli.console import print_json, print_table
from mudroom.cli.options import CommonOptions, common_options

__all__ = ["command"]


@click.group("config", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    r"""Show settings and where they come from.

    \b
    Settings come from your configuration folder (mudroom config path), then from
    MUDROOM_SECTION__KEY in the environment, then from the command line; the later
    wins. The current directory is never looked at.
    """


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def show(as_json: bool) -> None:  # noqa: FBT001 - click names it
    """Every setting as it holds, and its origin."""
    settings = CommonOptions.current().load()
    if as_json:
        print_json(
            {
                "workspace": str(settings.workspace),
                "config_file": str(settings.config_file),
                "settings": [
                    {"section": v.section, "key": v.key, "value": _to_plain(v.value), "origin": v.origin}
                    for v in settings.values
                ],
            }
        )
        return
    rows = [(f"{v.section}.{v.key}", str(_to_plain(v.value)), v.origin) for v in settings.values]
    print_table(("setting", "value", "from"), [("workspace", str(settings.workspace), ""), *rows], {})


@command.command("path")
@common_options
def path() -> None:
    """The settings file that is read; it need not exist."""
    settings = CommonOptions.current().load()
    click.echo(str(settings.config_file))


def _to_plain(value: object) -> object:
    if isinstance(value, tuple | frozenset):
        return sorted(str(getattr(item, "name", item)) for item in value)
    return value if isinstance(value, int | float | str | None) else str(getattr(value, "value", value))
