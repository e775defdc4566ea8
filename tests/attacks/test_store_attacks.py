"""Hostile bytes, names, references and file systems against the archive and the corpus."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.corpus.documents import SECRET, VERSIONS, decided, finding

from mudroom.assembly import open_house
from mudroom.cli.citations import gather_citations
from mudroom.corpus import FileCorpus
from mudroom.corpus.files import enter_private
from mudroom.errors import Code, MudroomError, StoreFailed
from mudroom.model import CrawlState, RunKind, Severity
from mudroom.screen import WarnHandling
from mudroom.settings import load_settings
from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind, rebuild_index
from mudroom.testing.unjailed import UnjailedGuests


def _page(path: str, body: bytes) -> SnapshotInput:
    url = f"https://example.org/{path}"
    return SnapshotInput(
        kind=SourceKind.PAGE,
        requested_url=url,
        url=url,
        status=200,
        fetched_at=datetime(2026, 11, 30, tzinfo=UTC),
        body=body,
    )


async def _code(awaitable: object) -> Code:
    with pytest.raises(MudroomError) as caught:
        await awaitable
    return caught.value.code


def _segments(root: Path) -> list[Path]:
    return sorted(root.glob("*.warc.gz"))


async def _filled(root: Path) -> str:
    store = FileSnapshotStore(root)
    stored = await store.put(_page("a", b"hello"))
    await store.aclose()
    return stored.source_ref


def _swap_segment_for_link(root: Path) -> None:
    segment = _segments(root)[0]
    segment.rename(root.parent / "elsewhere")
    segment.symlink_to(root.parent / "elsewhere")


def _swap_segment_for_folder(root: Path) -> None:
    segment = _segments(root)[0]
    segment.unlink()
    segment.mkdir()


def _swap_segment_for_pipe(root: Path) -> None:
    segment = _segments(root)[0]
    segment.unlink()
    os.mkfifo(segment)


def _swap_root_for_link(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    root.symlink_to(root.parent / "elsewhere", target_is_directory=True)


def _swap_root_for_file(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    root.write_bytes(b"")


def _swap_index_for_link(root: Path) -> None:
    (root / "index.sqlite").rename(root.parent / "elsewhere")
    (root / "index.sqlite").symlink_to(root.parent / "elsewhere")


@pytest.mark.parametrize(
    "swap",
    [
        _swap_segment_for_link,
        _swap_segment_for_folder,
        _swap_segment_for_pipe,
        _swap_root_for_link,
        _swap_root_for_file,
        _swap_index_for_link,
    ],
)
async def test_what_was_swapped_for_something_else_is_corrupt(tmp_path: Path, swap: object) -> None:
    root = tmp_path / "private" / "archive"
    ref = await _filled(root)
    swap(root)
    store = FileSnapshotStore(root)
    assert await _code(store.get(ref)) is Code.SNAPSHOT_CORRUPT
    await store.aclose()


async def test_a_segment_swapped_for_a_link_under_an_open_store_is_corrupt(tmp_path: Path) -> None:
    root = tmp_path / "private" / "archive"
    store = FileSnapshotStore(root)
    ref = (await store.put(_page("a", b"hello"))).source_ref
    assert (await store.get(ref)).body == b"hello"
    _swap_segment_for_link(root)
    assert await _code(store.get(ref)) is Code.SNAPSHOT_CORRUPT
    await store.aclose()


async def test_a_link_in_place_of_a_segment_is_never_written_through(tmp_path: Path) -> None:
    root = tmp_path / "private" / "archive"
    await _filled(root)
    _swap_segment_for_link(root)
    before = (root.parent / "elsewhere").read_bytes()
    store = FileSnapshotStore(root)
    assert await _code(store.put(_page("b", b"x"))) is Code.SNAPSHOT_CORRUPT
    await store.aclose()
    assert (root.parent / "elsewhere").read_bytes() == before


async def test_an_archive_record_inside_a_page_stays_a_page(tmp_path: Path) -> None:
    """A page whose body is a whole segment, also when its own record is torn, forges nothing."""
    donor, root = tmp_path / "donor", tmp_path / "archive"
    forged_ref = await _filled(donor)
    segment = _segments(donor)[0].read_bytes()
    for wrapping in (segment, gzip.decompress(segment), b"\0" * 40_000 + segment + os.urandom(40_000)):
        store = FileSnapshotStore(root)
        stored = await store.put(_page(str(len(wrapping)), wrapping))
        assert (await store.get(stored.source_ref)).body == wrapping
        assert await _code(store.get(forged_ref)) is Code.SNAPSHOT_MISSING
        await store.aclose()
    for path in root.glob("index.sqlite*"):
        path.unlink()
    target = _segments(root)[0]
    os.truncate(target, target.stat().st_size - 30)
    store = FileSnapshotStore(root)
    assert await _code(store.get(forged_ref)) is Code.SNAPSHOT_MISSING
    await store.aclose()
    assert rebuild_index(root).record_count == 2


@pytest.mark.parametrize(
    ("name", "headers", "raw"),
    [
        ("a header that ends the block", (("X", "a\r\n\r\n<script>"),), b""),
        ("a raw block with two ends", (), b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nC: d\r\n\r\nX"),
        ("a WARC header in a header", (("X", "\r\nWARC-Type: warcinfo"),), b""),
        ("a content type with controls", (("Content-Type", "text/html\r\nWARC-Type: x"),), b""),
        ("a status line with controls", (), b"HTTP/1.1 200 \0\x1b[2J\r\n\r\n"),
        ("headers by the thousand", (("X", "y" * 50),) * 4000, b""),
    ],
)
@pytest.mark.parametrize("status", [200, None])
async def test_hostile_headers_change_neither_body_nor_envelope(
    tmp_path: Path, name: str, headers: tuple[tuple[str, str], ...], raw: bytes, status: int | None
) -> None:
    store = FileSnapshotStore(tmp_path / "archive")
    snapshot = replace(_page("a", b"the body"), headers=headers, raw_header=raw, status=status)
    got = await store.get((await store.put(snapshot)).source_ref)
    assert got.body == b"the body"
    assert got.headers == headers
    assert got.http_block.count(b"\r\n\r\n") == (1 if status else 0)
    await store.aclose()


async def test_a_reference_never_becomes_a_path(tmp_path: Path) -> None:
    store = FileSnapshotStore(tmp_path / "archive")
    stored = await store.put(_page("a", b"x"))
    for text in ("../../etc/passwd", "mudroom-snapshot:../../../etc/passwd?url=x", "/etc/passwd", "\0"):
        assert await _code(store.get(text)) is Code.INVALID_REFERENCE
        assert await _code(store.latest(text)) is Code.SNAPSHOT_MISSING
    assert (await store.get(stored.source_ref)).body == b"x"
    await store.aclose()


def _python(script: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    source = Path(__file__).parents[2] / "src"
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env={"PYTHONPATH": str(source), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


_ENDLESS_WRITER = """
    import asyncio, os, pathlib, sys
    from datetime import UTC, datetime
    from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind

    async def put(store, number):
        url = f"https://example.org/{os.getpid()}/{number}"
        body = (f"{number} " * (number % 3000)).encode()
        stored = await store.put(SnapshotInput(kind=SourceKind.PAGE, requested_url=url, url=url, status=200,
            fetched_at=datetime(2026, 11, 30, tzinfo=UTC), body=body))
        print(stored.source_ref, flush=True)

    async def main():
        store = FileSnapshotStore(pathlib.Path(sys.argv[1]))
        for start in range(0, 10**9, 8):
            await asyncio.gather(*(put(store, start + n) for n in range(8)))

    asyncio.run(main())
