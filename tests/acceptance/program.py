"""The real program in a process of its own: what it was asked, how it ended, and what it left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "src"
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stands on stdout, as JSON."""
        return json.loads(self.out)

    @property
    def told(self) -> str:
        """Everything a person or a program could read of it."""
        return self.out + self.err


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`python -m mudroom`, with a workspace and an environment that hold for each call."""

    workspace: Path
    folder: Path
    """Where it runs; also its home."""
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """What starts it, where it is not started by itself."""

    def variables(self) -> dict[str, str]:
        """The environment: none of this process's own settings, the source tree on the path."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PYTHONPATH": str(SOURCE),
            "HOME": str(self.folder),
            "MUDROOM_WORKSPACE": str(self.workspace),
            **self.environment,
        }

    def command(self, *arguments: str) -> list[str]:
        """The words that start it."""
        return [*self.prefix, sys.executable, "-m", "mudroom", *arguments]

    def bound(self) -> Program:
        """The same program, bound by the permissions of files even where root runs it."""
        if os.geteuid() != 0:
            return self
        tool = shutil.which("setpriv")
        if tool is None:
            pytest.skip("root heeds no permissions, and there is no setpriv to take that from it")
        return replace(self, prefix=(tool, "--bounding-set=-dac_override,-dac_read_search"))

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        statuses: frozenset[int] = frozenset({0, 1, 2, 3}),
        seconds: float = 90,
        **more: Any,
    ) -> Ended:
        """The end of one call, which is never a traceback and never a status nobody documented."""
        variables = {**self.variables(), **more.pop("environment", {})}
        done = subprocess.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            check=False,
            timeout=seconds,
            cwd=more.pop("cwd", self.folder),
            env=variables,
            **more,
        )
        out = done.stdout.decode("utf-8", "surrogateescape")
        ended = Ended(status=done.returncode, out=out, err=done.stderr.decode("utf-8", "surrogateescape"))
        assert TRACEBACK not in ended.told, ended.told
        assert "INTERNAL_ERROR" not in ended.told, ended.told
        assert "mudroom-fault-" not in ended.told, ended.told
        assert ended.status in statuses, (ended.status, ended.told)
        return ended

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        """A call that goes on, in a group of its own, so that a signal reaches what a terminal's would."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.variables(),
            start_new_session=True,
            **streams | more,
        )

    def files(self, *, with_private: bool = False) -> Iterator[Path]:
        """Every file of the workspace, those for nobody but the program only if asked for."""
        for file in sorted(self.workspace.rglob("*")):
            parts = file.relative_to(self.workspace).parts
            if not file.is_symlink() and file.is_file() and (with_private or parts[0] != "private"):
                yield file

    def manifests(self) -> list[dict[str, Any]]:
        """The records of all runs."""
        return [json.loads(file.read_text()) for file in sorted(self.workspace.glob("runs/*/manifest.json"))]

    def half_written(self) -> list[Path]:
        """Files that nobody finished."""
        return [file for file in self.files(with_private=True) if file.suffix in {".tmp", ".part"}]


def list_descendants(pid: int) -> set[int]:
    """The processes below one, by /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    edge = {pid}
    while edge:
        edge = {child for child, parent in parents.items() if parent in edge} - found
        found |= edge
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def interrupt(process: subprocess.Popen[bytes], number: int = signal.SIGINT) -> None:
    """What a terminal does on Ctrl-C: the whole group hears it."""
    os.killpg(process.pid, number)
