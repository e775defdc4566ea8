from pathlib import Path

import certifi
import pytest

from mudroom.errors import InvalidConfig
from mudroom.net.anchors import Anchors


def test_anchors_of_its_own_stand_behind_the_public_ones(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_bytes(b"-- own --\n")
    anchors = Anchors()
    joined = Path(anchors.path(str(own)))
    assert joined.read_bytes() == Path(certifi.where()).read_bytes() + b"\n-- own --\n"
    assert anchors.path(None) == certifi.where()
    anchors.close()


def test_a_file_is_read_once_and_what_was_read_cannot_be_changed(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_bytes(b"before")
    anchors = Anchors()
    joined = Path(anchors.path(str(own)))
    own.write_bytes(b"after")
    assert anchors.path(str(own)) == str(joined)
    assert joined.read_bytes().endswith(b"\nbefore")
    with joined.open("ab", buffering=0) as file, pytest.raises(OSError, match="not permitted"):
        file.write(b"more")
    anchors.close()


def test_each_file_has_a_name_of_its_own_and_none_is_left_open(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a.pem", "b.pem")]
    for name in names:
        name.write_bytes(b"x")
    anchors = Anchors()
    paths = {anchors.path(str(name)) for name in names}
    assert len(paths) == len(names)
    anchors.close()
    assert not any(Path(path).exists() for path in paths)


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidConfig, match=r"/nowhere/ca\.pem cannot be read"):
        Anchors().path("/nowhere/ca.pem")
