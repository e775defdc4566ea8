import pytest

from mudroom.media import header_values, parse_content_type


@pytest.mark.parametrize(
    ("value", "essence", "charset"),
    [
        ("text/html", "text/html", None),
        ("Text/HTML; Charset=UTF-8", "text/html", "utf-8"),
        ('text/html; charset="Shift_JIS"', "text/html", "shift_jis"),
        ('text/html; charset="a\\"b"', "text/html", 'a"b'),
        ("text/html;charset = utf-8", "text/html", "utf-8"),
        ("text/html; boundary=x;;; charset=koi8-r; charset=utf-8", "text/html", "koi8-r"),
        ("text/html; charset='utf-8'", "text/html", "utf-8"),
        ("text/html; charset=", "text/html", None),
        ("text/html; charset=" + "x" * 65, "text/html", None),
        ("text/html; nonsense; charset=utf-8", "text/html", "utf-8"),
        ('text/html; title="a;charset=utf-7"; charset=utf-8', "text/html", "utf-8"),
        ("  application/xhtml+xml  ", "application/xhtml+xml", None),
    ],
)
def test_a_declared_type_is_read_leniently(value: str, essence: str, charset: str | None) -> None:
    parsed = parse_content_type(value)
    assert parsed is not None
    assert (parsed.essence, parsed.charset) == (essence, charset)


@pytest.mark.parametrize(
    "value", ["", "html", "text/", "/html", "text html", "text/html/x", "tex\0t/html", "é/ü", ";"]
)
def test_a_value_that_names_no_type_declares_none(value: str) -> None:
    assert parse_content_type(value) is None


def test_parameters_are_kept_and_bounded() -> None:
    parsed = parse_content_type("text/csv; header=present; " + "; ".join(f"p{i}=1" for i in range(99)))
    assert parsed is not None
    assert parsed.parameters["header"] == "present"
    assert len(parsed.parameters) <= 16


def test_header_values_keep_order_and_duplicates() -> None:
    headers = (("Link", "a"), ("x", "b"), ("LINK", "c"))
    assert header_values(headers, "link") == ("a", "c")
