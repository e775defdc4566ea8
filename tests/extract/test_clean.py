import pytest

from mudroom.extract import clean_exposed, is_clean


@pytest.mark.parametrize(
    ("text", "expected", "removed"),
    [
        pytest.param("plain\ttext\n", "plain\ttext\n", 0, id="tab and line feed stay"),
        pytest.param("a\r\nb\rc", "a\nb\nc", 0, id="line ends of other systems"),
        pytest.param("a\0\x1b[31mb\x7f\x9b", "a[31mb", 4, id="controls"),
        pytest.param(
            "a\x0bb\x85c\u2028d\u2029e", "a b c d e", 4, id="breaks of other kinds keep words apart"
        ),
        pytest.param("in\u200bvi\u2060si\ufeffble\u00ad", "invisible", 4, id="zero width"),
        pytest.param("\u202eabc\u202c \u2066x\u2069\u200f", "abc x", 5, id="bidi"),
        pytest.param("a\U000e0041\U000e0042\U000e007f", "a", 3, id="tag characters"),
        pytest.param("a\ufe01\ufe0f\U000e0101", "a", 3, id="variation selectors on letters"),
        pytest.param(
            "❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3",
            "❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3",
            0,
            id="selectors that make emoji",
        ),
        pytest.param("❤\ufe0f\ufe0f 1\ufe0f", "❤\ufe0f 1", 2, id="selectors that make nothing"),
        pytest.param("👩\u200d💻 🏳\ufe0f\u200d🌈", "👩\u200d💻 🏳\ufe0f\u200d🌈", 0, id="joined emoji"),
        pytest.param("👩\u200d a\u200db", "👩 ab", 2, id="stray joiners"),
        pytest.param("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष", 0, id="joiners that scripts need"),  # noqa: RUF001 - Persian
        pytest.param("می\u200c\u200c\u200cx a\u200cb", "میx ab", 4, id="joiners that carry bits"),
        pytest.param("a\ud800b", "a\ufffdb", 1, id="a lone surrogate"),
        pytest.param("\u3164\u115f\uffa0x", "x", 3, id="fillers"),
        pytest.param("\ufff9a\ufffb", "a", 2, id="annotations"),
        pytest.param("Zürich — 東京 · عربي", "Zürich — 東京 · عربي", 0, id="languages"),
    ],
)
def test_exposed_text_keeps_what_is_read_and_loses_what_hides(text: str, expected: str, removed: int) -> None:
    cleaned = clean_exposed(text)
    assert (cleaned.text, cleaned.removed) == (expected, removed)
    assert is_clean(text) is (cleaned.text == text)
    assert is_clean(cleaned.text)


def test_more_joiners_than_any_page_has_are_not_looked_through() -> None:
    pair = "می\u200cخواهم"  # noqa: RUF001 - Persian
    assert is_clean(pair * 100_000)
    assert not is_clean(pair * 300_001)
