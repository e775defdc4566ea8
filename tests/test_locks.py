import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN = PROJECT["project"]["dependencies"]
DEV = [*RUN, *PROJECT["project"]["optional-dependencies"]["testing"], *PROJECT["dependency-groups"]["dev"]]


def pins_of(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {
        canonicalize_name(package): version
        for package, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize(("lock", "wanted"), [("run.txt", RUN), ("dev.txt", DEV)], ids=["run", "dev"])
def test_a_lock_holds_all_that_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    pins = pins_of(lock)
    for text in wanted:
        requirement = Requirement(text)
        pinned = pins.get(canonicalize_name(requirement.name))
        assert pinned is not None, f"{requirement.name} is not in {lock}: run make lock"
        assert requirement.specifier.contains(pinned), f"{requirement} against {pinned}: run make lock"


def test_both_locks_pin_the_same_versions() -> None:
    development = pins_of("dev.txt")
    assert {name: development.get(name) for name in pins_of("run.txt")} == pins_of("run.txt")


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt", "archive-tools.txt"])
def test_a_lock_names_hashes_and_no_index(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    for block in re.split(r"\n(?=[a-z])", text.partition("\n")[2]):
        assert block.startswith("#") or "--hash=sha256:" in block, block
