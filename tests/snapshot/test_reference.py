from __future__ import annotations

import pytest

from mudroom.errors import Code, NotFound
from mudroom.snapshot import SourceKind, SourceRef, build_source_id, build_source_ref, parse_source_ref

_REF = SourceRef(
    source_id="page::https://example.org/a b?q=ä&x=1",
    url="https://example.org/a%20b?q=%C3%A4&x=1",
    sha256="a" * 64,
    fetched_at="2026-11-30T12:00:00.123Z",
    record="b" * 64,
)
_TEXT = (
    "mudroom-snapshot:page%3A%3Ahttps%3A%2F%2Fexample.org%2Fa%20b%3Fq%3D%C3%A4%26x%3D1"
    "?url=https%3A%2F%2Fexample.org%2Fa%2520b%3Fq%3D%25C3%25A4%26x%3D1"
    f"&sha256={'a' * 64}&fetched_at=2026-11-30T12%3A00%3A00.123Z&record={'b' * 64}"
)


def test_a_reference_is_written_as_pinned() -> None:
    assert build_source_ref(_REF) == _TEXT
    assert str(_REF) == _TEXT


def test_a_reference_is_read_back() -> None:
    assert parse_source_ref(_TEXT) == _REF
    assert parse_source_ref(_TEXT).kind is SourceKind.PAGE


def test_a_source_id_names_kind_and_url() -> None:
    assert build_source_id(SourceKind.ROBOTS, "https://example.org/") == "robots::https://example.org/"


_INVALID = [
    ("empty", ""),
    ("no parts", "mudroom-snapshot:"),
    ("a foreign scheme", _TEXT.replace("mudroom", "forage")),
    ("scheme in capitals", _TEXT.replace("mudroom", "MUDROOM")),
    ("no scheme", _TEXT.removeprefix("mudroom-snapshot:")),
    ("white space before", " " + _TEXT),
    ("line feed behind", _TEXT + "\n"),
    ("an extra parameter", _TEXT + "&x=1"),
    ("a parameter missing", _TEXT.rpartition("&")[0]),
    ("a parameter twice", _TEXT.replace("&record=", "&sha256=")),
    ("another order", _TEXT.replace("?url=", "?sha256=").replace("&sha256=", "&url=", 1)),
    ("a fragment", _TEXT + "#x"),
    ("a short hash", _TEXT.replace("a" * 64, "a" * 12)),
    ("a hash in capitals", _TEXT.replace("a" * 64, "A" * 64)),
    ("a hash of other letters", _TEXT.replace("b" * 64, "g" * 64)),
    ("lower case escapes", _TEXT.replace("%3A", "%3a")),
    ("an escape too many", _TEXT.replace("page", "p%61ge")),
    ("an escape too few", _TEXT.replace("%3A%3A", "::", 1)),
    ("plus for a space", _TEXT.replace("a%20b", "a+b")),
    ("space in the query as %20", _TEXT.replace("2026-11-30T", "2026-11-30%20")),
    ("no such kind", _TEXT.replace(":page", ":video")),
    ("no kind", _TEXT.replace(":page%3A%3A", ":")),
    ("nothing behind the kind", "mudroom-snapshot:page%3A%3A" + _TEXT[_TEXT.index("?") :]),
    ("no such day", _TEXT.replace("11-30", "11-31")),
    ("no milliseconds", _TEXT.replace(".123Z", "Z")),
    ("microseconds", _TEXT.replace(".123Z", ".123456Z")),
    ("another zone", _TEXT.replace(".123Z", ".123%2B00%3A00")),
    ("no UTF-8", _TEXT.replace("%C3%A4%26", "%C3%26")),
    ("unescaped letters", _TEXT.replace("%C3%A4", "ä")),
    ("a NUL", _TEXT.replace("a%20b", "a\0b")),
    ("too long", _TEXT.replace("a%20b", "a" * 210_000)),
    ("a URL too long", _TEXT.replace("a%2520b", "a" * 9_000)),
]


@pytest.mark.parametrize(("name", "text"), _INVALID, ids=[row[0] for row in _INVALID])
def test_any_other_spelling_is_invalid(name: str, text: str) -> None:
    assert text != _TEXT
    with pytest.raises(NotFound) as caught:
        parse_source_ref(text)
    assert caught.value.code is Code.INVALID_REFERENCE
    assert "example.org" not in caught.value.message
