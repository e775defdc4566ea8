"""What every test may use: an authority made once, since keys are slow to make; guests without a jail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mudroom.testing.authority import Authority
from mudroom.testing.unjailed import UnjailedGuests


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
