"""Settings files that somebody else wrote, or could have written."""

import os
from pathlib import Path

import pytest

from mudroom.errors import InvalidConfig
from mudroom.settings import find_config_file, load_settings

HOSTILE = '[egress]\nallow_networks = ["10.0.0.0/8"]\n'


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def write(path: Path, mode: int = 0o600) -> Path:
    path.write_text(HOSTILE, encoding="utf-8")
    path.chmod(mode)
    return path


def fault_of(path: Path) -> str:
    with pytest.raises(InvalidConfig) as caught:
        load_settings({}, config=path)
    (fault,) = caught.value.faults
    return fault


@pytest.mark.parametrize("name", ["mudroom.toml", ".mudroom.toml", ".env", ".config/mudroom/mudroom.toml"])
def test_nothing_in_the_current_directory_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "downloads"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text(HOSTILE + "\nMUDROOM_CRAWL__MAX_PAGES=7\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert {value.origin for value in load_settings({}).values} == {"default"}


@pytest.mark.parametrize("folder", [".", "config", "../x"])
def test_a_configuration_folder_that_depends_on_the_current_directory_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert find_config_file({}) == tmp_path / "home/.config/mudroom/mudroom.toml"


def test_a_home_that_depends_on_the_current_directory_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", ".")
    assert find_config_file({}).is_absolute()
    assert not find_config_file({}).is_relative_to(tmp_path)


def test_a_file_named_in_the_environment_must_be_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "mine.toml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidConfig, match=r"MUDROOM_CONFIG is 'mine.toml'; expected an absolute path"):
        load_settings({"MUDROOM_CONFIG": "mine.toml"})


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "m.toml", mode)
    assert f"others can write it, so it is not believed; run chmod go-w {path}" in fault_of(path)


@pytest.mark.parametrize(
    ("mode", "is_refused"), [(0o777, True), (0o770, True), (0o1777, False), (0o755, False)]
)
def test_a_file_in_a_folder_that_others_can_write_is_refused_unless_it_is_sticky(
    tmp_path: Path, mode: int, is_refused: bool
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    path = write(folder / "m.toml")
    folder.chmod(mode)
    if is_refused:
        assert "others can write its folder" in fault_of(path)
    else:
        assert load_settings({}, config=path).egress.allow_networks


def test_a_link_is_followed_once_and_its_end_is_judged(tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(write(tmp_path / "real.toml"))
    assert load_settings({}, config=link).egress.allow_networks
    write(tmp_path / "real.toml", 0o666)
    assert "others can write it" in fault_of(link)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.toml")
    os.chown(path, 65534, 65534)
    assert "belongs to another user" in fault_of(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_large(path: Path) -> None:
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    path.chmod(0o600)


def make_text(text: bytes) -> object:
    def make(path: Path) -> None:
        path.write_bytes(text)
        path.chmod(0o600)

    return make


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (make_folder, "is not a file"),
        (make_fifo, "is not a file"),
        (make_loop, ""),
        (make_large, "this is no settings file"),
        (make_text(b"\xff\xfe"), "not TOML"),
        (make_text(b"[crawl\n"), "not TOML"),
        (make_text(b"x = " + b"[" * 100_000), "not TOML"),
        (make_text(b"[crawl]\nmax_pages = " + b"9" * 5000), ""),
        (make_text(b"[[crawl]]\nmax_pages = 1"), "stands outside a section"),
        (make_text(b"max_pages = 1"), "stands outside a section"),
        (make_text(b"[crawl.max_pages]\nx = 1"), "expected a whole number"),
        (make_text(b"[screen]\ncommand = '/tmp/evil'"), "screen.command: no such key"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_no_settings_file_is_one_fault_and_no_traceback(
    tmp_path: Path, make: object, expected: str
) -> None:
    path = tmp_path / "m.toml"
    make(path)  # type: ignore[operator]
    assert expected in fault_of(path)
