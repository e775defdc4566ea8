"""The command line run in this process: its status, and what it wrote."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mudroom.cli.entry import run_command


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


RunCli = Callable[..., Ran]


@pytest.fixture
def run_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCli:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MUDROOM_WORKSPACE", str(tmp_path / "workspace"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "MUDROOM_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        status = run_command(arguments)
        said = capsys.readouterr()
        return Ran(int(status), said.out, said.err)

    return run
