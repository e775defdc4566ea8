import io
import sys

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.progress import CrawlProgress
from mudroom.errors import Code
from mudroom.intake import PageEvent
from mudroom.model import PageState


def event(state: PageState, url: str = "http://a.test/", code: Code | None = None) -> PageEvent:
    return PageEvent(run_id="crawl_X", number=1, url=url, state=state, code=code)


def test_elsewhere_than_on_a_terminal_each_page_is_one_inert_line(capsys: pytest.CaptureFixture[str]) -> None:
    with CrawlProgress(Voice()) as progress:
        progress.on_page(event(PageState.FETCHING))
        progress.on_page(event(PageState.STORED))
        progress.on_page(
            event(PageState.BLOCKED, "http://a.test/\n\u2028forged \x1b[2J", Code.PROMPT_INJECTION)
        )
        progress.on_page(event(PageState.FAILED, "http://a.test/" + "x" * 5000, Code.DNS_FAILURE))
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "stored      http://a.test/"
    assert second == r"blocked     http://a.test/\n\u2028forged \x1b[2J  PROMPT_INJECTION"
    assert len(third) < 200
    assert third.endswith("…  DNS_FAILURE")


def test_quiet_says_nothing_and_verbose_each_state(capsys: pytest.CaptureFixture[str]) -> None:
    for voice, lines in ((Voice(is_quiet=True), 0), (Voice(is_verbose=True), 2)):
        with CrawlProgress(voice) as progress:
            progress.on_page(event(PageState.FETCHING))
            progress.on_page(event(PageState.STORED))
        assert len(capsys.readouterr().err.splitlines()) == lines


def test_a_terminal_gets_a_live_line_and_only_what_was_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with CrawlProgress(Voice()) as progress:
        progress.on_page(event(PageState.STORED, "http://a.test/stored"))
        progress.on_page(event(PageState.BLOCKED, "http://a.test/blocked"))
    written = terminal.getvalue()
    assert "http://a.test/stored" not in written
    assert "http://a.test/blocked" in written
    assert "1 stored, 0 quarantined, 1 blocked" in written
