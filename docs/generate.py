"""Writes what follows from the code: reference pages and the example of a settings file.

`--check` writes nothing and tells whether they are current.
"""  # noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from mudroom.errors import CODES, Code
from mudroom.settings import SECTIONS, find_setting_reader, setting_fields

ROOT = Path(__file__).parents[1]

CODES_HEAD = """\
# Codes

<!-- Written by docs/generate.py from src/mudroom/errors.py; do not edit. -->

Every failure has a code. A code is stable: it is never renamed and never gets another meaning. Its class
(`reason` in JSON) groups it with its kind; `retryable` says whether the same request can succeed later
without a change.
"""

SETTINGS_HEAD = """\
# Settings

<!-- Written by docs/generate.py from the sections of src/mudroom/settings; do not edit. -->

Settings come from `mudroom.toml` in your configuration folder (`mudroom config path` names it, `--config` another),
then from `MUDROOM_SECTION__KEY` in the environment, then from the command line; the later wins. The current
directory and `.env` files are never looked at, and a file that others can write is refused. All faults are reported
at once. [mudroom.example.toml](../../mudroom.example.toml) shows every key with its default.
"""

EXAMPLE_HEAD = """\
# Every setting of mudroom with its default. Copy what you change to the file that `mudroom config path` names.
# MUDROOM_SECTION__KEY in the environment wins over it, and the command line over both.
#
# Written by docs/generate.py; do not edit.
"""

COMPUTED = {("jail", "guests_per_role"): "the number of processors, at least 2"}
"""Defaults that depend on the machine, in words."""


def render_codes() -> str:
    """The page of codes: one table a class, in the order of the code."""
    reasons = list(dict.fromkeys(facts.reason for facts in CODES.values()))
    ordered = sorted(Code, key=lambda code: reasons.index(CODES[code].reason))
    parts = [CODES_HEAD]
    for reason, codes in groupby(ordered, key=lambda code: CODES[code].reason):
        rows = "".join(
            f"| `{code}` | {'yes' if CODES[code].retryable else 'no'} | {CODES[code].advice} |\n"
            for code in codes
        )
        parts.append(f"## {reason}\n\n| Code | Retryable | What to do |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def render_settings() -> str:
    """The page of settings: one table a section."""
    parts = [SETTINGS_HEAD]
    for section, kind in SECTIONS.items():
        meanings = read_meanings(kind)
        rows = "".join(
            f"| `{field.name}` | {describe_default(section, field)} | {meanings[field.name]} "
            f"| {find_setting_reader(section, field.name).expected} |\n"
            for field in setting_fields(section)
        )
        parts.append(
            f"## {section}\n\n{describe_section(kind)}\n\n"
            f"| Key | Default | Meaning | Expected |\n|---|---|---|---|\n{rows}"
        )
    return "\n".join(parts)


def render_example() -> str:
    """A settings file in which every key stands, commented out, with its default."""
    parts = [EXAMPLE_HEAD]
    for section, kind in SECTIONS.items():
        meanings = read_meanings(kind)
        lines = [f"[{section}]"]
        for field in setting_fields(section):
            text = f"{meanings[field.name]} Expected: {find_setting_reader(section, field.name).expected}."
            lines += textwrap.wrap(
                text, 110, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
            )
            lines.append(f"# {field.name} = {write_toml(section, field)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def describe_section(kind: type) -> str:
    """The first sentence of a section's docstring, on one line."""
    sentence, _, _ = " ".join((inspect.getdoc(kind) or "").split()).partition(". ")
    return sentence.rstrip(".") + "."


def read_meanings(kind: type) -> dict[str, str]:
    """What each field of a section means: the string below it in the source, on one line."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    meanings = {field.name: "" for field in fields(kind)}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                meanings[name] = " ".join(text.split())
    return meanings


def describe_default(section: str, field: Field[Any]) -> str:
    """A default as the table shows it."""
    if (section, field.name) in COMPUTED:
        return COMPUTED[section, field.name]
    return "none" if field.default is None else f"`{write_toml(section, field)}`"


def write_toml(section: str, field: Field[Any]) -> str:
    """A default as TOML has it; where there is none, an empty place."""
    if (section, field.name) in COMPUTED:
        return f"…  # {COMPUTED[section, field.name]}"
    match field.default:
        case None:
            return "…  # none"
        case _ if field.default is MISSING:
            raise ValueError(f"{section}.{field.name} has a computed default; say it in COMPUTED")
        case bool(flag):
            return str(flag).lower()
        case int(number) | float(number):
            return f"{number:_}" if isinstance(number, int) else str(number)
        case frozenset() | tuple():
            return f"[{', '.join(map(str, sorted(field.default)))}]"
        case word:
            return f'"{word}"'


GENERATED: Mapping[str, Callable[[], str]] = {
    "docs/reference/codes.md": render_codes,
    "docs/reference/settings.md": render_settings,
    "mudroom.example.toml": render_example,
}


def main() -> int:
    """Write every generated file, or name those that are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    is_check = parser.parse_args().check
    stale = []
    for name, render in GENERATED.items():
        page, text = ROOT / name, render()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not is_check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
    if is_check and stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
