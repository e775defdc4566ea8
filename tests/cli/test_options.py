from pathlib import Path

import click
import pytest

from mudroom.cli.options import NetworkOptions, parse_headers


def test_a_header_is_a_name_and_a_value() -> None:
    assert parse_headers(("Accept: text/html", "X-Empty:", "A:b: c ")) == (
        ("Accept", "text/html"),
        ("X-Empty", ""),
        ("A", "b: c"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "no colon",
        ": no name",
        "X-Secret: a\r\nHost: evil.test",
        "X-Secret: a\nb",
        "X-Secret: a\0b",
        "Bad Name: x",
        "Host: evil.test",
        "content-length: 5",
        "Transfer-Encoding: chunked",
        "Connection: upgrade",
    ],
)
def test_a_header_that_must_not_be_sent_is_a_usage_error_that_hides_its_value(line: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse_headers((line,))
    assert "evil" not in caught.value.message
    assert caught.value.message != "a"


def test_trust_anchors_hold_for_the_hosts_asked_for_and_their_path_does_not_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = NetworkOptions(ca_file=Path("ca.pem"))
    assert options.gather_overrides(["https://a.test/x", "https://b.test/", "not a url"]) == {
        ("egress", "ca_file"): str(tmp_path / "ca.pem"),
        ("egress", "ca_hosts"): frozenset({"a.test", "b.test"}),
    }


def test_what_is_not_said_changes_nothing() -> None:
    assert NetworkOptions().gather_overrides(["https://a.test/"]) == {}
