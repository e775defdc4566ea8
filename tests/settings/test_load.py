"""Settings of file, environment and command line, checked together."""

import dataclasses
from pathlib import Path

import pytest

from mudroom.address import AllowedOrigin
from mudroom.errors import InvalidConfig
from mudroom.settings import SECTIONS, Settings, find_setting_reader, load_settings, setting_fields

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def faults_of(environment: dict[str, str], **more: object) -> tuple[str, ...]:
    with pytest.raises(InvalidConfig) as caught:
        load_settings(environment, **more)  # type: ignore[arg-type]
    return caught.value.faults


def origin_of(settings: Settings, section: str, key: str) -> str:
    return next(v.origin for v in settings.values if (v.section, v.key) == (section, key))


def test_without_any_settings_every_default_holds(home: Path) -> None:
    settings = load_settings({})
    assert settings.config_file == home / ".config/mudroom/mudroom.toml"
    assert settings.workspace == home / ".local/share/mudroom"
    assert {value.origin for value in settings.values} == {"default"}
    assert (settings.crawl.max_pages, settings.fetch.max_redirects) == (100, 20)


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(home: Path) -> None:
    path = write(
        home / ".config/mudroom/mudroom.toml", "[crawl]\nmax_pages = 1\nmax_depth = 1\nconcurrency = 1\n"
    )
    settings = load_settings(
        {"MUDROOM_CRAWL__MAX_DEPTH": "2", "MUDROOM_CRAWL__CONCURRENCY": "2"},
        overrides={("crawl", "concurrency"): 3},
    )
    assert (settings.crawl.max_pages, settings.crawl.max_depth, settings.crawl.concurrency) == (1, 2, 3)
    assert [origin_of(settings, "crawl", key) for key in ("max_pages", "max_depth", "concurrency")] == [
        str(path),
        "environment",
        "command line",
    ]


def test_the_null_device_stands_for_no_settings_file(home: Path) -> None:
    write(home / ".config/mudroom/mudroom.toml", "[crawl]\nmax_pages = 1\n")
    assert load_settings({}, config=Path("/dev/null")).crawl.max_pages == 100


def test_all_faults_of_all_origins_are_told_at_once(home: Path) -> None:
    path = write(
        home / "m.toml", '[fetch]\nmax_redirects = "many"\n[crawl]\nmax_pages = -1\n[cralw]\nx = 1\n'
    )
    faults = faults_of(
        {"MUDROOM_JAIL__ISOLATION": "none", "MUDROOM_CRAWL_MAX_PAGES": "3"},
        config=path,
        overrides={("egress", "allow_origins"): ("http://localhost:80",)},
    )
    expected = (
        f"[cralw]: no such section; expected one of {', '.join(SECTIONS)} ({path})",
        "MUDROOM_CRAWL_MAX_PAGES: no such variable; expected MUDROOM_SECTION__KEY (environment)",
        f"fetch.max_redirects is 'many'; expected a whole number from 0 to 50 ({path})",
        f"crawl.max_pages is -1; expected a whole number from 0 to 1000000 ({path})",
        "jail.isolation is 'none'; expected one of auto, strict, confined, process (environment)",
        "egress.allow_origins: 'http://localhost:80' is no origin; write scheme, IP address and port, such as http://127.0.0.1:8000 or https://[::1]:8443 (command line)",
    )
    assert sorted(faults) == sorted(expected)


