"""The shape of the house: what every module and package keeps to, so that a reader finds the room."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import mudroom

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mudroom"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 450
MAX_FUNCTION_LINES = 75


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_holds_and_is_no_longer_than_can_be_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(tree_of(path)), "no docstring"
    assert text.count("\n") <= MAX_LINES, "too long"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_are_short_enough_to_be_seen_at_once(path: Path) -> None:
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py" and path.parent != SOURCE], ids=name_of
)
def test_the_face_of_a_package_is_its_caption_imports_and_names(path: Path) -> None:
    caption, *rest = tree_of(path).body
    assert isinstance(caption, ast.Expr)
    for node in rest:
        is_names = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        assert is_names or isinstance(node, ast.Import | ast.ImportFrom), ast.unparse(node)[:80]


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path.name != "__main__.py" and "guest" not in path.parts],
    ids=name_of,
)
def test_the_names_that_a_module_offers_are_there(path: Path) -> None:
    module = importlib.import_module(name_of(path))
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), name


def test_version_changelog_and_package_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    released = re.findall(r"(?m)^## \[([0-9][^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert project["version"] == mudroom.__version__ == released[0]
