"""`mudroom download` on a real site: what lies in the folder, what was asked, and what the status says."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mudroom.testing.routes import Drop, Route, Stall
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread

from .conftest import Ran, RunCli
from .range_site import BODY, RangeFile

Download = Callable[..., Ran]


@pytest.fixture
def file() -> RangeFile:
    return RangeFile()


@pytest.fixture
def site(file: RangeFile) -> Iterator[SiteServer]:
    routes = (
        file.route(),
        *(Route(path=f"/{name}", body=name) for name in ("one", "two", "three")),
        *(Route(path=f"/{folder}/same.txt", body=folder) for folder in ("a", "b")),
        Route(path="/..%2f..%2fescape.txt", body="caught"),
        Route(path="/stalls", body=(b"half", Stall()), content_length=99),
        Route(path="/untagged", body=(b"half", Drop()), content_length=99),
        Route(
            path="/zipped",
            headers=(("Content-Encoding", "gzip"), ("ETag", '"z"')),
            body=(gzip.compress(b"words " * 999)[:-9], Drop()),
            content_length=99999,
        ),
        Route(path="/part", status=206, headers=(("Content-Range", "bytes 0-3/9"),), body="half"),
    )
    with serve_in_thread(*routes) as site:
        yield site


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def download(run_cli: RunCli, site: SiteServer, folder: Path) -> Download:
    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        words = [site.url(word) if word.startswith("/") else word for word in arguments]
        return run_cli("download", *words, "--allow-origin", site.origin, stdin=stdin)

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def names(folder: Path) -> list[str]:
    return list(contents(folder))


def report_of(ran: Ran) -> dict[str, Any]:
    (report,) = json.loads(ran.out)
    return dict(report)


def asked_ranges(site: SiteServer) -> list[str | None]:
    return [request.header("range") for request in site.requests]


def test_urls_come_from_arguments_and_lists_each_once(
    download: Download, site: SiteServer, folder: Path
) -> None:
    (folder / "list").write_text(f"# a list\n{site.url('/two')}\n\n{site.url('/one')}\n")
    ran = download("-O", "/one", "-i", "list")
    assert ran.status == 0
    (folder / "list").unlink()
    assert contents(folder) == {"one": b"one", "two": b"two"}
    assert [line.split()[0] for line in ran.err.splitlines()] == ["came", "came"]


def test_urls_come_from_standard_input(download: Download, site: SiteServer, folder: Path) -> None:
    listed = "\n".join(site.url(f"/{name}") for name in ("one", "two", "three")).encode()
    assert download("-O", "-i", "-", "--concurrency", "1", "-q", stdin=listed) == Ran(0, "", "")
    assert names(folder) == ["one", "three", "two"]


@pytest.mark.parametrize("list_name", ["-", "list"])
def test_a_list_in_no_encoding_is_a_list_of_which_one_line_is_no_url(
    download: Download, site: SiteServer, folder: Path, list_name: str
) -> None:
    listed = b"https://exa\xffmple.test/\n" + site.url("/one").encode() + b"\n"
    (folder / "list").write_bytes(listed)
    ran = download("-O", "-i", list_name, "--jsonl", stdin=listed)
    reports = {report["code"]: report["bytes"] for report in map(json.loads, ran.out.splitlines())}
    assert (ran.status, reports) == (3, {"INVALID_URL": 0, None: 3})


def test_the_status_says_whether_all_came_and_a_line_what_became_of_each(
    download: Download, folder: Path
) -> None:
    ran = download("-O", "/one", "/missing", "--jsonl")
    reports = {report["path"]: report for report in map(json.loads, ran.out.splitlines())}
    assert ran.status == 1
    assert {key: reports["one"][key] for key in ("bytes", "code")} == {"bytes": 3, "code": None}
    assert (reports[None]["code"], reports[None]["bytes"]) == ("HTTP_STATUS", 0)
    assert names(folder) == ["one"]
    assert download("-O", "/one", "http://192.168.0.1/two").status == 3


@pytest.mark.parametrize(
    "header", ["X-A: b\r\nHost: evil.test", "Host: evil.test", "Content-Length: 5", "no colon"]
)
def test_a_header_that_must_not_be_sent_costs_no_connection(
    download: Download, site: SiteServer, folder: Path, header: str
) -> None:
    ran = download("-O", "/one", "-H", header)
    assert (ran.status, names(folder), site.requests) == (2, [], [])
    assert "evil" not in ran.err


def test_two_urls_with_one_name_are_two_files(download: Download, folder: Path) -> None:
    assert download("-O", "/a/same.txt", "/b/same.txt").status == 0
    assert sorted(contents(folder).values()) == [b"a", b"b"]
    assert all(name.startswith("same-") and name.endswith(".txt") for name in names(folder))


def test_a_hostile_name_stays_in_the_folder(download: Download, folder: Path) -> None:
    assert download("-O", "/..%2f..%2fescape.txt").status == 0
    assert contents(folder) == {"escape.txt": b"caught"}


def test_without_continuing_nothing_is_left_of_what_breaks_off(
    download: Download, file: RangeFile, folder: Path
) -> None:
    file.breaks_after = 1000
    assert download("-O", "/data.bin").status == 1
    assert names(folder) == []


def test_what_breaks_off_is_gone_on_with(
    download: Download, file: RangeFile, site: SiteServer, folder: Path
) -> None:
    file.breaks_after = 1000
    first = download("-O", "-C", "/data.bin", "--json")
    assert first.status == 1
    assert report_of(first)["kept_bytes"] == 1000
    assert "kept       1 KB, which -C goes on with" in first.err.splitlines()
    assert names(folder) == [".data.bin.part", ".data.bin.part.json"]
    assert site.url("/data.bin") not in (folder / ".data.bin.part.json").read_text()
    second = download("-O", "-C", "/data.bin", "--json")
    assert report_of(second)["kept_bytes"] == 2000
    file.breaks_after = None
    third = download("-O", "-C", "/data.bin", "--json")
    assert (third.status, report_of(third)["continued_from"]) == (0, 2000)
    assert asked_ranges(site) == [None, "bytes=1000-", "bytes=2000-"]
    assert site.requests[1].header("if-range") == '"v1"'
    assert site.requests[0].header("accept-encoding") == "identity"
    assert contents(folder) == {"data.bin": BODY}


OTHER = bytes(reversed(BODY))


@pytest.mark.parametrize(
    ("change", "ranges"),
    [
        ({"body": OTHER, "etag": '"v2"'}, ["bytes=1000-"]),
        ({"body": OTHER, "etag": '"v2"', "heeds_if_range": False}, ["bytes=1000-", None]),
        ({"body": OTHER, "etag": None, "heeds_if_range": False}, ["bytes=1000-", None]),
        ({"body": OTHER, "heeds_range": False}, ["bytes=1000-"]),
        ({"body": OTHER[:500], "etag": '"v2"', "heeds_if_range": False}, ["bytes=1000-", None]),
        ({"body": OTHER[:1000], "etag": '"v2"', "heeds_if_range": False}, ["bytes=1000-", None]),
        ({"body": OTHER + OTHER, "heeds_if_range": False}, ["bytes=1000-", None]),
    ],
    ids=[
        "changed",
        "changed and If-Range ignored",
        "untagged now",
        "no ranges",
        "shrank",
        "shrank to it",
        "grew",
    ],
)
def test_two_versions_never_become_one_file(
    download: Download,
    file: RangeFile,
    site: SiteServer,
    folder: Path,
    change: dict[str, Any],
    ranges: list[str | None],
) -> None:
    file.breaks_after = 1000
    assert download("-O", "-C", "/data.bin").status == 1
    file.breaks_after = None
    for name, value in change.items():
        setattr(file, name, value)
    assert download("-O", "-C", "/data.bin").status == 0
    assert contents(folder) == {"data.bin": file.body}
    assert asked_ranges(site)[1:] == ranges


@pytest.mark.parametrize("is_longer", [False, True], ids=["as long", "longer"])
def test_a_redirect_that_leads_elsewhere_the_next_time_joins_no_halves(
    download: Download, file: RangeFile, site: SiteServer, folder: Path, *, is_longer: bool
) -> None:
    """Validators tell versions of one address apart, and say nothing of two: both files here are "v1"."""
    elsewhere = RangeFile(body=OTHER * 2 if is_longer else OTHER)
    site.add(elsewhere.route("/other.bin"))
    site.add(Route(path="/latest", status=302, headers=(("Location", "/data.bin"),)))
    file.breaks_after = 1000
    assert download("-O", "-C", "/latest").status == 1
    site.add(Route(path="/latest", status=302, headers=(("Location", "/other.bin"),)))
    assert download("-O", "-C", "/latest").status == 0
    assert contents(folder) == {"latest": elsewhere.body}


def test_what_had_come_wholly_is_only_put_in_place(
    download: Download, file: RangeFile, site: SiteServer, folder: Path
) -> None:
    file.breaks_after = 1000
    assert download("-O", "-C", "/data.bin").status == 1
    # As a crash between the last byte and the renaming leaves it.
    (folder / ".data.bin.part").write_bytes(BODY)
    notes = folder / ".data.bin.part.json"
    notes.write_text(json.dumps(json.loads(notes.read_text()) | {"size": len(BODY)}))
    ran = download("-O", "-C", "/data.bin", "--json")
    assert (ran.status, report_of(ran)["bytes"]) == (0, len(BODY))
    assert contents(folder) == {"data.bin": BODY}
    assert asked_ranges(site) == [None, f"bytes={len(BODY)}-"]


@pytest.mark.parametrize("path", ["/untagged", "/zipped"])
def test_what_no_server_can_go_on_with_is_not_kept(download: Download, folder: Path, path: str) -> None:
    ran = download("-O", "-C", path, "--json")
    assert (ran.status, report_of(ran)["kept_bytes"], names(folder)) == (1, 0, [])


def test_an_answer_in_parts_that_nobody_asked_for_is_no_file(download: Download, folder: Path) -> None:
    for more in ((), ("-C",)):
        ran = download("-O", "/part", "--json", *more)
        assert (ran.status, report_of(ran)["code"], names(folder)) == (1, "HTTP_STATUS", [])
    assert download("-O", "/part", "-H", "Range: bytes=0-3").status == 0
    assert contents(folder) == {"part": b"half"}


def test_the_limit_of_bytes_holds_for_the_whole_file(
    download: Download, file: RangeFile, folder: Path
) -> None:
    file.breaks_after = 1000
    assert download("-O", "-C", "/data.bin").status == 1
    file.breaks_after = None
    limit = str(len(BODY) - 1)
    ran = download("-O", "-C", "/data.bin", "--max-bytes", limit, "--json")
    assert (ran.status, report_of(ran)["code"]) == (1, "BODY_TOO_LARGE")
    assert (folder / ".data.bin.part").stat().st_size == 1000
    assert download("-O", "-C", "/data.bin", "--max-bytes", str(len(BODY))).status == 0


def test_a_transfer_that_takes_too_long_is_given_up(download: Download, folder: Path) -> None:
    ran = download("-O", "/stalls", "--max-time", "0.3", "--json")
    assert (ran.status, report_of(ran)["code"], names(folder)) == (1, "TOTAL_TIMEOUT", [])
    assert "127.0.0.1 had not sent all of it after the 0.3 seconds of --max-time" in ran.err


def test_an_error_of_the_server_costs_nothing_of_what_lies_here(
    download: Download, file: RangeFile, site: SiteServer, folder: Path
) -> None:
    file.breaks_after = 1000
    assert download("-O", "-C", "/data.bin").status == 1
    file.breaks_after = None
    site.add(Route(path="/data.bin", status=503, then=(file.route(),)))
    site.hits.clear()
    ran = download("-O", "-C", "/data.bin", "--json")
    assert (report_of(ran)["code"], report_of(ran)["kept_bytes"]) == ("HTTP_STATUS", 1000)
    assert download("-O", "-C", "/data.bin").status == 0
    assert contents(folder) == {"data.bin": BODY}


def test_continuing_to_a_pipe_writes_it_through(download: Download, folder: Path) -> None:
    (folder / "null").symlink_to("/dev/null")
    assert download("-o", "null", "-C", "/one").status == 0
    assert names(folder) == ["null"]


@pytest.mark.parametrize("more", [(), ("-C",)], ids=["anew", "continued"])
def test_a_pipe_or_device_that_somebody_left_under_the_name_of_a_url_is_not_written_to(
    download: Download, site: SiteServer, folder: Path, more: tuple[str, ...]
) -> None:
    os.mkfifo(folder / "one")
    (folder / "two").symlink_to("/dev/null")
    ran = download("-O", "/one", "/two", "/three", "--json", *more)
    assert ran.status == 1
    assert [report["code"] for report in json.loads(ran.out)] == [*["STORE_UNAVAILABLE"] * 2, None]
    assert "two is a device or pipe here; remove it, or name it yourself with -o" in ran.err
    assert (folder / "one").is_fifo()
    assert (folder / "two").is_symlink()
