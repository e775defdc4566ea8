"""The examples of fetching do what they say, as programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mudroom

FOLDER = Path(__file__).parents[2] / "examples" / "fetching"
EXPECTED = {
    "ten_at_once": [*(f"200 page {number}" for number in range(10)), "10 of 10 came"],
    "one_hit_for_five": ["5 callers, 1 hit", "1 body: the same for all", "2 callers who differ, 2 hits"],
    "four_priorities": ["asked    IDLE LOW NORMAL HIGH", "started  HIGH NORMAL LOW IDLE"],
    "cancel_a_stalled_one": ["cancelled", "0 connections open", "200 still here"],
    "status_or_error": ["404 Nothing here.", "CONNECT_FAILED"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_does_what_it_says(name: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(mudroom.__file__).parents[1])}
    command = [sys.executable, "-W", "error", str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", EXPECTED[name])


def test_each_example_is_run_and_named_in_the_readme() -> None:
    programs = {path.stem for path in FOLDER.glob("*.py")}
    assert programs == EXPECTED.keys()
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.py)" in readme for name in programs)
