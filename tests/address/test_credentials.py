import pytest

from mudroom.address import strip_credentials


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://me:pw@h/", "http://h/"),
        ("http:me:pw@h/", "http:h/"),
        ("HTTPS:\\\\me:pw@h/x@y", "HTTPS:\\\\h/x@y"),
        ("h\nttp://m\te:p\nw@h/", "http://h/"),
        ("//me@h/", "//h/"),
        ("http://a@b@c@h/@", "http://h/@"),
        ("https://[me:pw@h", "https://h"),
        ("ftp://me:pw@h/", "ftp://h/"),
        (" http://me:pw@h/", " http://h/"),
        ("http://h/a@b", "http://h/a@b"),
        ("http://h?x=a@b", "http://h?x=a@b"),
        ("http://h#a@b", "http://h#a@b"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("http://h/", "http://h/"),
        ("", ""),
    ],
)
def test_user_and_password_are_gone_and_nothing_else(url: str, expected: str) -> None:
    assert strip_credentials(url) == expected