"""


async def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    acknowledged: list[str] = []
    for round_number in range(3):
        writers = [_python(_ENDLESS_WRITER, str(root)) for _ in range(3)]
        for writer in writers:
            assert writer.stdout
            acknowledged += [writer.stdout.readline().strip() for _ in range(20 + 37 * round_number)]
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            rest, _ = writer.communicate()
            acknowledged += [line for line in rest.split("\n")[:-1] if line]
    store = FileSnapshotStore(root)
    for ref in acknowledged:
        assert (await store.get(ref)).source_ref == ref
    assert (await store.put(_page("after", b"x"))).is_new
    await store.aclose()
    report = rebuild_index(root)
    assert report.damaged == ()
    assert report.record_count > len(acknowledged)
    assert report.segment_count <= 3


_PUT_WITHIN_LIMITS = """
    import asyncio, os, pathlib, resource, sys
    from datetime import UTC, datetime
    from mudroom.errors import MudroomError
    from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind

    async def put(store, number):
        url = f"https://example.org/{number}"
        try:
            await store.put(SnapshotInput(kind=SourceKind.PAGE, requested_url=url, url=url, status=200,
                fetched_at=datetime(2026, 11, 30, tzinfo=UTC), body=os.urandom(150_000)))
            return "kept"
        except MudroomError as failure:
            return failure.code.value

    async def main():
        if sys.argv[2] == "0" and os.geteuid() == 0:  # root is refused nothing
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        store = FileSnapshotStore(pathlib.Path(sys.argv[1]))
        if sys.argv[2] != "0":
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
        print(*[await put(store, number) for number in range(6)])
        await store.aclose()

    asyncio.run(main())
