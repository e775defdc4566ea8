"""What every test may use: an authority made once, since keys are slow to make."""

from pathlib import Path

import pytest

from mudroom.testing.authority import Authority


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def ca_file(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return authority.write_pem(tmp_path_factory.mktemp("authority") / "ca.pem")
