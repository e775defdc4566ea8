"""What fails for now is tried again, under the same number, as often and as soon as policy and host allow."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from mudroom.crawl import read_retries
from mudroom.errors import Code
from mudroom.model import OutcomeKind

A = "http://a.example"


def site_of(bench: Any, **page: Any) -> dict[str, Any]:
    return {
        f"{A}/": bench.page(links=("/1", "/2"), seconds=0),
        f"{A}/1": bench.page(seconds=0, **page),
        f"{A}/2": bench.page(seconds=0),
    }


async def test_a_page_that_comes_at_the_third_try_is_one_attempt_with_two_warnings(bench: Any) -> None:
    manifest = await bench.crawl(site_of(bench, fails_first=2), concurrency=1, delay_seconds=0)
    assert bench.fetched().count(f"{A}/1") == 3
    assert [(page["n"], page["outcome"]) for page in manifest["pages"]] == [
        (1, "STORED"), (2, "STORED"), (3, "STORED"),
    ]  # fmt: skip
    assert [warning["code"] for warning in manifest["warnings"]] == ["RETRIED", "RETRIED"]
    assert [warning["message"] for warning in manifest["warnings"]] == [
        "page 2: retry 1 of 2 after HTTP_STATUS",
        "page 2: retry 2 of 2 after HTTP_STATUS",
    ]
    assert manifest["warnings"][0]["url"] == f"{A}/1"
    assert read_retries(manifest["warnings"]) == {2: ["HTTP_STATUS", "HTTP_STATUS"]}


async def test_the_pauses_double_and_chance_makes_up_to_twice_of_them(bench: Any) -> None:
    manifest = await bench.crawl(site_of(bench, fails_first=3), concurrency=1, delay_seconds=0, retries=5)
    moments = [moment for moment, url in bench.intake.starts if url == f"{A}/1"]
    assert [round(b - a, 6) for a, b in pairwise(moments)] == [0.5, 1.0, 2.0]
    assert manifest["state"] == "COMPLETE"


async def test_a_host_that_names_its_pause_gets_it(bench: Any) -> None:
    await bench.crawl(
        site_of(bench, fails_first=1, failing_status=429, retry_after=30), concurrency=1, delay_seconds=0
    )
    starts = [(moment, url) for moment, url in bench.intake.starts if url != f"{A}/"]
    assert [url for _, url in starts] == [f"{A}/1", f"{A}/1", f"{A}/2"]
    assert starts[1][0] - starts[0][0] == 30


@pytest.mark.parametrize(
    ("page", "tries"),
    [
        ({"kind": OutcomeKind.FAILED, "retryable": True, "status": 503}, 3),
        ({"kind": OutcomeKind.FAILED, "retryable": True, "code": Code.CONNECT_TIMEOUT}, 3),
        ({"kind": OutcomeKind.FAILED, "retryable": False, "status": 404}, 1),
        ({"kind": OutcomeKind.FAILED, "retryable": True, "code": Code.ROBOTS_UNAVAILABLE}, 1),
        ({"kind": OutcomeKind.FAILED, "retryable": False, "code": Code.DENIED_ADDRESS}, 1),
        ({"kind": OutcomeKind.BLOCKED}, 1),
    ],
    ids=["503", "timeout", "404", "robots", "egress", "blocked"],
)
async def test_only_what_trying_again_can_help_is_tried_again(
    bench: Any, page: dict[str, Any], tries: int
) -> None:
    manifest = await bench.crawl(site_of(bench, **page), concurrency=1, delay_seconds=0)
    assert bench.fetched().count(f"{A}/1") == tries
    assert len(manifest["pages"]) == 3
    assert manifest["state"] == "COMPLETE"


async def test_no_retries_means_none(bench: Any) -> None:
    manifest = await bench.crawl(site_of(bench, fails_first=1), delay_seconds=0, retries=0)
    assert [page["outcome"] for page in manifest["pages"]] == ["STORED", "FAILED", "STORED"]
    assert manifest["warnings"] == []


async def test_each_try_costs_its_bytes_and_without_bytes_there_is_no_other(bench: Any) -> None:
    site = site_of(bench, fails_first=9, size=400)
    manifest = await bench.crawl(
        site, concurrency=1, delay_seconds=0, max_page_bytes=500, max_total_bytes=900, retries=5
    )
    assert manifest["wire_bytes"] == 900
    assert bench.fetched().count(f"{A}/1") == 2


async def test_a_crawl_that_is_stopped_while_a_page_waits_for_its_next_try_records_it_once(
    bench: Any,
) -> None:
    site = site_of(bench, fails_first=1, failing_status=429, retry_after=100)
    manifest = await bench.crawl(site, delay_seconds=0, max_duration_seconds=50)
    assert manifest["state"] == "LIMIT_REACHED"
    assert {page["n"]: page["code"] for page in manifest["pages"]}[2] == "CRAWL_LIMIT_REACHED"
