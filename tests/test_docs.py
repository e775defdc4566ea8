import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from mudroom.cli.app import main
from mudroom.errors import CODES, Code
from mudroom.settings import SECTIONS, load_settings, setting_fields

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors_of(page: Path) -> set[str]:
    """Anchors as forges derive them from headings: lower case, words joined by hyphens."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_python_example_can_be_parsed(page: Path) -> None:
    for language, code in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("code", Code, ids=str)
def test_advice_names_no_command_and_no_setting_that_there_is_not(code: Code) -> None:
    advice = CODES[code].advice
    named = set(re.findall(r"\bmudroom ([a-z]+)\b", advice))
    assert named <= {*main.list_commands(click.Context(main)), "does"}
    keys = {f"{section}.{field.name}" for section in SECTIONS for field in setting_fields(section)}
    assert set(re.findall(rf"\b(?:{'|'.join(SECTIONS)})\.[a-z_]+", advice)) <= keys


def test_advice_on_a_full_archive_is_what_helps() -> None:
    assert "archive.max_bytes" in CODES[Code.ARCHIVE_FULL].advice
    assert "private/archive" in CODES[Code.ARCHIVE_FULL].advice
    assert not CODES[Code.ARCHIVE_FULL].advice.startswith("Delete runs")


def test_every_code_has_facts_and_a_line_in_the_reference() -> None:
    assert set(CODES) == set(Code)
    reference = (ROOT / "docs" / "reference" / "codes.md").read_text(encoding="utf-8")
    assert [code for code in Code if f"| `{code}` |" not in reference] == []


def test_every_setting_stands_in_the_reference_with_a_meaning_and_in_the_example() -> None:
    reference = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    example = (ROOT / "mudroom.example.toml").read_text(encoding="utf-8")
    for section in SECTIONS:
        rest = reference.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        for field in setting_fields(section):
            assert re.search(rf"^\| `{field.name}` \| [^|]+ \| [^| ][^|]* \|", rest, re.MULTILINE), (
                section,
                field,
            )
            assert f"\n# {field.name} = " in example.partition(f"\n[{section}]\n")[2]


def test_the_example_is_a_settings_file_that_holds_with_every_default_uncommented(tmp_path: Path) -> None:
    example = (ROOT / "mudroom.example.toml").read_text(encoding="utf-8")
    lines = [re.sub(r"^# (\w+ = )", r"\1", line) for line in example.splitlines() if " = …" not in line]
    file = tmp_path / "mudroom.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    file.chmod(0o600)
    settings = load_settings({}, config=file)
    given = {(value.section, value.key): value.value for value in settings.values}
    assert given == {
        (value.section, value.key): value.value for value in load_settings({"HOME": str(tmp_path)}).values
    }
    assert len(tomllib.loads("\n".join(lines))) == len(SECTIONS)


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A b\n[x](gone.md) [y](page.md#a-b) [z](#no) `[code](not-a-link)` [w](https://example.org/)\n"
    )
    assert broken_links(page) == ["gone.md", "#no"]


def test_every_make_target_has_a_caption() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    captioned = set(re.findall(r"^([a-z][a-z-]*):.*## \S", text, re.MULTILINE))
    assert targets == captioned
