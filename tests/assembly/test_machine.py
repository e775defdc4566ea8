"""What a machine is found to lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from mudroom.assembly import Check, CheckState, examine_machine
from mudroom.settings import load_settings


async def check_workspace(workspace: Path) -> Check:
    settings = load_settings({}, config=Path("/dev/null"), workspace=workspace)
    return next(check for check in await examine_machine(settings) if check.name == "workspace")


@pytest.mark.parametrize(
    ("mode", "runs_mode", "named"),
    [
        (0o700, 0o755, ()),
        (0o777, 0o755, ("workspace",)),
        (0o720, 0o757, ("workspace", "workspace/runs")),
    ],
    ids=["closed", "open", "shared"],
)
async def test_a_workspace_that_others_can_write_is_told_with_its_cure(
    tmp_path: Path, mode: int, runs_mode: int, named: tuple[str, ...]
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "runs").mkdir(parents=True)
    workspace.chmod(mode)
    (workspace / "runs").chmod(runs_mode)
    check = await check_workspace(workspace)
    assert check.state is (CheckState.WEAKER if named else CheckState.OK)
    assert check.fix.split()[2:] == [str(tmp_path / name) for name in named]
