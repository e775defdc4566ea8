import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.media import CharsetSource, TextKind, decode_text
from mudroom.model import WarningCode

HTML, XML, PLAIN = TextKind.HTML, TextKind.XML, TextKind.PLAIN
GUESSED, UNKNOWN, INVALID = (
    WarningCode.CHARSET_GUESSED,
    WarningCode.CHARSET_UNKNOWN,
    WarningCode.CHARSET_INVALID_BYTES,
)
CAFE = "café".encode("cp1252")
TEA = "お茶をどうぞ。靴はこちらへ。"


def meta(tag: str, text: str, encoding: str) -> bytes:
    return f"<html><head>{tag}<title>".encode() + text.encode(encoding)


@pytest.mark.parametrize(
    ("body", "declared", "kind", "text", "charset", "warnings"),
    [
        pytest.param(b"plain", None, PLAIN, "plain", "utf-8", (), id="ASCII"),
        pytest.param("naïve".encode(), None, PLAIN, "naïve", "utf-8", (), id="UTF-8 that says nothing"),
        pytest.param(b"\x63\x61\x66\xe9", "windows-1252", PLAIN, "café", "windows-1252", (), id="café as declared"),
        pytest.param(CAFE, "latin1", PLAIN, "café", "windows-1252", (), id="latin1 means windows-1252"),
        pytest.param(b"\x80 \x93", "iso-8859-1", PLAIN, "€ “", "windows-1252", (), id="euro in what claims to be latin-1"),
        pytest.param(b"\x81", "ascii", PLAIN, "\x81", "windows-1252", (), id="WHATWG maps the five holes to C1"),
        pytest.param(b"\xef\xbb\xbfcaf\xc3\xa9", "windows-1252", PLAIN, "café", "utf-8", (), id="a mark beats the header"),
        pytest.param("\ufeffhé".encode("utf-16-le"), None, HTML, "hé", "utf-16le", (), id="UTF-16LE mark"),
        pytest.param("\ufeffhé".encode("utf-16-be"), "utf-8", HTML, "hé", "utf-16be", (), id="UTF-16BE mark"),
        pytest.param("hé".encode("utf-16-le"), "utf-16", PLAIN, "hé", "utf-16le", (), id="utf-16 without a mark"),
        pytest.param(TEA.encode("shift_jis"), "Shift_JIS", HTML, TEA, "shift_jis", (), id="Shift_JIS"),
        pytest.param("①髙".encode("cp932"), "x-sjis", HTML, "①髙", "shift_jis", (), id="and its vendor characters"),
        pytest.param("똠".encode("cp949"), "euc-kr", HTML, "똠", "euc-kr", (), id="euc-kr with its extension"),
        pytest.param(b"a\xffb", "utf-8", PLAIN, "a\ufffdb", "utf-8", (INVALID,), id="invalid bytes show"),
        pytest.param("é".encode(), "klingon", PLAIN, "é", "utf-8", (UNKNOWN,), id="unknown label"),
        pytest.param("é".encode(), "hz-gb-2312", PLAIN, "é", "utf-8", (UNKNOWN,), id="a label that is an attack"),
        pytest.param(b"+ADw-script+AD4-", "utf-7", PLAIN, "+ADw-script+AD4-", "utf-8", (UNKNOWN,), id="UTF-7 is never read"),
        pytest.param("Ça va très bien".encode("cp1252"), None, PLAIN, "Ça va très bien", "windows-1252", (GUESSED,), id="Western"),
        pytest.param(TEA.encode("shift_jis"), None, HTML, TEA, "shift_jis", (GUESSED,), id="undeclared Shift_JIS"),
        pytest.param("Здравствуйте, снимите обувь".encode("cp1251"), None, PLAIN, "Здравствуйте, снимите обувь", "windows-1251", (GUESSED,), id="undeclared Cyrillic"),
    ],
)  # fmt: skip
def test_bytes_become_the_text_a_browser_shows(
    body: bytes,
    declared: str | None,
    kind: TextKind,
    text: str,
    charset: str,
    warnings: tuple[WarningCode, ...],
) -> None:
    decoded = decode_text(body, declared, kind)
    assert (decoded.text, decoded.charset, decoded.warnings) == (text, charset, warnings)