@pytest.mark.parametrize(
    ("section", "key", "text", "expected"),
    [
        ("fetch", "max_body_bytes", "-1", "expected a whole number of bytes from 1 to"),
        ("fetch", "max_body_bytes", "1.5", "expected a whole number of bytes"),
        ("fetch", "max_body_bytes", "true", "expected a whole number of bytes"),
        ("fetch", "max_body_bytes", "10 MiB", "expected a whole number of bytes"),
        ("fetch", "max_body_bytes", "", "expected a whole number of bytes"),
        ("fetch", "idle_timeout_seconds", "nan", "expected a number of seconds from 0.1"),
        ("fetch", "idle_timeout_seconds", "inf", "expected a number of seconds from 0.1"),
        ("fetch", "idle_timeout_seconds", "0", "expected a number of seconds from 0.1"),
        ("fetch", "user_agent", "a\nb", "expected a text of 1 to 1,000 characters on one line"),
        ("fetch", "user_agent", "Ω", "the value of the header User-Agent"),
        ("crawl", "delay_seconds", "nan", "expected a number of seconds from 0"),
        ("crawl", "delay_seconds", "1" + "0" * 400, "expected a number of seconds"),
        ("crawl", "max_pages", "9" * 5000, "expected a whole number"),
        ("crawl", "same_host", "yes", "expected true or false"),
        ("crawl", "scope", "mars", "expected one of page, prefix, host, domain"),
        ("crawl", "concurrency", "33", "expected a whole number from 1 to 32"),
        ("crawl", "max_frontier", "0", "expected a whole number from 1 to"),
        ("crawl", "include", "x", "no such key"),
        ("egress", "ports", "80,99999", "99999; expected a whole number from 1 to 65,535"),
        ("egress", "ports", "[80", "expected a list"),
        ("egress", "allow_networks", "0.0.0.0/0", "wider than an exception may be"),
        ("egress", "allow_networks", "::/0", "wider than an exception may be"),
        ("egress", "allow_networks", "10.0.0.1/8", "host bits zero"),
        ("egress", "allow_origins", "http://169.254.169.254:80", "cannot be opened"),
        ("egress", "deny_hosts", "a/b", "is no host"),
        ("egress", "ca_file", "ca.pem", "expected an absolute path"),
        ("egress", "ca_hosts", "example.org", "expected a ca_file beside it"),
        ("archive", "keep", "some", "expected one of all, accepted, none"),
        ("screen", "max_matches_per_line", "0", "expected a whole number from 1"),
        ("egress", "guard", "off", "no such key; expected one of ports"),
        ("egress", "proxy", "http://127.0.0.1:3128", "a proxy would choose the address in our place"),
        ("fetch", "http3", "true", "HTTP/3 is not spoken"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_what_was_expected(
    home: Path, section: str, key: str, text: str, expected: str
) -> None:
    (fault,) = faults_of({f"MUDROOM_{section}__{key}".upper(): text})
    assert fault.startswith(f"{section}.{key}")
    assert expected in fault
    assert fault.endswith("(environment)")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("EGRESS__PORTS", "80, 8443", frozenset({80, 8443})),
        ("EGRESS__PORTS", "[80, 8443]", frozenset({80, 8443})),
        ("EGRESS__PORTS", "80", frozenset({80})),
        ("EGRESS__ALLOW_ORIGINS", "http://127.0.0.1:8000", (AllowedOrigin.parse("http://127.0.0.1:8000"),)),
        ("EGRESS__DENY_HOSTS", "*.Example.COM.,b.test", frozenset({"example.com", "b.test"})),
        ("EGRESS__DENY_HOSTS", "", frozenset()),
        ("FETCH__USER_AGENT", "me, 2", "me, 2"),
        ("FETCH__USER_AGENT", "5", "5"),
        ("FETCH__USER_AGENT", "", None),
        ("FETCH__TOTAL_TIMEOUT_SECONDS", "7", 7.0),
        ("FETCH__MAX_BODY_BYTES", "10_000", 10_000),
        ("CRAWL__SAME_HOST", "false", False),
    ],
)
def test_a_variable_is_read_by_the_type_of_its_setting(
    home: Path, name: str, text: str, expected: object
) -> None:
    settings = load_settings({f"MUDROOM_{name}": text})
    section, key = name.lower().split("__")
    assert getattr(getattr(settings, section), key) == expected


def test_a_path_that_holds_no_certificate_is_told_before_any_request(home: Path) -> None:
    empty = write(home / "empty.pem", "nothing")
    hosts = {"MUDROOM_EGRESS__CA_HOSTS": "example.org"}
    for path, expected in (
        (home / "gone.pem", "no such file or directory; expected a PEM file that can be read"),
        (empty, "holds no certificate; expected a PEM file"),
        (home, "holds no certificate; expected a PEM file"),
    ):
        (fault,) = faults_of(hosts | {"MUDROOM_EGRESS__CA_FILE": str(path)})
        assert fault.startswith(f"egress.ca_file is '{path}'")
        assert expected in fault


def test_a_file_of_trust_anchors_needs_the_hosts_it_is_for(home: Path, ca_file: Path) -> None:
    (fault,) = faults_of({"MUDROOM_EGRESS__CA_FILE": str(ca_file)})
    assert "expected beside it ca_hosts" in fault
    load_settings({"MUDROOM_EGRESS__CA_FILE": str(ca_file), "MUDROOM_EGRESS__CA_HOSTS": "example.org"})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_has_a_reader_a_unit_and_a_range(section: str) -> None:
    for field in setting_fields(section):
        reader = find_setting_reader(section, field.name)
        if "number" in reader.expected and section != "crawl":
            assert " from " in reader.expected, f"{section}.{field.name} has no range"
        for unit in ("bytes", "seconds"):
            if field.name.endswith(f"_{unit}"):
                assert f"of {unit}" in reader.expected


@pytest.mark.parametrize("section", SECTIONS)
def test_no_number_may_be_negative(home: Path, section: str) -> None:
    for field in setting_fields(section):
        if "number" in find_setting_reader(section, field.name).expected:
            (fault,) = faults_of({f"MUDROOM_{section}__{field.name}".upper(): "-1"})
            assert fault.startswith(f"{section}.{field.name}")


def test_the_example_file_can_be_copied_as_it_is_and_changes_nothing(home: Path) -> None:
    text = (ROOT / "mudroom.example.toml").read_text(encoding="utf-8")
    settings = load_settings({}, config=write(home / "m.toml", text))
    assert {value.origin for value in settings.values} == {"default"}


def test_settings_cannot_be_changed_after_they_were_checked(home: Path) -> None:
    settings = load_settings({})
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.fetch.max_redirects = 99  # type: ignore[misc]
