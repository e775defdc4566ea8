"""One key for the spellings of one URL."""

from typing import Any

import pytest

from mudroom.address import canonical_key, parse_url

# id, URL, its key
KEY_ROWS = [
    ("fragment", "http://a.example/x#y", "http://a.example/x"),
    ("trailing dot, capitals, default port", "HTTP://A.Example.:80/x", "http://a.example/x"),
    ("escaped letter", "http://a.example/%41%7e", "http://a.example/A~"),
    ("escape in small letters", "http://a.example/%c3%a4", "http://a.example/%C3%A4"),
    ("umlaut and its escape", "http://a.example/ä", "http://a.example/%C3%A4"),
    ("escaped slash stays", "http://a.example/x%2fy", "http://a.example/x%2Fy"),
    ("escaped number sign stays", "http://a.example/x%23y", "http://a.example/x%23y"),
    ("escaped percent stays", "http://a.example/x%2541", "http://a.example/x%2541"),
    ("escaped semicolon stays", "http://a.example/x%3By", "http://a.example/x%3By"),
    ("escaped question mark stays", "http://a.example/x%3Fy", "http://a.example/x%3Fy"),
    ("escaped ampersand in the query stays", "http://a.example/?x=1%26y", "http://a.example/?x=1%26y"),
    ("stray percent", "http://a.example/100%", "http://a.example/100%25"),
    ("stray percent before an escape", "http://a.example/%%41b", "http://a.example/%25Ab"),
    ("dot segments", "http://a.example/x/./y/%2e%2e/z", "http://a.example/x/z"),
    ("order of the query stays", "http://a.example/?b=1&a=2", "http://a.example/?b=1&a=2"),
    ("an empty query stays", "http://a.example/?", "http://a.example/?"),
    ("slashes stay", "http://a.example//x//", "http://a.example//x//"),
]


@pytest.mark.parametrize("row", KEY_ROWS, ids=[row[0] for row in KEY_ROWS])
def test_equivalent_spellings_have_one_key_and_others_do_not(row: tuple[Any, ...]) -> None:
    key = canonical_key(parse_url(row[1]))
    assert key == row[2]
    assert canonical_key(parse_url(key)) == key
