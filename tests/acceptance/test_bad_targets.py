"""Targets that cannot be had or may not be asked for: one code, one sentence of advice, no connection."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mudroom.errors import CODES, Code
from mudroom.testing.authority import Authority
from mudroom.testing.routes import Route
from mudroom.testing.threads import serve_in_thread

from .program import Program

HELLO = Route(path="/", body="<title>Hello</title><p>Hello there.")

REFUSED: dict[str, tuple[str, ...]] = {
    Code.INVALID_URL: (
        "http://",
        "https://[",
        "http://[::1",
        "http://exa mple.com/",
        "http://a:b:c/",
        "http://host:99999/",
        "http://%00/",
        "http://\ufffd/",
    ),
    Code.INVALID_SCHEME: ("ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:70/", "javascript:alert(1)", "data:text/html,hi"),
    Code.CREDENTIALS: ("http://user:pass@example.com/", "https://example.com@127.0.0.1/", "http://@example.com/"),
    Code.INVALID_HOST: ("http://2130706433/", "http://0177.0.0.1/", "http://0x7f000001/", "http://127.1/", "http://0x7f.1/"),
    Code.INVALID_PORT: ("http://example.com:8443/", "https://example.com:22/", "http://example.com:443/", "http://example.com:0/"),
    Code.DENIED_HOST: ("http://metadata.google.internal/", "http://localhost/", "http://localhost.localdomain/", "https://api.localhost./"),
    Code.DENIED_ADDRESS: (
        "http://127.0.0.1/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://172.16.0.5/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
    ),
}  # fmt: skip
"""By code: rows 1, 2, 3 and 8 through the real program."""


def test_every_hostile_url_ends_refused_with_its_own_code(program: Program) -> None:
    urls = [url for row in REFUSED.values() for url in row]
    expected = {url: code for code, row in REFUSED.items() for url in row}
    done = program.run("open", *urls, "--jsonl", statuses=frozenset({3}))
    outcomes = [json.loads(line) for line in done.out.splitlines()]
    assert [outcome["outcome"] for outcome in outcomes] == ["FAILED"] * len(urls)
    found = {url: outcome["code"] for url, outcome in zip(urls, outcomes, strict=True)}
    assert found == expected
    for code in REFUSED:
        assert CODES[Code(code)].advice in done.err
    assert program.half_written() == []


def test_check_open_and_crawl_judge_alike(program: Program) -> None:
    urls = [row[0] for row in REFUSED.values()]
    lines = program.run("check", "--jsonl", *urls, statuses=frozenset({3})).out.splitlines()
    assert len(lines) == len(urls)
    for url, (code, line) in zip(urls, zip(REFUSED, lines, strict=True), strict=True):
        assert f'"code":"{code}"' in line, url
    done = program.run("crawl", REFUSED[Code.DENIED_ADDRESS][5], "--json", statuses=frozenset({3}))
    assert [page["code"] for page in done.json["pages"]] == ["DENIED_ADDRESS"]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port of loopback on which nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_dead_host_is_a_failure_that_can_be_tried_again(program: Program) -> None:
    with closed_port() as port:
        origin = f"http://127.0.0.1:{port}"
        done = program.run(
            "open", f"{origin}/?token=secret", "--allow-origin", origin, statuses=frozenset({1})
        )
        assert "CONNECT_FAILED" in done.err
        assert CODES[Code.CONNECT_FAILED].advice in done.err
        assert done.out == ""
        crawled = program.run(
            "crawl", origin, "--allow-origin", origin, "--json", statuses=frozenset({1})
        ).json
    assert crawled["state"] == "FAILED"
    assert [page["retryable"] for page in crawled["pages"]] == [True]


def test_the_same_address_is_open_on_the_port_that_was_named_and_on_no_other(program: Program) -> None:
    with serve_in_thread(HELLO) as site, serve_in_thread(HELLO) as other:
        urls = [site.url("/"), other.url("/"), "http://127.0.0.1/", f"http://localhost:{site.port}/"]
        done = program.run("open", *urls, "--allow-origin", site.origin, "--json", statuses=frozenset({3}))
        assert [outcome["code"] for outcome in done.json] == [
            None,
            "INVALID_PORT",
            "DENIED_ADDRESS",
            "DENIED_HOST",
        ]
        assert (site.total_connections, other.total_connections) == (1, 0)


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:8000",
        "http://127.0.0.1",
        "http://127.0.0.1:8000/",
        "ftp://127.0.0.1:21",
        "127.0.0.1:80",
        "*",
    ],
)
def test_an_exception_that_is_no_exact_origin_is_a_usage_error_that_shows_the_form(
    program: Program, origin: str
) -> None:
    done = program.run("open", "http://127.0.0.1:8000/", "--allow-origin", origin, statuses=frozenset({2}))
    assert "http://127.0.0.1:8000" in done.err
    assert not program.workspace.exists()


@pytest.mark.parametrize(
    ("names", "until", "is_trusted"),
    [
        pytest.param(("127.0.0.1",), None, False, id="an authority nobody knows"),
        pytest.param(("elsewhere.example",), None, True, id="another name"),
        pytest.param(("127.0.0.1",), datetime(2020, 1, 2, tzinfo=UTC), True, id="expired"),
    ],
)
def test_a_certificate_that_does_not_hold_is_a_failure_before_any_request(
    program: Program,
    authority: Authority,
    ca_file: Path,
    names: tuple[str, ...],
    until: datetime | None,
    is_trusted: bool,
) -> None:
    since = datetime(2020, 1, 1, tzinfo=UTC) if until else None
    context = authority.server_context(*names, not_before=since, not_after=until)
    with serve_in_thread(HELLO, tls=context) as site:
        trust = ("--cacert", str(ca_file)) if is_trusted else ()
        done = program.run("open", site.tls_url("/"), "--allow-origin", site.tls_origin, *trust, "--json", statuses=frozenset({1}))  # fmt: skip
        assert (done.json["outcome"], done.json["code"]) == ("FAILED", "TLS_FAILED")
        assert site.requests == []


def test_a_certificate_that_holds_is_read(program: Program, authority: Authority, ca_file: Path) -> None:
    with serve_in_thread(HELLO, tls=authority.server_context("127.0.0.1")) as site:
        done = program.run(
            "open", site.tls_url("/"), "--allow-origin", site.tls_origin, "--cacert", str(ca_file)
        )
        assert done.out == "Hello there.\n"


def test_a_message_about_a_url_never_holds_its_secrets(program: Program) -> None:
    secret = "sesame-open-0815"
    with closed_port() as port:
        origin = f"http://127.0.0.1:{port}"
        for url in (
            f"{origin}/?token={secret}",
            f"http://10.0.0.1/{secret}",
            f"http://me:{secret}@example.com/",
        ):
            done = program.run("open", url, "--allow-origin", origin, "--json", statuses=frozenset({1, 3}))
            because = [line for line in done.err.splitlines() if line.startswith(("because", "help"))]
            assert because
            assert secret not in "".join(because)


def test_user_and_password_of_a_url_are_kept_and_told_nowhere(program: Program) -> None:
    url = "http://me:sesame@example.com/"
    for command in ("open", "crawl"):
        done = program.run(command, url, "--json", statuses=frozenset({3}))
        assert "CREDENTIALS" in done.told
        assert "sesame" not in done.told
    texts = [file.read_bytes() for file in program.files(with_private=True)]
    assert texts
    assert not any(b"sesame" in text for text in texts)


@pytest.mark.parametrize(
    "header",
    [
        "X-A: b\r\nX-Injected: c",
        "Host: 127.0.0.1",
        "no colon",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        ": x",
        "A B: c",
        "Connection: close",
    ],
)
def test_a_header_that_would_smuggle_is_a_usage_error_and_no_connection(
    program: Program, header: str
) -> None:
    with serve_in_thread(HELLO) as site:
        more = ("--allow-origin", site.origin, "-H", header)
        for command in (("open",), ("crawl",), ("download", "-o", "-"))[: 3 if "\r" in header else 1]:
            program.run(*command, site.url("/"), *more, statuses=frozenset({2}))
        assert site.total_connections == 0
