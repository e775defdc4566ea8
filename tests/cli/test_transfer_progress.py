"""How transfers come on: lines that a person reads, in which nothing acts."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.saving import FileDestination
from mudroom.cli.transfer_progress import TransferProgress
from mudroom.cli.transfers import Order, Report
from mudroom.errors import Code, FetchFailed
from mudroom.testing.clocks import FixedClock


def report(number: int, name: str = "data.csv", **facts: int) -> Report:
    order = Order(
        number=number, untrusted_url=f"https://a.test/{name}", destination=FileDestination(Path(name))
    )
    return Report(order=order, **facts)


def test_a_line_for_each_that_runs_and_one_of_totals() -> None:
    clock = FixedClock()
    progress = TransferProgress(Voice(is_quiet=True), clock, 4)
    for one in (report(0, size=500_000, total=2_000_000), report(1, "\x1b[2J\u202e.bin", size=10), report(2)):
        progress.on_begin(one)
    progress.on_end(report(2, size=1000))
    failed = report(3)
    failed.error = FetchFailed(Code.CONNECTION_LOST, "gone")
    progress.on_begin(failed)
    progress.on_end(failed)
    clock.advance(2)
    assert progress.list_lines(24) == [
        "data.csv                          25 %  500 KB of 2.0 MB, 250 KB/s",
        r"\x1b[2J\u202e.bin                      10 B, 5 B/s",
        "1 of 4 done, 1 failed, 2 running, 501 KB, 251 KB/s",
    ]


def test_what_lay_here_before_is_no_progress_of_today() -> None:
    clock = FixedClock()
    progress = TransferProgress(Voice(is_quiet=True), clock, 1)
    progress.on_begin(report(0, size=900, total=1000, continued_from=800))
    clock.advance(1)
    assert progress.list_lines(24) == [
        "data.csv                          90 %  900 B of 1 KB, 100 B/s",
        "0 of 1 done, 1 running, 100 B, 100 B/s",
    ]


def test_more_than_the_terminal_has_lines_for_are_counted() -> None:
    progress = TransferProgress(Voice(is_quiet=True), FixedClock(), 30)
    for number in range(30):
        progress.on_begin(report(number))
    lines = progress.list_lines(5)
    assert len(lines) == 5
    assert lines[-2:] == ["… and 27 more", "0 of 30 done, 30 running, 0 B, 0 B/s"]


def test_elsewhere_than_on_a_terminal_each_event_is_one_inert_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with TransferProgress(Voice(is_verbose=True), FixedClock(), 2) as progress:
        for one in (report(0, "a\n\x1b[2J", size=5), report(1, size=9, continued_from=4)):
            progress.on_begin(one)
            progress.on_end(one)
    assert capsys.readouterr().err.splitlines() == [
        r"fetching   https://a.test/a\n\x1b[2J",
        r"came       a\n\x1b[2J, 5 B, guarded, not screened",
        "fetching   https://a.test/data.csv",
        "came       data.csv, 9 B, the rest from 4 B on, guarded, not screened",
    ]


def test_a_terminal_gets_live_lines_and_what_came_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with TransferProgress(Voice(), FixedClock(), 2) as progress:
        progress.on_begin(report(0, "running.csv", size=10))
        progress.on_begin(report(1, "done.csv", size=10))
        progress.on_end(report(1, "done.csv", size=10))
    written = terminal.getvalue()
    assert "done.csv, 10 B, guarded, not screened" in written
    assert "1 of 2 done, 1 running, 20 B" in written
    assert "running.csv" in written
