"""A run or reference checked again: holds, or the first stage that differs, named."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mudroom.address import ExceptionScope
from mudroom.assembly import open_house, open_study
from mudroom.errors import Code, MudroomError
from mudroom.intake import Outcome
from mudroom.model import Initiator
from mudroom.replay import RefProof, RunProof, Stage
from mudroom.settings import Settings
from mudroom.snapshot import KeepRule
from mudroom.testing.server import SiteServer
from mudroom.testing.unjailed import UnjailedGuests

from .conftest import ATTACK, Recorded, crawl_once, every_kind, no_network, page, reach, record

SITE = (page("/", "/1", "/2", "/3"), page("/1", "/4"), page("/2", words=ATTACK), page("/3"), page("/4"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recorded"), *SITE)


async def verify_run(settings: Settings, run_id: str) -> RunProof:
    with no_network():
        async with open_study(settings, guests=UnjailedGuests()) as study:
            return await study.verifier.verify_run(run_id)


async def verify_ref(settings: Settings, source_ref: str) -> RefProof:
    with no_network():
        async with open_study(settings, guests=UnjailedGuests()) as study:
            return await study.verifier.verify_ref(source_ref)


def folder_of(settings: Settings, run_id: str) -> Path:
    return settings.workspace / "runs" / run_id


def edit(file: Path, /, **changes: Any) -> None:
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | changes))


def edit_row(folder: Path, number: int, /, **changes: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["pages"][number - 1].update(changes)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def break_record(settings: Settings, source_ref: str) -> None:
    archive = settings.workspace / "private" / "archive"
    index = sqlite3.connect(archive / "index.sqlite")
    offset, length = index.execute(
        "SELECT offset, length FROM snapshots WHERE record = ?",
        (bytes.fromhex(source_ref.rpartition("record=")[2]),),
    ).fetchone()
    index.close()
    (segment,) = archive.glob("*.warc.gz")
    content = bytearray(segment.read_bytes())
    content[offset + length // 3] ^= 0xFF
    segment.write_bytes(bytes(content))


async def test_a_run_that_nobody_touched_holds_whatever_became_of_its_pages(settings: Settings) -> None:
    live = await crawl_once(settings, *every_kind())
    proof = await verify_run(settings, live["run_id"])
    assert proof.failures == ()
    assert proof.order == ()
    assert (proof.holds, proof.checked, proof.order_skipped) == (True, len(live["pages"]), "")


def _edit_text(folder: Path) -> None:
    (path,) = folder.glob("pages/000002*.md")
    path.write_text(path.read_text() + "\nAnd one word more.\n")


def _remove_text(folder: Path) -> None:
    (path,) = folder.glob("pages/000002*.md")
    path.unlink()


def _edit_title(folder: Path) -> None:
    edit(folder / "metadata/000002.json", title="What nobody scanned")


def _edit_decision(folder: Path) -> None:
    edit(folder / "metadata/000002.json", decision="WARN")
    edit_row(folder, 2, decision="WARN")


def _edit_both_digests(folder: Path) -> None:
    """What somebody would do who changes a stored text and knows where its digest stands."""
    metadata = folder / "metadata/000002.json"
    exposed = json.loads(metadata.read_text())["exposed_sha256"]
    edit(metadata, markdown_sha256="0" * 64, exposed_sha256=exposed | {"markdown": "0" * 64})


EDITS: list[tuple[str, Callable[[Path], None], Stage]] = [
    ("text", _edit_text, Stage.FILE),
    ("no text", _remove_text, Stage.FILE),
    ("a title", _edit_title, Stage.FILE),
    ("digest", lambda folder: edit(folder / "metadata/000002.json", sha256="0" * 64), Stage.RECORD),
    ("status", lambda folder: edit(folder / "metadata/000002.json", http_status=203), Stage.RECORD),
    ("type", lambda folder: edit(folder / "metadata/000002.json", content_type="text/plain"), Stage.RECORD),
    ("no type", lambda folder: edit(folder / "metadata/000002.json", content_type=None), Stage.RECORD),
    (
        "id",
        lambda folder: edit(folder / "metadata/000002.json", document_id="crawl_01X/000002"),
        Stage.RECORD,
    ),
    (
        "schema",
        lambda folder: edit(folder / "metadata/000002.json", schema="mudroom.document/2"),
        Stage.RECORD,
    ),
    ("manifest", lambda folder: edit_row(folder, 2, decision="WARN"), Stage.RECORD),
    ("no metadata", lambda folder: (folder / "metadata/000002.json").unlink(), Stage.RECORD),
    ("form", _edit_both_digests, Stage.EXTRACTION),
    ("findings", lambda folder: edit(folder / "metadata/000002.json", finding_ids=["ROLE-001"]), Stage.SCAN),
    ("decision", _edit_decision, Stage.DECISION),
]


@pytest.mark.parametrize(("change", "stage"), [row[1:] for row in EDITS], ids=[row[0] for row in EDITS])
async def test_an_edited_record_does_not_hold_at_the_stage_that_was_edited(
    settings: Settings, live: dict[str, Any], change: Callable[[Path], None], stage: Stage
) -> None:
    change(folder_of(settings, live["run_id"]))
    proof = await verify_run(settings, live["run_id"])
    (failure,) = proof.failures
    assert (failure.number, failure.stage, failure.is_other_version) == (2, stage, False)
    assert not proof.holds


async def test_a_blocked_page_that_was_recorded_as_harmless_does_not_hold(
    settings: Settings, live: dict[str, Any]
) -> None:
    assert live["pages"][2]["code"] == "PROMPT_INJECTION"
    folder = folder_of(settings, live["run_id"])
    changes = {
        "outcome": "STORED",
        "decision": "SAFE",
        "code": None,
        "reason": None,
        "path": "pages/000003.md",
    }
    edit(folder / "metadata/000003.json", **changes)
    edit_row(folder, 3, **changes)
    (failure,) = (await verify_run(settings, live["run_id"])).failures
    assert (failure.number, failure.stage, failure.message) == (
        3,
        Stage.DECISION,
        "outcome was STORED, and is BLOCKED",
    )


async def test_damaged_bytes_do_not_hold_and_say_so(settings: Settings, live: dict[str, Any]) -> None:
    source_ref = live["pages"][3]["source_ref"]
    break_record(settings, source_ref)
    (failure,) = (await verify_run(settings, live["run_id"])).failures
    assert (failure.number, failure.stage, failure.code) == (4, Stage.BYTES, Code.SNAPSHOT_CORRUPT)
    ref = await verify_ref(settings, source_ref)
    assert ref.error is not None
    assert (ref.holds, ref.error.code) == (False, Code.SNAPSHOT_CORRUPT)


async def test_a_page_that_nothing_leads_to_any_more_is_checked_all_the_same(
    settings: Settings, live: dict[str, Any]
) -> None:
    break_record(settings, live["pages"][0]["source_ref"])
    _edit_text(folder_of(settings, live["run_id"]))
    proof = await verify_run(settings, live["run_id"])
    assert [failure.number for failure in proof.failures] == [1, 2]
    assert proof.checked == len(live["pages"])


async def test_a_page_put_in_another_place_is_a_difference_of_order(
    settings: Settings, live: dict[str, Any]
) -> None:
    folder = folder_of(settings, live["run_id"])
    edit(folder / "metadata/000005.json", depth=1)
    edit_row(folder, 5, depth=1)
    proof = await verify_run(settings, live["run_id"])
    assert proof.failures == ()
    assert [(each.field, each.number, each.replayed) for each in proof.order] == [("depth", 5, 2)]


async def test_another_version_is_named_as_that(settings: Settings, live: dict[str, Any]) -> None:
    folder = folder_of(settings, live["run_id"])
    versions = live["versions"] | {"scanner": "screen/0"}
    edit(folder / "metadata/000002.json", finding_ids=["ROLE-001"], versions=versions)
    (failure,) = (await verify_run(settings, live["run_id"])).failures
    assert (failure.stage, failure.is_other_version) == (Stage.SCAN, True)
    assert failure.versions == {"scanner": ("screen/0", live["versions"]["scanner"])}


async def open_one(settings: Settings, site: SiteServer, path: str = "/") -> Outcome:
    near = reach(settings, site)
    async with open_house(near, guests=UnjailedGuests()) as house:
        scope = ExceptionScope.operator()
        return await house.open_url(site.url(path), initiator=Initiator.OPERATOR, scope=scope)


async def test_single_pages_and_files_are_checked_without_an_order(
    settings: Settings, tmp_path: Path
) -> None:
    note = tmp_path / "note.html"
    note.write_text("<title>Note</title><p>Fine.</p>")
    async with SiteServer(page("/")) as site:
        page_id = (await open_one(settings, site)).facts.run_id
        gone_id = (await open_one(settings, site, "/gone")).facts.run_id
    async with open_house(settings, guests=UnjailedGuests()) as house:
        file_id = (await house.open_file(note, None)).facts.run_id
        named_id = (await house.open_file(note, None, url="https://example.org/a.html")).facts.run_id
    for run_id in (page_id, gone_id, file_id, named_id):
        proof = await verify_run(settings, run_id)
        assert (proof.failures, proof.checked, proof.order_skipped) == ((), 1, ""), run_id
    _edit = folder_of(settings, file_id) / "metadata/000001.json"
    edit(_edit, sha256="0" * 64)
    (failure,) = (await verify_run(settings, file_id)).failures
    assert failure.stage is Stage.RECORD


async def test_a_crawl_that_did_not_keep_all_is_checked_page_by_page(settings: Settings) -> None:
    some = replace(settings, archive=replace(settings.archive, keep=KeepRule.ACCEPTED))
    live = await crawl_once(some, *SITE[:2], page("/3"))
    proof = await verify_run(settings, live["run_id"])
    assert 'archive.keep = "all"' in proof.order_skipped
    assert [failure.stage for failure in proof.failures] == []


async def test_a_reference_holds_with_what_its_run_made_of_it(
    settings: Settings, live: dict[str, Any]
) -> None:
    source_ref = live["pages"][1]["source_ref"]
    proof = await verify_ref(settings, source_ref)
    assert proof.holds
    assert [each.number for each in proof.pages] == [2]
    _edit_text(folder_of(settings, live["run_id"]))
    assert [each.stage for each in (await verify_ref(settings, source_ref)).pages] == [Stage.FILE]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda ref: f"{ref}&more=1", Code.INVALID_REFERENCE),
        (lambda ref: ref[:-52], Code.INVALID_REFERENCE),
        (lambda ref: ref.replace("mudroom-snapshot:", "forage-snapshot:"), Code.INVALID_REFERENCE),
        (lambda ref: ref[:-64] + "0" * 64, Code.SNAPSHOT_MISMATCH),
        (lambda ref: ref.replace("sha256=", "sha256=0")[: len(ref)], Code.INVALID_REFERENCE),
    ],
)
async def test_a_changed_reference_never_holds(
    settings: Settings, live: dict[str, Any], change: Callable[[str], str], code: Code
) -> None:
    changed = change(live["pages"][1]["source_ref"])
    assert await judge_ref(settings, changed) is code


async def judge_ref(settings: Settings, source_ref: str) -> Code | None:
    try:
        proof = await verify_ref(settings, source_ref)
    except MudroomError as error:
        return error.code
    return proof.error.code if proof.error else None
