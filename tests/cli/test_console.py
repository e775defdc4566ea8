import io
import json
import sys

import pytest

from mudroom.cli.console import Voice, print_block, print_json, print_json_text, print_jsonl, print_table

ACTIVE = "\x9b31m\u202e\u2028\u2029\x85\x7f\udcff\U000e0041"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_words_are_one_line_each_with_nothing_that_acts(capsys: pytest.CaptureFixture[str]) -> None:
    Voice().say("kept", "a\nb\r\x1b[31m [link=http://x]y[/link] :smile:")
    assert capsys.readouterr().err == "kept       a\\nb\\r\\x1b[31m [link=http://x]y[/link] :smile:\n"


def test_a_long_label_is_still_told_from_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Voice().say("LIMIT_REACHED", "so far")
    assert capsys.readouterr().err == "LIMIT_REACHED so far\n"


def test_a_line_is_never_wrapped_and_never_endless(capsys: pytest.CaptureFixture[str]) -> None:
    Voice().say("url", "word " * 10_000)
    (line,) = capsys.readouterr().err.splitlines()
    assert 500 < len(line) < 3_000


def test_quiet_keeps_what_must_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    voice = Voice(is_quiet=True)
    voice.say("kept", "x")
    voice.insist("BLOCKED", "y")
    assert capsys.readouterr().err == "BLOCKED    y\n"


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    Voice().say("BLOCKED", "\x1b[32mpage")
    written = terminal.getvalue()
    assert "\x1b[1;31mBLOCKED" in written
    assert r"\x1b[32mpage" in written


@pytest.mark.parametrize("printer", [print_json, print_jsonl])
def test_json_is_read_back_as_it_was_and_nothing_in_it_acts(
    capsys: pytest.CaptureFixture[str], printer: object
) -> None:
    printer({"title": ACTIVE + "é\n"})  # type: ignore[operator]
    out = capsys.readouterr().out
    assert json.loads(out) == {"title": ACTIVE + "é\n"}
    assert "é" in out
    assert not any(char in out for char in ACTIVE if not char.isprintable())


def test_a_line_of_json_is_one_line_to_every_reader(capsys: pytest.CaptureFixture[str]) -> None:
    print_jsonl({"url": "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh\ni"})
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_json_stays_json_where_the_stream_is_not_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_json({"title": "é\U0001f44d"})
    sys.stdout.flush()
    assert json.loads(raw.getvalue()) == {"title": "é\U0001f44d"}


def test_json_of_others_is_made_inert_too(capsys: pytest.CaptureFixture[str]) -> None:
    print_json_text(json.dumps({"words": "\x9b\u202e"}, ensure_ascii=False))
    out = capsys.readouterr().out
    assert out == '{"words": "\\u009b\\u202e"}\n'


def test_a_document_goes_to_a_file_as_it_is_and_to_a_terminal_inert(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_block("a\x9b\tb")
    assert capsys.readouterr().out == "a\x9b\tb\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_block("a\x9b\tb\n")
    assert terminal.getvalue() == "a\\x9b\tb\n"


def test_a_table_has_a_row_a_line_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("n", "url"), [("1", "x" * 300), ("22", "a\nb\x1b")], {})
    assert capsys.readouterr().out.splitlines() == ["n   url", "1   " + "x" * 300, "22  a\\nb\\x1b"]


def test_a_narrow_terminal_cuts_only_the_columns_that_may_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_table(("url", "code"), [("u" * 60, "PROMPT_INJECTION")], {}, cut={"url"})
    lines = terminal.getvalue().splitlines()
    assert len(lines) == 2
    assert "u…" in lines[1]
    assert "PROMPT_INJECTION" in lines[1]
