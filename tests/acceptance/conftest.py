"""A program with a workspace of its own, for each test or for each file of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "home").mkdir()
    return Program(workspace=tmp_path / "workspace", folder=tmp_path / "home")


@pytest.fixture(scope="module")
def shared_program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    home = tmp_path_factory.mktemp("home")
    return Program(workspace=tmp_path_factory.mktemp("shared") / "workspace", folder=home)
