"""Names for URLs that are nobody's path, and no two alike."""

from __future__ import annotations

import pytest

from mudroom.cli.download_names import name_files

NAMES = [
    ("https://a.test/data.csv", "data.csv"),
    ("https://a.test/data.csv?secret=1#x", "data.csv"),
    ("https://a.test/", "a-test"),
    ("https://a.test/..%2f..%2fetc%2fpasswd", "passwd"),
    ("https://a.test/%2e%2e/%2e%2e/etc/passwd", "passwd"),
    ("https://a.test/.bashrc", "bashrc"),
    ("https://a.test/-rf", "rf"),
    ("https://a.test/two%20words.csv", "two-words.csv"),
    ("https://a.test/%2ehidden%2fname.sh", "name.sh"),
    ("https://a.test/con.txt", "con-page.txt"),
    ("https://a.test/x.tar.gz/", "x-tar.gz"),
    ("https://a.test/%00%0a%1b[2J.sh", "2j.sh"),
    ("https://a.test/a%E2%80%AEfdp.exe", "afdp.exe"),
    ("https://a.test/" + "x" * 500 + ".csv", "x" * 60 + ".csv"),
    ("https://a.test/x." + "y" * 50, "x"),
    ("not a url", "page"),
]


@pytest.mark.parametrize(("url", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_name_is_of_the_last_part_and_harmless(url: str, name: str) -> None:
    (found,) = name_files([url])
    assert (found, "/" in found, found.startswith((".", "-"))) == (name, False, False)


def test_names_that_would_meet_have_a_digest_each_whatever_their_order() -> None:
    urls = ["https://a.test/x.csv", "https://b.test/X.csv", "https://b.test/y.csv"]
    names = name_files(urls)
    assert names[2] == "y.csv"
    assert len({name.casefold() for name in names}) == 3
    assert name_files(urls[::-1]) == names[::-1]
    assert all(name.startswith("x-") and name.endswith(".csv") for name in (n.lower() for n in names[:2]))


def test_names_that_differ_in_case_alone_would_meet_too() -> None:
    names = name_files(["https://a.test/x.csv", "https://b.test/x.CSV"])
    assert all(name.startswith("x-") for name in names)


def test_names_that_were_made_to_meet_are_refused() -> None:
    urls = ["https://a.test/x.csv", "https://b.test/x.csv"]
    forged = name_files(urls)[0]
    with pytest.raises(ValueError, match=forged):
        name_files([*urls, f"https://c.test/{forged}"])
