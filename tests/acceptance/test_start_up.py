"""What a command loads before it does anything: only guests read and scan."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mudroom

READERS = {"turbohtml", "markdown_it", "chardet", "puremagic", "yaml"}
SURFACES = {"rich", "mcp"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(mudroom.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("command", ["open", "crawl", "check", "download"])
def test_a_command_that_holds_the_network_loads_no_reader_and_no_table(command: str) -> None:
    loaded = modules_after(f"import mudroom.cli.{command}_command")
    assert not loaded & (READERS | SURFACES)


def test_the_help_loads_no_part_of_the_house() -> None:
    code = "import mudroom.cli.app; assert 'mudroom.address' not in sys.modules"
    assert not modules_after(code) & (READERS | SURFACES | {"asyncio", "pycurl"})


def test_naming_the_rules_parses_none() -> None:
    assert "yaml" not in modules_after("from mudroom.screen import digest_rules; digest_rules()")
