"""The settings as a page and as a file to start from, taken from the dataclasses that hold them."""  # noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, replace
from enum import Enum
from itertools import pairwise
from typing import Any

from mudroom.crawl import CrawlPolicy
from mudroom.settings import SECTIONS, find_setting_reader, setting_fields

__all__ = ["render_example", "render_settings"]

_WIDTH = 96

_PAGE_HEAD = """\
# Settings

<!-- Written by docs/generate.py from the options of each floor; do not edit. -->

Settings come from three places; the later wins:

1. the settings file: `mudroom config path` names it, `--config FILE` names another;
2. the environment: `MUDROOM_SECTION__KEY`, for example `MUDROOM_CRAWL__MAX_PAGES=20`; lists are written with
   commas or as in TOML;
3. the command line.

The current directory and `.env` files are never looked at. A settings file that others can write, or whose
folder others can write, is refused; a link is followed once, and what it leads to is judged. Every fault is
reported at once, with the key, the value, what was expected and where it stands. `mudroom config show` lists
what holds and where it comes from; `MUDROOM_WORKSPACE` names the workspace, `MUDROOM_CONFIG` the file.
[`mudroom.example.toml`](../../mudroom.example.toml) has every key to copy from.
"""

_EXAMPLE_HEAD = """\
# Every setting of mudroom with its default. Written by docs/generate.py; do not edit here.
#
# Copy it to the file that `mudroom config path` names, and uncomment what you change. In the environment a
# setting is MUDROOM_SECTION__KEY, for example MUDROOM_CRAWL__MAX_PAGES=20.
"""


def render_settings() -> str:
    """The page: one table a section."""
    parts = [_PAGE_HEAD]
    for section in SECTIONS:
        rows = "".join(
            f"| `{field.name}` | {_show_default(field) or 'none'} | {_describe_expected(section, field.name)} "
            f"| {caption} |\n"
            for field, caption in _list_fields(section)
        )
        head = "| Key | Default | Expected | What it is |\n|---|---|---|---|\n"
        parts.append(f"## {section}\n\n{_caption_of(section)}\n\n{head}{rows}")
    return "\n".join(parts)


def render_example() -> str:
    """The file: each key with its default under its caption, all commented out."""
    lines = [_EXAMPLE_HEAD]
    for section in SECTIONS:
        lines.append(f"[{section}]")
        for field, caption in _list_fields(section):
            words = f"{caption} Expected: {_describe_expected(section, field.name)}."
            lines += [f"# {line}" for line in textwrap.wrap(words, _WIDTH - 2)]
            default = _show_default(field)
            lines.append(f"# {field.name} = {default or '…'}")
        lines.append("")
    return "\n".join(lines)


def _list_fields(section: str) -> Iterator[tuple[Field[Any], str]]:
    captions = _read_captions(SECTIONS[section])
    for field in setting_fields(section):
        yield field, captions.get(field.name) or _name_unit(field.name)


def _caption_of(section: str) -> str:
    return " ".join((SECTIONS[section].__doc__ or "").split("\n\n", 1)[0].split())


def _read_captions(kind: type) -> Mapping[str, str]:
    """The docstring below each field of a class."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    statements = body.body if isinstance(body, ast.ClassDef) else []
    captions = {}
    for statement, following in pairwise(statements):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            captions[statement.target.id] = " ".join(str(following.value.value).split())
    return captions


def _name_unit(name: str) -> str:
    """What a name says by itself, where its field has no caption."""
    words = name.replace("_", " ")
    return f"{words[0].upper()}{words[1:]}."


def _show_default(field: Field[Any]) -> str:
    """The default as TOML; empty where there is none."""
    if field.default is not MISSING:
        return _show(field.default)
    if field.name == "guests_per_role":
        return ""
    return _show(field.default_factory()) if field.default_factory is not MISSING else ""


def _show(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return f'"{value.value}"'
    if isinstance(value, tuple | frozenset):
        return f"[{', '.join(sorted(map(_show, value), key=lambda text: (len(text), text)))}]"
    if isinstance(value, int) and value >= 10_000:  # noqa: PLR2004 - TOML may group digits
        return f"{value:_}"
    return str(value) if isinstance(value, int | float) else f'"{value}"'


def _describe_expected(section: str, key: str) -> str:
    """What a value must be; the section crawl judges its own numbers, and says so of a wrong one."""
    expected = find_setting_reader(section, key).expected
    if section == "crawl" and "number" in expected:
        (fault,) = replace(CrawlPolicy(), **{key: -1}).list_faults()
        return f"{expected} from {fault.rpartition(' from ')[2]}"
    return expected
