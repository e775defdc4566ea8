import json
from collections.abc import Callable
from typing import Any

import pytest

from mudroom.errors import Code

RunCli = Callable[..., Any]

ROWS = [
    ("https://Example.COM./p?q=1#f", None, "https://example.com/p?q=1"),
    ("http://2130706433/", Code.INVALID_HOST, None),
    ("http://user:pass@example.org/", Code.CREDENTIALS, None),
    ("ftp://example.org/", Code.INVALID_SCHEME, None),
    ("https://example.org:8443/", Code.INVALID_PORT, None),
    ("http://169.254.169.254/", Code.DENIED_ADDRESS, None),
    ("http://metadata.google.internal/", Code.DENIED_HOST, None),
    ("example.org", None, "https://example.org/"),
    ("localhost:8080", Code.DENIED_HOST, None),
    ("mailto:a@example.org", Code.INVALID_SCHEME, None),
    ("two words", Code.INVALID_URL, None),
    ("", Code.INVALID_URL, None),
    ("http://[::1", Code.INVALID_URL, None),
    ("https://example.org/\udcff", None, "https://example.org/%EF%BF%BD"),
]


@pytest.mark.parametrize(("url", "code", "normalized"), ROWS, ids=[ascii(row[0]) for row in ROWS])
def test_a_url_is_judged_without_connecting(
    run_cli: RunCli, url: str, code: Code | None, normalized: str | None
) -> None:
    ran = run_cli("check", "--jsonl", "--", url)
    report = json.loads(ran.out)
    assert list(report) == ["url", "verdict", "code", "normalized"]
    assert report["code"] == (code.value if code else None)
    assert report["normalized"] == normalized
    assert report["verdict"] == ("refuse" if code else "allow")
    assert ran.status == (3 if code else 0)


def test_urls_come_one_a_line_from_standard_input_and_leave_one_a_line(run_cli: RunCli) -> None:
    lines = (
        "http://a.test/%0Aforged\r\n\nhttp://b.test/\u2028x\nhttp://c.test/\x85y\n".encode()
        + b"http://\xff/\n"
    )
    ran = run_cli("check", "--jsonl", "-", stdin=lines)
    reports = [json.loads(line) for line in ran.out.splitlines()]
    assert [report["url"][:13] for report in reports] == [
        "http://a.test",
        "http://b.test",
        "http://c.test",
        "http://\udcff/",
    ]
    assert ran.status == 3


def test_a_list_and_a_bare_host_are_taken_as_open_takes_them(run_cli: RunCli) -> None:
    ran = run_cli("check", "--jsonl", "-", stdin=b"# mine\n  example.org \n\n#\nhttps://a.test/\n")
    reports = [json.loads(line) for line in ran.out.splitlines()]
    assert [(report["url"], report["normalized"]) for report in reports] == [
        ("example.org", "https://example.org/"),
        ("https://a.test/", "https://a.test/"),
    ]
    assert ran.err.count("no scheme given, using https://") == 1
    assert ran.status == 0


def test_a_table_is_for_people_and_advice_comes_once_a_code(run_cli: RunCli) -> None:
    ran = run_cli("check", "http://127.0.0.1/\x1b[31m", "http://127.0.0.2/", "https://example.org/")
    assert "\x1b" not in ran.out + ran.err
    assert [line.split()[0] for line in ran.out.splitlines()] == ["verdict", "refuse", "refuse", "allow"]
    assert ran.err.count("DENIED_ADDRESS") == 1
    assert ran.status == 3


def test_an_exception_opens_one_origin_and_no_other(run_cli: RunCli) -> None:
    origin = ("--allow-origin", "http://127.0.0.1:8000")
    assert run_cli("check", *origin, "http://127.0.0.1:8000/x").status == 0
    assert run_cli("check", *origin, "http://127.0.0.1:8001/x").status == 3
    assert run_cli("check", "--json", *origin, "http://127.0.0.1/").status == 3


@pytest.mark.parametrize(
    "form", ["http://localhost:80", "127.0.0.1:80", "http://127.0.0.1:80/", "http://127.0.0.1"]
)
def test_an_exception_in_any_other_form_is_a_configuration_error_that_shows_the_form(
    run_cli: RunCli, form: str
) -> None:
    ran = run_cli("check", "--allow-origin", form, "http://127.0.0.1/")
    assert ran.status == 2
    assert ran.out == ""
    assert "such as http://127.0.0.1:8000" in ran.err


def test_no_url_is_a_usage_error(run_cli: RunCli) -> None:
    assert run_cli("check").status == 2
