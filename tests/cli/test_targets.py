from pathlib import Path

import click
import pytest

from mudroom.cli.targets import FileTarget, UrlTarget, complete_url, read_targets

WORDS = [
    # word, URL it becomes (None: a file), completed
    ("https://example.org/a", "https://example.org/a", False),
    ("ftp://example.org/a", "ftp://example.org/a", False),
    ("mailto:a@example.org", "mailto:a@example.org", False),
    ("javascript:alert(1)", "javascript:alert(1)", False),
    ("example.org", "https://example.org", True),
    ("example.org/a/b.html?q#f", "https://example.org/a/b.html?q#f", True),
    ("docs.rs/notes.md", "https://docs.rs/notes.md", True),
    ("example.org:8443/x", "https://example.org:8443/x", True),
    ("localhost:8080", "https://localhost:8080", True),
    ("192.0.2.7", "https://192.0.2.7", True),
    ("user@example.org", "https://user@example.org", True),
    ("münchen.de", "https://münchen.de", True),
    ("notes.md", None, False),
    ("report.html", None, False),
    ("archive.zip", None, False),
    ("folder/report.pdf", None, False),
    ("./example.org", None, False),
    ("/example.org", None, False),
    ("README", None, False),
    ("two words", None, False),
    ("~nobody-of-that-name/x.html", None, False),
    ("~a\0b", None, False),
    ("a\0b", None, False),
]


@pytest.mark.parametrize(("word", "url", "is_completed"), WORDS, ids=[repr(row[0]) for row in WORDS])
def test_a_word_is_a_url_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, url: str | None, is_completed: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (target,) = read_targets((word,), None)
    if url is None:
        assert target == FileTarget(path=Path(word))
    else:
        assert target == UrlTarget(untrusted_url=url, is_completed=is_completed)


@pytest.mark.parametrize("name", ["example.org", "a:b", "x"])
def test_a_file_that_exists_is_a_file_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).touch()
    assert read_targets((name,), None) == (FileTarget(path=Path(name)),)


def test_a_link_to_nowhere_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.org").symlink_to("gone")
    assert read_targets(("example.org",), None) == (FileTarget(path=Path("example.org")),)


def test_a_list_holds_one_target_a_line_without_blanks_and_comments(tmp_path: Path) -> None:
    names = tmp_path / "list.txt"
    names.write_text("# mine\n\nhttps://a.test/\r\n  https://b.test/ \n", encoding="utf-8")
    targets = read_targets(("https://first.test/",), str(names))
    assert [target.untrusted_url for target in targets if isinstance(target, UrlTarget)] == [
        "https://first.test/",
        "https://a.test/",
        "https://b.test/",
    ]


@pytest.mark.parametrize("name", ["gone.txt", "."])
def test_a_list_that_cannot_be_read_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.UsageError, match="cannot be read"):
        read_targets((), name)


def test_no_target_is_a_usage_error() -> None:
    with pytest.raises(click.UsageError, match="name one or more"):
        read_targets((), None)


def test_where_only_urls_are_taken_a_word_is_never_a_file() -> None:
    assert complete_url("notes.md") == UrlTarget(untrusted_url="https://notes.md", is_completed=True)
    assert complete_url("http://a.test/") == UrlTarget(untrusted_url="http://a.test/")
    assert complete_url("mailto:a@example.org") == UrlTarget(untrusted_url="mailto:a@example.org")
    assert complete_url("localhost:8080/x") == UrlTarget(
        untrusted_url="https://localhost:8080/x", is_completed=True
    )
    assert complete_url("not a url") == UrlTarget(untrusted_url="not a url")
