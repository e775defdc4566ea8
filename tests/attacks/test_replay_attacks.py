"""Records that somebody else wrote, given to all that looks at them again: a typed answer, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.replay.conftest import crawl_once, no_network, page

from mudroom.assembly import Study, open_study
from mudroom.errors import Code, MudroomError
from mudroom.replay import Archivist, PageTarget, RunTarget
from mudroom.settings import Settings, load_settings
from mudroom.testing.unjailed import UnjailedGuests

WRONG: tuple[Any, ...] = (
    None,
    "x",
    -1,
    10**30,
    True,
    [],
    {},
    [None],
    {"a": []},
    "\x00\ud800",
    "../../etc/passwd",
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    return load_settings({}, config=Path("/dev/null"), workspace=tmp_path / "workspace")


async def taken(settings: Settings) -> tuple[str, Path]:
    """A run of two pages, and its folder."""
    manifest = await crawl_once(settings, page("/", "/1"), page("/1"))
    return manifest["run_id"], settings.workspace / "runs" / manifest["run_id"]


@asynccontextmanager
async def looking(settings: Settings) -> AsyncIterator[Study]:
    with no_network():
        async with open_study(settings, guests=UnjailedGuests()) as study:
            yield study


async def look(study: Study, run_id: str, *names: str) -> set[str]:
    """What each way of looking comes to: a code, or nothing. Anything else than a failure of ours is raised.

    Shapes: without `names`, each of them.
    """
    archivist = Archivist(study.archive, study.corpus)
    ways = {
        "replay": lambda: study.replayer.replay(run_id),
        "verify": lambda: study.verifier.verify_run(run_id),
        "verify page": lambda: study.verifier.verify_page(run_id, 2),
        "rescan": lambda: study.rescanner.rescan(run_id),
        "inspect": lambda: archivist.describe(RunTarget(run_id=run_id)),
        "inspect page": lambda: archivist.describe(PageTarget(run_id=run_id, number=2)),
    }
    codes = set()
    for name in names or ways:
        try:
            await ways[name]()
        except MudroomError as error:
            codes.add(error.code.value)
    return codes


def spoil(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The record with one value wrong, in turn; and with one gone."""
    for at, key in enumerate(record):
        yield f"without {key}", {name: value for name, value in record.items() if name != key}
        for step in range(2):  # two wrong values for each, all of them over the record
            wrong = WRONG[(2 * at + step) % len(WRONG)]
            yield f"{key} is {wrong!r}", record | {key: wrong}


ALLOWED = {
    Code.SNAPSHOT_CORRUPT,
    Code.SNAPSHOT_MISSING,
    Code.SNAPSHOT_MISMATCH,
    Code.INVALID_REFERENCE,
    Code.INVALID_CONFIG,
    Code.RUN_NOT_FOUND,
    Code.RUN_ACTIVE,
}


@pytest.mark.parametrize(
    "name", ["metadata/000002.json", "sources.json", "manifest.json", "security/findings.json"]
)
async def test_a_record_with_any_value_wrong_is_a_typed_answer(settings: Settings, name: str) -> None:
    run_id, folder = await taken(settings)
    path = folder / name
    whole = path.read_text()
    async with looking(settings) as study:
        for what, spoilt in spoil(json.loads(whole)):
            path.write_text(json.dumps(spoilt))
            ways = ("verify page", "rescan", "inspect page") if name.startswith("metadata") else ()
            assert await look(study, run_id, *ways) <= {code.value for code in ALLOWED}, what
        path.write_text(whole)
        assert await look(study, run_id) == set()


@pytest.mark.parametrize(
    ("name", "key", "ways"),
    [
        ("manifest.json", "pages", ("verify page", "rescan", "inspect", "replay")),
        ("sources.json", "sources", ("replay", "inspect")),
        ("manifest.json", "options", ("replay",)),
    ],
)
async def test_a_row_with_any_value_wrong_is_a_typed_answer(
    settings: Settings, name: str, key: str, ways: tuple[str, ...]
) -> None:
    run_id, folder = await taken(settings)
    path = folder / name
    record = json.loads(path.read_text())
    is_list = isinstance(record[key], list)
    row = record[key][-1] if is_list else record[key]
    async with looking(settings) as study:
        for what, spoilt in spoil(row):
            path.write_text(json.dumps(record | {key: [*record[key][:-1], spoilt] if is_list else spoilt}))
            assert await look(study, run_id, *ways) <= {code.value for code in ALLOWED}, what


GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"pages": ' + b"9" * 5000 + b"}"]


@pytest.mark.parametrize(
    "name", ["metadata/000002.json", "sources.json", "manifest.json", "security/findings.json"]
)
async def test_a_record_that_is_none_is_a_typed_answer(settings: Settings, name: str) -> None:
    run_id, folder = await taken(settings)
    async with looking(settings) as study:
        for content in GARBAGE:
            (folder / name).write_bytes(content)
            assert await look(study, run_id) <= {code.value for code in ALLOWED}, content[:20]
        (folder / name).unlink()
        (folder / name).symlink_to("/etc/passwd")
        assert await look(study, run_id) <= {code.value for code in ALLOWED}


async def test_a_record_never_has_another_runs_bytes_taken_for_its_own(settings: Settings) -> None:
    """Somebody exchanges a reference for one to other bytes: that is told, and nothing is fetched for it."""
    run_id, folder = await taken(settings)
    manifest = json.loads((folder / "manifest.json").read_text())
    other = manifest["pages"][0]["source_ref"]
    for path in ("manifest.json", "metadata/000002.json"):
        record = json.loads((folder / path).read_text())
        (record["pages"][1] if path == "manifest.json" else record)["source_ref"] = other
        (folder / path).write_text(json.dumps(record))
    async with looking(settings) as study:
        proof = await study.verifier.verify_run(run_id)
        assert [(page.number, page.stage) for page in proof.failures] == [(2, "record")]
