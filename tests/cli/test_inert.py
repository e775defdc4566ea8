import pytest

from mudroom.cli.inert import make_inert, make_inert_block, shorten

HOSTILE = [
    ("OSC 52 writes the clipboard", "\x1b]52;c;aGk=\x07", r"\x1b]52;c;aGk=\x07"),
    ("OSC 8 makes a link", "\x1b]8;;http://x\x1b\\here", r"\x1b]8;;http://x\x1b\here"),
    ("C1 CSI needs no escape", "\x9b31mred", r"\x9b31mred"),
    ("a bidi override turns words round", "\u202egnp.exe", r"\u202egnp.exe"),
    ("an isolate", "\u2066x\u2069", r"\u2066x\u2069"),
    ("a line separator", "a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
    ("line feed and tab", "a\nb\tc\r", r"a\nb\tc\r"),
    ("tag characters", "\U000e0041", r"\U000e0041"),
    ("a zero-width joiner", "a\u200db", r"a\u200db"),
    ("a lone surrogate of a file name", "\udcff", r"\udcff"),
    ("a private use letter", "\ue000", r"\ue000"),
    ("delete and backspace", "a\x7f\x08", r"a\x7f\x08"),
    ("NUL", "\x00", r"\x00"),
]


@pytest.mark.parametrize(
    ("untrusted", "expected"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_what_acts_is_shown_as_its_escape(untrusted: str, expected: str) -> None:
    assert make_inert(untrusted) == expected


@pytest.mark.parametrize(
    "text",
    ["plain", "Grüße, 日本語, עברית, हिन्दी", "[link=http://x]y[/link]", "emoji 👍", "a\u00a0b", "é e\u0301"],
)
def test_letters_of_any_script_stay(text: str) -> None:
    assert make_inert(text) == text
    assert make_inert_block(text) == text


def test_a_block_keeps_its_lines_and_tabs_and_nothing_else() -> None:
    assert make_inert_block("a\n\tb\r\n\x1b[2J") == "a\n\tb\\r\n\\x1b[2J"


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    assert (shorten("abcdef", 6), shorten("abcdefg", 6)) == ("abcdef", "abcde…")
