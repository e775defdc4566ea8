"""What a machine is found to lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from mudroom.assembly import Check, CheckState, examine_machine
from mudroom.assembly.machine import check_network_library
from mudroom.net import describe_library
from mudroom.net.libcurl import pycurl
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


LIBRARIES = [
    # version, as a number, what it was built with, what is said
    ("8.20.0", 0x08_14_00, pycurl.VERSION_HTTP2, "libcurl 8.20.0, OpenSSL/3, HTTP/2"),
    ("9.0.0", 0x09_00_00, pycurl.VERSION_HTTP2, "libcurl 9.0.0, OpenSSL/3, HTTP/2"),
    (
        "8.19.9",
        0x08_13_09,
        pycurl.VERSION_HTTP2,
        "libcurl 8.19.9, OpenSSL/3, older than 8.20, so HTTP/2 is not spoken",
    ),
    (
        "7.88.1",
        0x07_58_01,
        pycurl.VERSION_HTTP2,
        "libcurl 7.88.1, OpenSSL/3, older than 8.20, so HTTP/2 is not spoken",
    ),
    ("8.20.0", 0x08_14_00, 0, "libcurl 8.20.0, OpenSSL/3, no HTTP/2"),
]


@pytest.mark.parametrize(("version", "number", "built", "told"), LIBRARIES)
def test_a_libcurl_that_speaks_no_http2_is_told_with_its_cure(
    version: str, number: int, built: int, told: str
) -> None:
    check = check_network_library(describe_library((11, version, number, "Linux", built, "OpenSSL/3")))
    assert check.detail == told
    is_ok = told.endswith(", HTTP/2")
    assert (check.state, bool(check.fix)) == (CheckState.OK if is_ok else CheckState.WEAKER, not is_ok)
