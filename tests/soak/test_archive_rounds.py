"""Long rounds: six processes on one archive, killed two hundred times, and every promise checked each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.attacks.test_snapshot_attacks import run_rounds


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_archive_outlives_hundreds_of_kills(tmp_path: Path, seed: int) -> None:
    run_rounds(tmp_path, rounds=100, seed=seed)
