"""Every package and module in one line each, from the top floor down."""  # noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["render_modules"]

_ROOT = Path(__file__).parents[1]
_PACKAGE = _ROOT / "src" / "mudroom"
_HEAD = """\
# Modules

<!-- Written by docs/generate.py from the floors in pyproject.toml and the modules' own words; do not edit. -->

From the top floor down; a package imports only from lines below its own. See
[architecture](../explanation/architecture.md) for why.
"""


def render_modules() -> str:
    """The page: floors in order, each package with its caption and its modules."""
    return "\n".join((_HEAD, *_list_parts()))


def _list_parts() -> Iterator[str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (floors,) = (c for c in project["tool"]["importlinter"]["contracts"] if c["id"] == "floors")
    for line in (*floors["layers"], "testing"):
        for name in line.split(" | "):
            yield _render_package(name.strip())


def _render_package(name: str) -> str:
    folder = _PACKAGE / name
    if not folder.is_dir():
        return f"## {name}\n\n{_caption(folder.with_suffix('.py'))}\n"
    rows = "".join(
        f"| `{path.stem}` | {_caption(path)} |\n"
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__"
    )
    return f"## {name}\n\n{_caption(folder / '__init__.py')}\n\n| Module | What it holds |\n|---|---|\n{rows}"


def _caption(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(words.partition("\n\n")[0].split()).replace("|", "\\|")
