"""How a command ends: its help, its usage errors, its faults."""

from collections.abc import Callable
from typing import Any

import click
import pytest

from mudroom.cli.app import main
from mudroom.cli.entry import run_command
from mudroom.errors import Code, InvalidConfig, StoreFailed

RunCli = Callable[..., Any]
COMMANDS = sorted(main.list_commands(click.Context(main)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_its_help(run_cli: RunCli, name: str) -> None:
    ran = run_cli(name, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: mudroom {name} ")
    assert "\\b" not in ran.out
    assert "Exit status:" in ran.out or name == "config"
    assert max(map(len, ran.out.splitlines())) <= 100
    assert run_cli(name, "-h").out == ran.out


def test_the_caption_of_every_command_stands_in_the_list(run_cli: RunCli) -> None:
    out = run_cli("--help").out
    for name in COMMANDS:
        assert f"\n  {name} " in out
    assert run_cli("--version").out.startswith("mudroom ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("open",),
        ("open", "--nothing"),
        ("open", "--url", "https://example.org/", "x.html", "y.html"),
        ("open", "--url", "https://example.org/", "https://example.com/"),
        ("open", "x.html", "--retrieved-at", "2026-01-31T10:00:00Z"),
        ("open", "x.html", "--url", "https://example.org/", "--retrieved-at", "yesterday"),
        ("open", "x.html", "--url", "https://example.org/", "--retrieved-at", "2026-01-31T10:00:00"),
        ("open", "x.html", "--url", "https://example.org/", "--retrieved-at", "2999-01-01T00:00:00Z"),
        ("export", "@last"),
        ("export", "@last", "--warc", "x", "--wacz", "y"),
        ("import",),
        ("open", "-", "--url", "not a url"),
        ("open", "x.html", "--type", "nonsense"),
        ("open", "--format", "pdf", "x"),
        ("crawl",),
        ("crawl", "--max-pages", "many", "http://a.test/"),
        ("download", "http://a.test/"),
        ("download", "-o", "x", "-O", "http://a.test/"),
        ("download", "-o", "x", "http://a.test/", "http://b.test/"),
        ("download", "-O"),
        ("download", "-o", "-", "--jsonl", "http://a.test/"),
        ("download", "-o", "-", "-C", "http://a.test/"),
        ("download", "-O", "-C", "-H", "Range: bytes=1-", "http://a.test/"),
        ("download", "-O", "--concurrency", "33", "http://a.test/"),
        ("download", "-O", "-i", "/no/such/list"),
        ("download", "-o", "-", "--json", "http://a.test/"),
        ("download", "-O", "--max-bytes", "-1", "http://a.test/"),
        ("runs", "--limit", "0"),
        ("config", "nothing"),
        ("check", "--config", "/no/such/file", "http://a.test/"),
    ],
)
def test_a_slip_is_status_2_and_says_what_was_expected(run_cli: RunCli, arguments: tuple[str, ...]) -> None:
    ran = run_cli(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err


def test_what_arguments_brought_is_inert_in_a_usage_error(run_cli: RunCli) -> None:
    hostile = "\x1b]52;c;aGk=\x07\u202e"
    for arguments in (
        (hostile,),
        ("runs", f"--{hostile}"),
        ("open", "-i", hostile),
        ("open", "-H", hostile, "x"),
    ):
        ran = run_cli(*arguments)
        assert ran.status == 2
        assert not any(char in ran.err for char in "\x1b\x07\u202e")


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (click.Abort(), 130, "cancelled\n"),
        (KeyboardInterrupt(), 130, "cancelled\n"),
        (StoreFailed(Code.NO_SPACE, "full\x1b"), 1, "NO_SPACE  full\\x1b\n"),
        (InvalidConfig("crawl.max_pages is -3"), 2, "settings   crawl.max_pages is -3\nhelp       Mend"),
        (PermissionError(13, "Permission denied", "/x"), 1, "FAILED     /x: Permission denied\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_end_has_a_status_and_words(
    capsys: pytest.CaptureFixture[str], fault: BaseException, status: int, words: str
) -> None:
    @click.command()
    def failing() -> None:
        raise fault

    assert run_command([], failing) == status
    assert capsys.readouterr().err.lstrip().startswith(words)


def test_of_a_run_that_does_not_fit_nobody_is_sent_to_the_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def failing() -> None:
        raise InvalidConfig("crawl_X is complete; crawl again with: mudroom crawl", is_of_run=True)

    assert run_command([], failing) == 2
    assert capsys.readouterr().err == "run        crawl_X is complete; crawl again with: mudroom crawl\n"


def test_a_fault_of_ours_is_not_taken_for_lost_output() -> None:
    @click.command()
    def failing() -> None:
        raise OSError("something of ours")

    with pytest.raises(OSError, match="something of ours"):
        run_command([], failing)