"""


def test_a_file_size_limit_of_the_system_is_no_space_and_leaves_whole_records(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    answer, _ = _python(_PUT_WITHIN_LIMITS, str(root), "400000").communicate()
    codes = answer.split()
    assert codes[0] == "kept"
    assert codes[-1] == "NO_SPACE"
    assert set(codes) == {"kept", "NO_SPACE"}
    report = rebuild_index(root)
    assert (report.record_count, report.damaged) == (codes.count("kept"), ())


_FILL_THE_DISK = """
    import asyncio, os, pathlib, sys
    from datetime import UTC, datetime
    from mudroom.errors import MudroomError
    from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind, rebuild_index

    async def main():
        root = pathlib.Path(sys.argv[1]) / "private" / "archive"
        store, refs, codes = FileSnapshotStore(root), [], set()
        filler = pathlib.Path(sys.argv[1]) / "filler"
        for number in range(400):
            url = f"https://example.org/{number}"
            if number == 5:
                free = os.statvfs(sys.argv[1])
                filler.write_bytes(bytes(free.f_bavail * free.f_bsize - 150_000))
            try:
                refs.append((await store.put(SnapshotInput(kind=SourceKind.PAGE, requested_url=url, url=url,
                    status=200, fetched_at=datetime(2026, 11, 30, tzinfo=UTC), body=os.urandom(int(sys.argv[2])))
                )).source_ref)
            except MudroomError as failure:
                codes.add(failure.code.value)
        for ref in refs:
            await store.get(ref)
        filler.unlink()
        await store.put(SnapshotInput(kind=SourceKind.PAGE, requested_url="https://example.org/", url=url,
            status=200, fetched_at=datetime(2026, 11, 30, tzinfo=UTC), body=b"again"))
        await store.aclose()
        report = rebuild_index(root)
        print(len(refs) > 5, *codes, report.record_count - len(refs), report.damaged)

    asyncio.run(main())
