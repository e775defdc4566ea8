"""Paths as a person wrote them: a home nobody knows, a folder that is gone."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mudroom.errors import InvalidConfig
from mudroom.settings import expand_home, load_settings, make_absolute
from mudroom.settings.paths import find_user_folder

WRITTEN = [
    # written, expanded
    ("~/docs", "/home/ann/docs"),
    ("~", "/home/ann"),
    ("a/~/b", "a/~/b"),
    ("~nobody-of-that-name/x", "~nobody-of-that-name/x"),
    ("~a\0b", "~a\0b"),
]


@pytest.mark.parametrize(("written", "expanded"), WRITTEN, ids=[repr(row[0]) for row in WRITTEN])
def test_a_home_is_put_in_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, written: str, expanded: str
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert expand_home(written) == Path(expanded)


@pytest.mark.parametrize("is_variable", [True, False])
def test_a_workspace_may_begin_with_the_home(monkeypatch: pytest.MonkeyPatch, is_variable: bool) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    environment = {"MUDROOM_WORKSPACE": "~/w"} if is_variable else {}
    settings = load_settings(
        environment, config=Path("/dev/null"), workspace=None if is_variable else Path("~/w")
    )
    assert settings.workspace == Path("/home/ann/w")


def test_a_relative_path_below_a_folder_that_is_gone_is_a_fault_that_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InvalidConfig, match="--workspace is 'w', below a current folder that is not there"):
        load_settings({}, config=Path("/dev/null"), workspace=Path("w"))
    assert make_absolute(Path("/w"), "--workspace") == Path("/w")


def fail() -> Path:
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("find", [fail, lambda: Path("~/.config/mudroom")], ids=["raises", "not absolute"])
def test_without_a_home_the_variables_that_would_help_are_named(
    monkeypatch: pytest.MonkeyPatch, find: Callable[[], Path]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    with pytest.raises(InvalidConfig, match=r"no home folder .* set HOME or MUDROOM_CONFIG"):
        find_user_folder(find, ".config/mudroom", "MUDROOM_CONFIG")
