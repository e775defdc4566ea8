"""The wheel: what is in it, and that it does its work where nothing of this checkout is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import mudroom; "
    "assert mudroom.__file__.startswith(sys.path[0]), mudroom.__file__; "
    "from mudroom.__main__ import main; main()"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {name.removeprefix("mudroom/") for name in names if name.startswith("mudroom/")}
    source = ROOT / "src" / "mudroom"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == expected
    assert {name.partition("/")[0] for name in names} == {"mudroom", "mudroom-0.1.0.dist-info"}


def test_it_takes_a_file_in_where_nothing_of_the_checkout_is(wheel: Path, tmp_path: Path) -> None:
    library, room = tmp_path / "library", tmp_path / "room"
    zipfile.ZipFile(wheel).extractall(library)
    page = tmp_path / "page.html"
    page.write_text("<h1>Tide table</h1><p>High water at nine.")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(library), "open", str(page), "--workspace", str(room)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "# Tide table\n\nHigh water at nine.\n"