@pytest.mark.parametrize(
    "tag",
    [
        pytest.param('<meta charset="koi8-r">', id="short form"),
        pytest.param("<META CHARSET=koi8-r>", id="shouted, unquoted"),
        pytest.param(
            "<meta data-x='>' charset='koi8-r'/>", id="another attribute first, with a bracket in it"
        ),
        pytest.param('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', id="long form"),
        pytest.param(
            '<meta content="text/html; charset=koi8-r" name=x http-equiv=Content-Type>', id="in another order"
        ),
        pytest.param(
            '<meta http_equiv="Content-Type" content="text/html;charset=koi8-r">', id="misspelt http-equiv"
        ),
        pytest.param(
            '<meta http-eqiv="Content-Type" content="text/html;charset=koi8-r">', id="misspelt otherwise"
        ),
        pytest.param(
            '<!-- <meta charset="utf-8"> --><meta charset="koi8-r">', id="a comment does not declare"
        ),
        pytest.param("<!-->" + '<meta charset="koi8-r">', id="an abrupt comment ends at once"),
        pytest.param(" " * 3000 + '<meta charset="koi8-r">', id="late, beyond what the standard asks"),
        pytest.param('<meta charset="koi8-r"><meta charset="utf-8">', id="the first wins"),
    ],
)
def test_a_page_may_declare_its_charset_in_many_spellings(tag: str) -> None:
    decoded = decode_text(meta(tag, "Обувь", "koi8-r"), None, HTML)
    assert decoded.text.endswith("Обувь")
    assert (decoded.charset, decoded.source) == ("koi8-r", CharsetSource.META)


def test_meta_counts_only_in_html_and_utf16_in_it_means_utf8() -> None:
    assert decode_text(meta('<meta charset="koi8-r">', "a", "ascii"), None, PLAIN).charset == "utf-8"
    assert decode_text(meta('<meta charset="utf-16">', "é", "utf-8"), None, HTML).text.endswith("é")
    assert decode_text(meta('<meta name="description" content="the charset=koi8-r is old">', "é", "utf-8"), None, HTML).charset == "utf-8"  # fmt: skip


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><a>\xb1</a>', "iso-8859-2"),
        (b"<?xml version='1.0' encoding = 'windows-1251' standalone='yes'?><a>\xcf</a>", "windows-1251"),
        ('<?xml version="1.0"?><a>ą</a>'.encode("utf-16-le"), "utf-16le"),
        ('<?xml version="1.0"?><a>ą</a>'.encode("utf-16-be"), "utf-16be"),
        (b'<?xml version="1.0" encoding="utf-16"?><a>\xc4\x85</a>', "utf-8"),
    ],
)
@pytest.mark.parametrize("kind", [XML, HTML])
def test_an_xml_declaration_is_heard(body: bytes, charset: str, kind: TextKind) -> None:
    decoded = decode_text(body, None, kind)
    assert (decoded.charset, decoded.source) == (charset, CharsetSource.XML_DECLARATION)
    assert "\ufffd" not in decoded.text


def test_a_letter_far_behind_the_sniffed_head_breaks_nothing() -> None:
    body = b"a" * 100_000 + "è".encode()
    assert decode_text(body, None, PLAIN).text.endswith("è")


LABELS = ["utf-8", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "utf-16le", "utf-16be",
          "x-user-defined", "windows-1255", "macintosh", "\0utf-16le", "\ud800", "é"]  # fmt: skip


@settings(max_examples=150)
@given(
    body=st.binary(max_size=200), label=st.none() | st.sampled_from(LABELS), kind=st.sampled_from(TextKind)
)
def test_any_bytes_under_any_label_are_text_without_surrogates(
    body: bytes, label: str | None, kind: TextKind
) -> None:
    decode_text(body, label, kind).text.encode()