"""


@pytest.mark.parametrize("body_bytes", [20, 3_000, 40_000])
def test_a_disk_that_is_really_full_costs_what_does_not_fit_and_nothing_else(
    tmp_path: Path, body_bytes: int
) -> None:
    probe = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small file system of their own")
    (tmp_path / "script.py").write_text(textwrap.dedent(_FILL_THE_DISK))
    (tmp_path / "disk").mkdir()
    command = f"mount -t tmpfs -o size=2m none {tmp_path}/disk && exec {sys.executable} {tmp_path}/script.py {tmp_path}/disk {body_bytes}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "True NO_SPACE 1 ()\n"


def test_a_workspace_without_permission_is_unavailable(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    answer, _ = _python(_PUT_WITHIN_LIMITS, str(locked / "private" / "archive"), "0").communicate()
    assert set(answer.split()) == {"STORE_UNAVAILABLE"}


_SLUGS = [
    "../../../etc/passwd",
    "..",
    "/absolute",
    "a/b",
    "a\\b",
    ".hidden",
    "a\0b",
    "a\nb",
    "CON:",
    "a" * 300,
    "",
    "-rf",
    "caf\u00e9",
    "\x1b]52;c;eA==\x07",
]


@pytest.mark.parametrize("slug", _SLUGS, ids=range(len(_SLUGS)))
async def test_no_slug_leads_out_of_the_pages(tmp_path: Path, slug: str) -> None:
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    run = await corpus.begin_run(RunKind.OPEN, "https://example.org/", {})
    stored = await run.store(decided(run.run_id, 1, slug=slug))
    assert stored.path == "pages/000001.md"
    assert stored.file == tmp_path / "workspace" / "runs" / run.run_id / "pages" / "000001.md"
    assert (await corpus.read_document(run.run_id, 1)).markdown
    await corpus.aclose()


async def test_a_payload_in_title_and_text_stays_in_quarantine(tmp_path: Path) -> None:
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    warned = finding(Severity.MEDIUM)
    await run.quarantine(
        decided(run.run_id, 1, warned, title=SECRET, markdown=SECRET, slug="x", warn=WarnHandling.QUARANTINE)
    )
    await run.finish(CrawlState.COMPLETE)
    holders = _files_with(tmp_path, SECRET.encode())
    assert [path.parent.name for path in holders] == ["quarantine"]
    await corpus.aclose()


def _files_with(folder: Path, needle: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


async def test_links_in_a_run_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "000001-a-page.md").write_text("# A page\n\nText.\n")
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    stored = await run.store(decided(run.run_id, 1))
    folder = tmp_path / "workspace" / "runs" / run.run_id
    assert stored.file
    stored.file.unlink()
    stored.file.symlink_to(outside / "000001-a-page.md")
    assert await _code(corpus.read_document(run.run_id, 1)) is Code.SNAPSHOT_CORRUPT
    (folder / "pages").rename(folder / "moved")
    (folder / "pages").symlink_to(outside, target_is_directory=True)
    assert await _code(corpus.read_document(run.run_id, 1)) is Code.SNAPSHOT_CORRUPT
    await run.store(decided(run.run_id, 2))
    assert [path.name for path in _listed(outside)] == ["000001-a-page.md"]
    folder.rename(tmp_path / "run")
    folder.symlink_to(tmp_path / "run", target_is_directory=True)
    assert await _code(corpus.read_manifest(run.run_id)) is Code.SNAPSHOT_CORRUPT
    await corpus.aclose()


@pytest.mark.parametrize("name", ["runs", "private", "private/state", "private/state/runs"])
async def test_a_link_on_the_way_down_is_refused_and_nothing_lands_behind_it(
    tmp_path: Path, name: str
) -> None:
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.mkdir(mode=0o755)
    link = workspace / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside, target_is_directory=True)
    corpus = FileCorpus(workspace, VERSIONS)
    assert await _code(corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})) is Code.SNAPSHOT_CORRUPT
    if name == "runs":
        assert await _code(corpus.list_runs()) is Code.SNAPSHOT_CORRUPT
    assert (_listed(outside), outside.stat().st_mode & 0o777) == ([], 0o755)
    await corpus.aclose()


@pytest.mark.parametrize("name", ["../../../outside/own", "crawl_01M8PVDZ5M3Y9CQJXWKVVTJ72E", 5, None])
async def test_a_manifest_that_names_another_run_is_damaged_and_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: object
) -> None:
    """Else a frontier elsewhere would be opened, or taken away, and a prune would not know whose records count."""
    outside = tmp_path / "outside/own.sqlite"
    outside.parent.mkdir()
    database = sqlite3.connect(outside)
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    settings = load_settings({}, config=Path("/dev/null"), workspace=tmp_path / "room")
    async with open_house(settings, guests=UnjailedGuests()) as house:
        run = await house.corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
        await run.abandon()
        place = tmp_path / "room/runs" / run.run_id / "manifest.json"
        place.write_text(json.dumps(json.loads(place.read_bytes()) | {"run_id": name}, indent=2))
        assert await _code(house.resume(run.run_id)) is Code.SNAPSHOT_CORRUPT
        assert await _code(house.corpus.read_manifest(run.run_id)) is Code.SNAPSHOT_CORRUPT
        assert await _code(gather_citations(house.corpus, runs_since=None)) is Code.SNAPSHOT_CORRUPT
        assert [(each.run_id, each.state) for each in await house.corpus.list_runs()] == [(run.run_id, None)]
    assert outside.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"n": {}},
        {"n": "*"},
        {"bytes": "1"},
        {"bytes": None},
        {"bytes": 1e400},
        {"outcome": []},
        {"n": None},
        {"decision": {}},
        {"source_ref": ["x"]},
        {"source_ref": {"x": 1}},
        None,
        {"-": "bytes"},
        {"-": "decision"},
        {"-": "outcome"},
    ],
)
@pytest.mark.parametrize("is_killed", [True, False])
async def test_an_edited_row_is_damage_and_stops_nothing_but_a_prune(
    tmp_path: Path, change: dict[str, object] | None, is_killed: bool
) -> None:
    corpus = FileCorpus(tmp_path / "room", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.store(decided(run.run_id, 1))
    path = tmp_path / "room/runs" / run.run_id / "manifest.json"
    if is_killed:
        await run.abandon()
        (path,) = (tmp_path / "room/private/state/runs").glob("*.pages.jsonl")
    else:
        await run.finish(CrawlState.COMPLETE)
    record = json.loads(path.read_bytes())
    rows = [record] if is_killed else record["pages"]
    if change is None:
        rows[0] = 5
    else:
        rows[0].update(change)
        rows[0].pop(rows[0].pop("-", ""), None)
    path.write_text(f"{json.dumps(rows[0])}\n" if is_killed else json.dumps(record, indent=2))
    assert len(await corpus.list_runs()) == 1
    with suppress(StoreFailed):
        await gather_citations(corpus, runs_since=None)
    with suppress(StoreFailed):
        await (await corpus.reopen_run(run.run_id)).writer.abandon()
    await corpus.aclose()


@pytest.mark.parametrize("what", ["pipe", "hard link", "link"])
@pytest.mark.parametrize("place", [".partial-manifest.json", "pages.jsonl.new"])
async def test_what_lies_where_a_file_is_made_is_neither_waited_for_nor_written_to(
    tmp_path: Path, what: str, place: str
) -> None:
    """A run that was killed is taken up again, whatever somebody laid into its folders meanwhile."""
    corpus = FileCorpus(tmp_path / "room", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.abandon()
    folder = tmp_path / "room/runs" / run.run_id
    if place.endswith(".new"):
        folder, place = tmp_path / "room/private/state/runs", f"{run.run_id}.{place}"
    outside = tmp_path / "outside"
    outside.write_bytes(b"somebody's own")
    match what:
        case "pipe":
            os.mkfifo(folder / place)
        case "hard link":
            os.link(outside, folder / place)
        case _:
            (folder / place).symlink_to(outside)
    reopened = await asyncio.wait_for(corpus.reopen_run(run.run_id), 10)
    manifest = await reopened.writer.finish(CrawlState.COMPLETE)
    assert manifest["state"] == "COMPLETE"
    assert outside.read_bytes() == b"somebody's own"
    assert place not in {path.name for path in folder.iterdir()}
    await corpus.aclose()


async def test_a_run_behind_a_link_is_not_read(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    corpus = FileCorpus(workspace, VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.finish(CrawlState.COMPLETE)
    (workspace / "runs").rename(tmp_path / "moved")
    (workspace / "runs").symlink_to(tmp_path / "moved", target_is_directory=True)
    assert await _code(corpus.read_manifest(run.run_id)) is Code.SNAPSHOT_CORRUPT
    await corpus.aclose()


async def test_a_private_folder_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("private", "private/state", "private/state/runs")]
    for folder in folders:
        folder.mkdir()
        folder.chmod(0o777)
    corpus = FileCorpus(tmp_path, VERSIONS)
    await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await corpus.aclose()
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


def test_a_private_folder_of_somebody_else_is_refused_when_it_is_open_to_others(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    (tmp_path / "private").mkdir()
    (tmp_path / "private").chmod(0o777)
    os.chown(tmp_path / "private", 12345, 12345)
    tmp_path.chmod(0o755)
    top = os.open(tmp_path, os.O_RDONLY)
    os.seteuid(54321)
    try:
        with pytest.raises(StoreFailed, match="belongs to somebody else"):
            enter_private("private", within=top)
    finally:
        os.seteuid(0)
        os.close(top)


async def test_an_archive_whose_folder_lies_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "private").symlink_to("outside", target_is_directory=True)
    store = FileSnapshotStore(tmp_path / "private" / "archive")
    assert await _code(store.put(_page("a", b"hello"))) is Code.SNAPSHOT_CORRUPT
    assert _listed(tmp_path / "outside") == []
    await store.aclose()


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def test_metadata_cannot_turn_a_quarantined_text_into_a_stored_one(tmp_path: Path) -> None:
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    warned = finding(Severity.MEDIUM)
    await run.quarantine(decided(run.run_id, 1, warned, warn=WarnHandling.QUARANTINE))
    file = tmp_path / "workspace" / "runs" / run.run_id / "metadata" / "000001.json"
    file.write_text(file.read_text().replace("QUARANTINED", "STORED"))
    assert await _code(corpus.read_document(run.run_id, 1)) is Code.RUN_NOT_FOUND
    await corpus.aclose()


@pytest.mark.parametrize(
    "path",
    [
        "pages/../../../private/secret",
        "../secret",
        "/etc/passwd",
        "pages/",
        "pages",
        "quarantine/000001.md",
        "pages/a/b",
        "private/secret",
        None,
        5,
    ],
)
async def test_metadata_that_names_another_file_reads_none(tmp_path: Path, path: object) -> None:
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
    await run.store(decided(run.run_id, 1))
    file = tmp_path / "workspace" / "runs" / run.run_id / "metadata" / "000001.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"path": path}))
    assert await _code(corpus.read_document(run.run_id, 1)) in {Code.RUN_NOT_FOUND, Code.SNAPSHOT_CORRUPT}
    await corpus.aclose()


_RUN_WITHIN_LIMITS = """
    import asyncio, os, pathlib, resource, sys
    from mudroom.corpus import FailedRecord, FileCorpus, RunVersions
    from mudroom.errors import Code, MudroomError
    from mudroom.model import CrawlState, RunKind

    async def attempt(work):
        try:
            await work
            return "done"
        except MudroomError as failure:
            return failure.code.value

    async def main():
        if sys.argv[2] == "0" and os.geteuid() == 0:  # root is refused nothing
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        corpus = FileCorpus(pathlib.Path(sys.argv[1]), RunVersions(mudroom="1", scanner="1", policy="1"))
        try:
            run = await corpus.begin_run(RunKind.CRAWL, "https://example.org/", {})
        except MudroomError as failure:
            print(failure.code.value, failure.message)
            return
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
        failed = [FailedRecord(number=n, requested_url="https://example.org/", code=Code.CANCELLED,
            message="x" * 3000 * (n == 3)) for n in range(1, 7)]
        print(run.run_id, *[await attempt(run.record_failed(one)) for one in failed])
        print(await attempt(run.finish(CrawlState.COMPLETE)))

    asyncio.run(main())
"""


async def test_a_page_too_large_for_the_disk_costs_that_page(tmp_path: Path) -> None:
    answer, _ = _python(_RUN_WITHIN_LIMITS, str(tmp_path / "workspace"), "3000").communicate()
    first, last = answer.split("\n")[:2]
    run_id, *ends = first.split()
    assert ends == ["done", "done", "NO_SPACE", "done", "done", "done"]
    assert last == "done"
    corpus = FileCorpus(tmp_path / "workspace", VERSIONS)
    manifest = await corpus.read_manifest(run_id)
    assert [row["n"] for row in manifest["pages"]] == [1, 2, 4, 5, 6]
    assert _files_with(tmp_path, b"xxxx") == []
    await corpus.aclose()


def test_a_workspace_that_may_not_be_written_is_told_with_its_path_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    answer, _ = _python(_RUN_WITHIN_LIMITS, str(tmp_path / "locked" / "workspace"), "0").communicate()
    assert answer.startswith("STORE_UNAVAILABLE")
    assert str(tmp_path / "locked" / "workspace") in answer
    assert "--workspace" in answer
