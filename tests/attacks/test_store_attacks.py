"""Hostile bytes, references and file systems against the archive."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mudroom.errors import Code, MudroomError
from mudroom.snapshot import FileSnapshotStore, SnapshotInput, SourceKind, rebuild_index


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


def test_a_workspace_without_permission_is_unavailable(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    answer, _ = _python(_PUT_WITHIN_LIMITS, str(locked / "private" / "archive"), "0").communicate()
    assert set(answer.split()) == {"STORE_UNAVAILABLE"}
