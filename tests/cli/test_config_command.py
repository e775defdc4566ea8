import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunCli = Callable[..., Any]


def test_every_setting_is_shown_with_its_value_and_origin(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDROOM_EGRESS__PORTS", "443,8443")
    shown = json.loads(run_cli("config", "show", "--json").out)
    settings = {f"{item['section']}.{item['key']}": item for item in shown["settings"]}
    assert settings["egress.ports"] == {
        "section": "egress",
        "key": "ports",
        "value": [443, 8443],
        "origin": "environment",
    }
    assert settings["crawl.same_host"]["value"] is True
    assert settings["crawl.max_frontier"]["value"] is None
    assert settings["crawl.scope"]["value"] == "host"


def test_only_what_was_changed_can_be_asked_for(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDROOM_EGRESS__ALLOW_ORIGINS", "http://127.0.0.1:8000")
    lines = run_cli("config", "show", "--changed").out.splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["egress.allow_origins", "http://127.0.0.1:8000", "environment"]
    ]


def test_faults_are_shown_one_a_line_and_inert(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDROOM_FETCH__MAX_REDIRECTS", "\x1b[31m")
    monkeypatch.setenv("MUDROOM_CRAWL__MAX_PAGES", "-1")
    ran = run_cli("config", "show")
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 3
    assert "\x1b" not in ran.err


def test_the_path_is_told_even_when_the_settings_cannot_be_used(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MUDROOM_CRAWL__MAX_PAGES", "-1")
    assert run_cli("config", "path").out == f"{tmp_path}/home/.config/mudroom/mudroom.toml\n"
    assert run_cli("config", "path", "--config", "/x/y.toml").out == "/x/y.toml\n"


def test_a_broken_file_is_not_sent_round_in_a_circle(run_cli: RunCli, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("not toml")
    ran = run_cli("config", "show", "--config", str(broken))
    assert ran.status == 2
    assert "not TOML" in ran.err
    assert "config show" not in ran.err
