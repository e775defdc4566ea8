"""What every test may use: an authority made once, since keys are slow to make; guests without a jail."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import settings

from mudroom.testing.authority import Authority
from mudroom.testing.unjailed import UnjailedGuests

# Tests send it themselves; one that was ignored at the start (nohup) would stay so in every child.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# How long an example takes is the machine's affair; the timeout on every test is enough.
settings.register_profile("mudroom", deadline=None)
settings.load_profile("mudroom")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where FAIL_ON_SKIP is set and a test was skipped: that machine has everything."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("FAIL_ON_SKIP") and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("tests were skipped where none may be (FAIL_ON_SKIP)", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def ca_file(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return authority.write_pem(tmp_path_factory.mktemp("authority") / "ca.pem")


@pytest.fixture
async def unjailed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[UnjailedGuests]:
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    async with UnjailedGuests() as guests:
        yield guests


@pytest.fixture
def peak_growth() -> Callable[[], int]:
    """How many bytes this process has grown at its highest since the test began.

    The peak of the process is set back first: the one that rusage gives only ever rises, so that a
    process that was large before would hide, or seem to be, the growth of a test.
    """
    resets = Path("/proc/self/clear_refs")
    if not resets.exists():
        pytest.skip("the peak of memory can be set back on Linux only")
    resets.write_text("5")
    before = memory_bytes("VmRSS")
    return lambda: memory_bytes("VmHWM") - before


def memory_bytes(entry: str) -> int:
    found = re.search(rf"^{entry}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
