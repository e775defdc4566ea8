from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from typing import Any

import pytest

from mudroom.crawl import CancelToken, CrawlPolicy, CrawlScope, RobotsMode
from mudroom.errors import Code, InvalidConfig, StoreFailed
from mudroom.model import CrawlState, Link, LinkRelation, OutcomeKind, PageState

A = "http://a.example"
LOCAL = "http://127.0.0.1:8000"
FAST: dict[str, Any] = {"delay_seconds": 0}


def codes(manifest: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in manifest["warnings"]]


def ends(manifest: dict[str, Any]) -> dict[str, str]:
    return {page["url"]: page["code"] or page["outcome"] for page in manifest["pages"]}


def list_site(bench: Any, count: int, **more: Any) -> dict[str, Any]:
    """A listing that links to `count` pages."""
    site = {f"{A}/": bench.page(links=tuple(f"/{n}" for n in range(count)))}
    return site | {f"{A}/{n}": bench.page(**more) for n in range(count)}


async def test_a_site_with_cycles_and_fragments_is_read_once_per_page(bench: Any) -> None:
    site = {
        f"{A}/": bench.page(links=("/a", "/a#part", "a", "http://a.example./a", "HTTP://A.EXAMPLE:80/b#x")),
        f"{A}/a": bench.page(links=("/", "/b", "#top")),
        f"{A}/b": bench.page(links=("/a", "./", "../")),
    }
    manifest = await bench.crawl(site, **FAST)
    assert sorted(bench.fetched()) == sorted(site)
    assert manifest["state"] == "COMPLETE"
    assert manifest["warnings"] == []
    assert manifest["discovered"] == 3


async def test_pages_are_numbered_and_deepened_breadth_first(bench: Any) -> None:
    site = {
        f"{A}/": bench.page(links=("/1", "/2")),
        f"{A}/1": bench.page(links=("/1/1",), seconds=5),
        f"{A}/2": bench.page(links=("/2/1",), seconds=1),
        f"{A}/1/1": bench.page(),
        f"{A}/2/1": bench.page(links=("/deep",)),
        f"{A}/deep": bench.page(),
    }
    manifest = await bench.crawl(site, max_depth=2, concurrency=1, **FAST)
    assert [(page["url"], page["depth"]) for page in manifest["pages"]] == [
        (f"{A}/", 0),
        (f"{A}/1", 1),
        (f"{A}/2", 1),
        (f"{A}/1/1", 2),
        (f"{A}/2/1", 2),
    ]


async def test_the_page_budget_ends_a_crawl_with_the_number_that_remains(bench: Any) -> None:
    manifest = await bench.crawl(list_site(bench, 2), max_pages=2, **FAST)
    assert len(manifest["pages"]) == 2
    assert manifest["state"] == "LIMIT_REACHED"
    assert codes(manifest) == ["PAGE_LIMIT"]
    assert "1 URL remains" in manifest["warnings"][0]["message"]


async def test_a_budget_that_suffices_exactly_is_no_limit(bench: Any) -> None:
    manifest = await bench.crawl(list_site(bench, 2), max_pages=3, **FAST)
    assert (manifest["state"], codes(manifest)) == ("COMPLETE", [])


async def test_no_pages_at_all_is_said_to_be_a_limit(bench: Any) -> None:
    manifest = await bench.crawl(list_site(bench, 2), max_pages=0)
    assert (manifest["state"], manifest["pages"]) == ("LIMIT_REACHED", [])
    assert codes(manifest) == ["PAGE_LIMIT", "NOTHING_STORED"]
    assert bench.fetched() == []


async def test_failing_pages_count_as_attempts_and_end_nothing(bench: Any) -> None:
    site = list_site(bench, 4)
    site[f"{A}/0"] = bench.page(kind=OutcomeKind.FAILED, status=500)
    site[f"{A}/1"] = bench.page(kind=OutcomeKind.FAILED, code=Code.CONNECT_TIMEOUT)
    manifest = await bench.crawl(site, max_pages=4, concurrency=1, **FAST)
    assert ends(manifest) == {
        f"{A}/": "STORED",
        f"{A}/0": "HTTP_STATUS",
        f"{A}/1": "CONNECT_TIMEOUT",
        f"{A}/2": "STORED",
    }
    assert manifest["state"] == "LIMIT_REACHED"


async def test_links_of_pages_that_were_not_accepted_are_never_followed(bench: Any) -> None:
    site = list_site(bench, 3)
    for name, kind in (("0", OutcomeKind.BLOCKED), ("1", OutcomeKind.QUARANTINED), ("2", OutcomeKind.FAILED)):
        site[f"{A}/{name}"] = bench.page(kind=kind, links=("/trap",))
    manifest = await bench.crawl(site, **FAST)
    assert f"{A}/trap" not in bench.fetched()
    assert [page["outcome"] for page in manifest["pages"]] == ["STORED", "BLOCKED", "QUARANTINED", "FAILED"]


async def test_every_fault_of_the_configuration_is_told_at_once_and_nothing_is_begun(bench: Any) -> None:
    with pytest.raises(InvalidConfig) as caught:
        await bench.crawl({}, "ftp://a.example/", max_pages=-1, concurrency=0)
    assert len(caught.value.faults) == 3
    assert bench.corpus.runs == []
    assert bench.fetched() == []


@pytest.mark.parametrize(
    "seed", ["", "a.example/x", "/relative", "mailto:a@b.example", "http://", "http://[::1"]
)
async def test_a_seed_that_is_no_web_address_is_a_fault_of_the_configuration(bench: Any, seed: str) -> None:
    with pytest.raises(InvalidConfig):
        await bench.crawl({}, seed)


@pytest.mark.parametrize(
    ("seed", "code"),
    [
        ("http://10.0.0.1/", "DENIED_ADDRESS"),
        ("http://0x7f000001/", "INVALID_HOST"),
        ("http://user:secret@a.example/", "CREDENTIALS"),
        ("http://a.example:8080/", "INVALID_PORT"),
        ("http://localhost/", "DENIED_HOST"),
    ],
)
async def test_a_refused_seed_is_a_failed_page_whose_code_says_why_nothing_came(
    bench: Any, seed: str, code: str
) -> None:
    manifest = await bench.crawl({}, seed)
    assert manifest["state"] == "FAILED"
    assert [page["code"] for page in manifest["pages"]] == [code]
    assert codes(manifest) == ["NOTHING_STORED"]
    assert code in manifest["warnings"][0]["message"]
    assert bench.fetched() == []


async def test_an_empty_result_names_robots_as_its_cause(bench: Any) -> None:
    bench.robots.denied = frozenset({f"{A}/"})
    manifest = await bench.crawl(list_site(bench, 2))
    assert manifest["state"] == "FAILED"
    assert "ROBOTS_DENIED 1" in manifest["warnings"][0]["message"]


async def test_robots_bind_each_page_unless_a_person_says_otherwise(bench: Any) -> None:
    site = list_site(bench, 2)
    bench.robots.denied = frozenset({f"{A}/0"})
    assert ends(await bench.crawl(site, **FAST))[f"{A}/0"] == "ROBOTS_DENIED"
    assert bench.intake.requests[0].robots == "allowed"
    bench.intake.requests.clear()
    manifest = await bench.crawl(site, robots=RobotsMode.IGNORE, **FAST)
    assert ends(manifest)[f"{A}/0"] == "STORED"
    assert bench.intake.requests[0].robots == "ignored"
    assert bench.corpus.runs[-1].options["robots"] == "ignore"


async def test_eight_at_a_time_never_read_more_than_the_byte_budget(bench: Any) -> None:
    manifest = await bench.crawl(
        list_site(bench, 40, size=900_000), max_page_bytes=2_000_000, max_total_bytes=10_000_000, **FAST
    )
    assert manifest["state"] == "LIMIT_REACHED"
    assert manifest["wire_bytes"] <= 10_000_000
    assert "BYTE_LIMIT" in codes(manifest)
    assert [page["code"] for page in manifest["pages"]].count("CRAWL_LIMIT_REACHED") <= 1
    assert len(manifest["pages"]) >= 11


async def test_a_page_beyond_what_is_left_of_the_budget_fails_with_its_own_code(bench: Any) -> None:
    site = list_site(bench, 3, size=600)
    manifest = await bench.crawl(site, max_page_bytes=1000, max_total_bytes=1000, **FAST)
    assert [page["code"] for page in manifest["pages"]] == [None, None, "CRAWL_LIMIT_REACHED"]
    assert manifest["wire_bytes"] == 1000
    assert manifest["state"] == "LIMIT_REACHED"


async def test_a_page_beyond_its_own_limit_is_too_large_whatever_is_left(bench: Any) -> None:
    manifest = await bench.crawl(list_site(bench, 1, size=5000), max_page_bytes=1000, **FAST)
    assert [page["code"] for page in manifest["pages"]] == [None, "BODY_TOO_LARGE"]
    assert manifest["state"] == "COMPLETE"


async def test_what_robots_files_cost_is_charged_to_the_budget(bench: Any) -> None:
    bench.robots.file_bytes = 400
    manifest = await bench.crawl(list_site(bench, 3, size=100), max_total_bytes=900, concurrency=1, **FAST)
    assert [page["code"] for page in manifest["pages"]] == [None, None]
    assert manifest["wire_bytes"] == 1000
    assert manifest["state"] == "LIMIT_REACHED"


async def test_a_fault_costs_the_whole_share_since_nobody_counted(bench: Any) -> None:
    site = list_site(bench, 3, fault=KeyError())
    manifest = await bench.crawl(site, max_page_bytes=1000, max_total_bytes=2100, concurrency=1, **FAST)
    assert [page["code"] for page in manifest["pages"]] == [None, "INTERNAL_ERROR", "INTERNAL_ERROR"]
    assert manifest["wire_bytes"] == 2100
    assert manifest["state"] == "LIMIT_REACHED"


async def test_the_duration_aborts_what_is_on_its_way_and_accounts_for_it(bench: Any) -> None:
    site = list_site(bench, 3, seconds=10_000)
    manifest = await bench.crawl(site, max_duration_seconds=60, **FAST)
    assert manifest["state"] == "LIMIT_REACHED"
    assert ends(manifest) == {
        f"{A}/": "STORED",
        f"{A}/0": "CRAWL_LIMIT_REACHED",
        f"{A}/1": "CRAWL_LIMIT_REACHED",
        f"{A}/2": "CRAWL_LIMIT_REACHED",
    }
    assert bench.intake.cancelled == 3
    assert codes(manifest) == ["TIME_LIMIT"]


async def test_a_cancelled_crawl_leaves_a_valid_record_of_what_was_done(bench: Any) -> None:
    cancel = CancelToken()
    site = list_site(bench, 5, seconds=50)

    async def press_later() -> None:
        await bench.time.sleep(20)
        cancel.cancel()

    press = asyncio.create_task(press_later())
    manifest = await bench.crawl(site, cancel=cancel, concurrency=2, **FAST)
    await press
    assert manifest["state"] == "CANCELLED"
    assert [page["outcome"] for page in manifest["pages"]] == ["STORED", "FAILED", "FAILED"]
    assert [page["code"] for page in manifest["pages"][1:]] == ["CANCELLED", "CANCELLED"]
    assert "3 URLs remain" in manifest["warnings"][0]["message"]
    assert bench.robots.closed == 1
    assert [event.state for event in bench.events.crawls][-1] is CrawlState.CANCELLED


async def test_a_token_that_is_already_pressed_fetches_at_most_the_seed(bench: Any) -> None:
    cancel = CancelToken()
    cancel.cancel()
    manifest = await bench.crawl(list_site(bench, 5), cancel=cancel)
    assert manifest["state"] == "CANCELLED"
    assert len(manifest["pages"]) <= 1


async def test_cancelling_the_task_writes_the_record_before_it_is_raised(bench: Any) -> None:
    bench.intake.site = list_site(bench, 3, seconds=50)
    work = asyncio.create_task(bench.make_crawler().crawl(f"{A}/", CrawlPolicy(delay_seconds=0)))
    await bench.intake.third_request.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert bench.events.crawls[-1].state is CrawlState.CANCELLED
    assert {outcome.kind for outcome in bench.corpus.runs[0].outcomes.values()} == {
        OutcomeKind.STORED,
        OutcomeKind.FAILED,
    }


async def test_a_person_who_stops_a_crawl_still_gets_its_manifest(bench: Any) -> None:
    bench.intake.site = list_site(bench, 3, seconds=50)
    work = asyncio.create_task(bench.make_crawler().crawl_to_end(f"{A}/", CrawlPolicy(delay_seconds=0)))
    await bench.intake.third_request.wait()
    work.cancel()
    manifest = await work
    assert manifest["state"] == "CANCELLED"


@pytest.mark.parametrize("steps", range(12))
async def test_a_person_who_says_so_twice_gets_the_manifest_all_the_same(bench: Any, steps: int) -> None:
    bench.intake.site = list_site(bench, 3, seconds=50)
    work = asyncio.create_task(bench.make_crawler().crawl_to_end(f"{A}/", CrawlPolicy(delay_seconds=0)))
    await bench.intake.third_request.wait()
    work.cancel()
    for _ in range(steps):
        await asyncio.sleep(0)
    work.cancel()
    assert (await work)["state"] == "CANCELLED"


async def test_a_fault_of_ours_costs_one_page_and_is_told_without_its_text(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    site = list_site(bench, 3)
    site[f"{A}/1"] = bench.page(fault=KeyError("\x1b]52;page text"))
    with caplog.at_level(logging.ERROR):
        manifest = await bench.crawl(site, **FAST)
    assert manifest["state"] == "COMPLETE"
    assert ends(manifest)[f"{A}/1"] == "INTERNAL_ERROR"
    assert ends(manifest)[f"{A}/2"] == "STORED"
    assert codes(manifest) == ["UNEXPECTED_ERROR"]
    assert "KeyError" in caplog.text
    assert "_visit" in caplog.text
    assert "page text" not in caplog.text + str(manifest)


async def test_no_more_pages_than_asked_for_are_on_their_way_and_no_url_has_a_task(bench: Any) -> None:
    manifest = await bench.crawl(
        list_site(bench, 200, seconds=1), max_pages=120, concurrency=6, per_host_concurrency=6, **FAST
    )
    assert len(manifest["pages"]) == 120
    assert bench.intake.most_running == 6
    assert bench.intake.most_tasks <= 6 + 6


async def test_a_host_is_asked_by_at_most_its_own_number_at_a_time(bench: Any) -> None:
    await bench.crawl(list_site(bench, 30, seconds=1), concurrency=8, per_host_concurrency=3, **FAST)
    assert bench.intake.most_running == 3


async def test_the_first_page_of_a_host_comes_alone_since_its_robots_are_not_known(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=tuple(f"http://b.example/{n}" for n in range(4)))}
    for n in range(4):
        site[f"http://b.example/{n}"] = bench.page(seconds=1)
    await bench.crawl(site, same_host=False, **FAST)
    moments = [moment for moment, url in bench.intake.starts if "b.example" in url]
    assert moments[1] - moments[0] >= 1
    assert moments[1] == moments[2] == moments[3]


async def test_the_delay_lies_between_the_starts_of_requests_to_one_host(bench: Any) -> None:
    await bench.crawl(list_site(bench, 5, seconds=0.4), delay_seconds=2)
    moments = [moment for moment, _ in bench.intake.starts]
    assert [round(later - earlier, 6) for earlier, later in pairwise(moments)] == [2] * 5


@pytest.mark.parametrize(
    ("seed", "asked", "kept"),
    [(A, None, 1), (LOCAL, None, 0), (A, 0, 0), (LOCAL, 0, 0), (A, 2, 2), (LOCAL, 2, 2)],
    ids=str,
)
async def test_only_where_no_delay_was_asked_for_an_origin_of_the_operators_has_none(
    bench: Any, seed: str, asked: float | None, kept: float
) -> None:
    site = {f"{seed}/": bench.page(links=("/1", "/2", "/3"), seconds=0)}
    site |= {f"{seed}/{n}": bench.page(seconds=0) for n in (1, 2, 3)}
    await bench.crawl(site, f"{seed}/", delay_seconds=asked)
    moments = [moment for moment, _ in bench.intake.starts]
    assert [round(later - earlier, 6) for earlier, later in pairwise(moments)] == [kept] * 3


@pytest.mark.parametrize(("asked", "kept"), [(7, 7), (3600, 30), (0.5, 2)])
async def test_a_crawl_delay_is_honoured_within_bounds(bench: Any, asked: float, kept: float) -> None:
    bench.robots.delays = {A: asked}
    await bench.crawl(list_site(bench, 2, seconds=0), delay_seconds=2)
    moments = [moment for moment, _ in bench.intake.starts]
    assert [round(b - a, 6) for a, b in pairwise(moments)] == [kept, kept]


@pytest.mark.parametrize(
    ("status", "asked", "kept"), [(429, 30, 30), (503, 4, 4), (429, 9999, 120), (429, None, 5), (404, 30, 0)]
)
async def test_a_host_that_asks_for_a_pause_gets_it_within_bounds(
    bench: Any, status: int, asked: float | None, kept: float
) -> None:
    site = list_site(bench, 2, seconds=0)
    site[f"{A}/0"] = bench.page(kind=OutcomeKind.FAILED, status=status, retry_after=asked, seconds=0)
    await bench.crawl(site, concurrency=1, **FAST)
    moments = [moment for moment, _ in bench.intake.starts]
    assert moments[2] - moments[1] == kept


async def test_a_pause_asked_for_behind_a_redirect_is_that_of_the_host_which_asked(bench: Any) -> None:
    b = "http://b.example"
    site = {
        f"{A}/": bench.page(links=("/0", "/1", f"{b}/y"), seconds=0),
        f"{A}/0": bench.page(redirect=f"{b}/x", seconds=0),
        f"{b}/x": bench.page(kind=OutcomeKind.FAILED, status=429, retry_after=30, seconds=0),
        f"{A}/1": bench.page(seconds=0),
        f"{b}/y": bench.page(seconds=0),
    }
    await bench.crawl(site, same_host=False, concurrency=1, **FAST)
    starts = {url: moment for moment, url in bench.intake.starts}
    assert starts[f"{A}/1"] - starts[f"{b}/x"] == 0
    assert starts[f"{b}/y"] - starts[f"{b}/x"] == 30


async def test_a_redirect_away_from_the_operators_own_origin_waits_as_other_hosts_are_waited_for(
    bench: Any,
) -> None:
    b = "http://b.example"
    site = {f"{LOCAL}/": bench.page(links=("/0", "/1"), seconds=0)}
    site |= {f"{LOCAL}/{n}": bench.page(redirect=f"{b}/{n}", seconds=0) for n in (0, 1)}
    site |= {f"{b}/{n}": bench.page(seconds=0) for n in (0, 1)}
    await bench.crawl(site, f"{LOCAL}/", same_host=False)
    starts = {url: moment for moment, url in bench.intake.starts}
    assert abs(starts[f"{b}/1"] - starts[f"{b}/0"]) == 1


async def test_pauses_double_while_a_host_keeps_refusing(bench: Any) -> None:
    site = list_site(bench, 4, seconds=0, kind=OutcomeKind.FAILED, status=429)
    await bench.crawl(site, concurrency=1, **FAST)
    moments = [moment for moment, _ in bench.intake.starts][1:]
    assert [b - a for a, b in pairwise(moments)] == [5, 10, 20]


async def test_a_slow_host_leaves_a_slot_to_the_others(bench: Any) -> None:
    slow, quick = "http://slow.example", "http://quick.example"
    site = {f"{A}/": bench.page(links=(f"{slow}/start", f"{quick}/start"))}
    site[f"{slow}/start"] = bench.page(links=tuple(f"/{n}" for n in range(50)))
    site[f"{quick}/start"] = bench.page(links=tuple(f"/{n}" for n in range(20)), seconds=5)
    site |= {f"{slow}/{n}": bench.page(seconds=500) for n in range(50)}
    site |= {f"{quick}/{n}": bench.page(seconds=1) for n in range(20)}
    await bench.crawl(
        site, same_host=False, concurrency=4, per_host_concurrency=4, max_duration_seconds=400, **FAST
    )
    assert sum(quick in url for url in bench.fetched()) == 21


async def test_the_seed_may_move_the_crawl_within_its_domain(bench: Any) -> None:
    www = "http://www.a.example"
    site = {
        f"{A}/": bench.page(redirect=f"{www}/"),
        f"{www}/": bench.page(links=("/in", f"{A}/out")),
        f"{www}/in": bench.page(),
    }
    manifest = await bench.crawl(site, **FAST)
    assert bench.fetched() == [f"{A}/", f"{www}/", f"{www}/in"]
    assert codes(manifest) == ["SEED_MOVED", "OFF_HOST"]
    assert manifest["state"] == "COMPLETE"


async def test_a_page_cannot_move_the_crawl_by_its_base(bench: Any) -> None:
    site = {
        f"{A}/": bench.page(links=("elsewhere", f"{A}/here"), base="http://b.example/"),
        f"{A}/here": bench.page(),
    }
    manifest = await bench.crawl(site, **FAST)
    assert bench.fetched() == [f"{A}/", f"{A}/here"]
    assert codes(manifest) == ["OFF_HOST"]


async def test_a_page_that_moves_to_another_host_is_not_followed_there(bench: Any) -> None:
    site = list_site(bench, 1)
    site[f"{A}/0"] = bench.page(redirect="http://b.example/")
    manifest = await bench.crawl(site, **FAST)
    assert ends(manifest)[f"{A}/0"] == "REDIRECT_CROSS_HOST"
    assert "http://b.example/" not in bench.fetched()


async def test_a_redirect_to_a_page_already_taken_in_is_not_stored_twice(bench: Any) -> None:
    site = list_site(bench, 3)
    site[f"{A}/1"] = bench.page(redirect="/0")
    manifest = await bench.crawl(site, concurrency=1, **FAST)
    assert bench.fetched().count(f"{A}/0") == 1
    assert ends(manifest)[f"{A}/1"] == "DUPLICATE_PAGE"
    assert manifest["state"] == "COMPLETE"


async def test_a_redirect_to_a_page_that_waits_leaves_it_its_own_turn(bench: Any) -> None:
    site = list_site(bench, 3)
    site[f"{A}/0"] = bench.page(redirect="/2")
    manifest = await bench.crawl(site, concurrency=1, **FAST)
    assert bench.fetched().count(f"{A}/2") == 1
    assert ends(manifest)[f"{A}/0"] == "DUPLICATE_PAGE"
    assert ends(manifest)[f"{A}/2"] == "STORED"
    assert manifest["state"] == "COMPLETE"


async def test_a_page_that_a_redirect_came_to_first_is_not_fetched_again(bench: Any) -> None:
    site = list_site(bench, 2)
    site[f"{A}/0"] = bench.page(redirect="/new")
    site[f"{A}/new"] = bench.page(links=("/more",))
    site[f"{A}/1"] = bench.page(links=("/new",))
    site[f"{A}/more"] = bench.page()
    manifest = await bench.crawl(site, **FAST)
    assert bench.fetched().count(f"{A}/new") == 1
    assert [page["url"] for page in manifest["pages"]] == [f"{A}/", f"{A}/0", f"{A}/1", f"{A}/more"]


async def test_a_redirect_to_another_spelling_of_the_same_page_is_followed(bench: Any) -> None:
    site = list_site(bench, 0)
    site[f"{A}/"] = bench.page(links=("/%7Ejo",))
    site[f"{A}/%7Ejo"] = bench.page(redirect="/~jo")
    site[f"{A}/~jo"] = bench.page()
    assert ends(await bench.crawl(site, **FAST))[f"{A}/%7Ejo"] == "STORED"


async def test_a_redirect_out_of_the_globs_is_not_requested(bench: Any) -> None:
    site = list_site(bench, 1)
    site[f"{A}/0"] = bench.page(redirect="/logout?now")
    manifest = await bench.crawl(site, exclude=("/logout*",), **FAST)
    assert ends(manifest)[f"{A}/0"] == "OUT_OF_SCOPE"
    assert bench.fetched() == [f"{A}/", f"{A}/0"]


async def test_a_redirect_waits_for_its_hosts_turn_like_any_request(bench: Any) -> None:
    site = list_site(bench, 1, seconds=0)
    site[f"{A}/0"] = bench.page(redirect="/moved", seconds=0)
    site[f"{A}/moved"] = bench.page(seconds=0)
    await bench.crawl(site, delay_seconds=3)
    moments = [moment for moment, _ in bench.intake.starts]
    assert [b - a for a, b in pairwise(moments)] == [3, 3]


async def test_seed_headers_go_to_the_seeds_origin_alone(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=("/x", "http://b.example/", "https://a.example/"))}
    await bench.crawl(site, same_host=False, seed_headers=(("X-Key", "k"),), **FAST)
    sent = {request.untrusted_url: request.headers for request in bench.intake.requests}
    assert sent == {
        f"{A}/": (("X-Key", "k"),),
        f"{A}/x": (("X-Key", "k"),),
        "http://b.example/": (),
        "https://a.example/": (),
    }
    assert "k" not in str(bench.corpus.runs[0].options["seed_header_names"]).replace("X-Key", "")
    assert "seed_headers" not in bench.corpus.runs[0].options


async def test_nofollow_is_heeded_unless_the_policy_says_otherwise(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=(Link(untrusted_href="/x", is_nofollow=True),)), f"{A}/x": bench.page()}
    await bench.crawl(site, **FAST)
    assert bench.fetched() == [f"{A}/"]
    await bench.crawl(site, follow_nofollow=True, **FAST)
    assert f"{A}/x" in bench.fetched()


@pytest.mark.parametrize(
    ("relations", "followed"),
    [
        (None, ["/a", "/c", "/n"]),
        ((), ["/a"]),
        ((LinkRelation.ALTERNATE,), ["/a", "/l"]),
        (tuple(LinkRelation), ["/a", "/c", "/n", "/l"]),
    ],
)
async def test_related_pages_are_followed_as_the_policy_says(
    bench: Any, relations: tuple[LinkRelation, ...] | None, followed: list[str]
) -> None:
    links = (
        Link("/a"),
        Link("/c", relation=LinkRelation.CANONICAL),
        Link("/n", relation=LinkRelation.NEXT),
        Link("/l", relation=LinkRelation.ALTERNATE),
    )
    options = {} if relations is None else {"follow_relations": frozenset(relations)}
    await bench.crawl({f"{A}/": bench.page(links=links)}, **options, **FAST)
    assert sorted(bench.fetched()[1:]) == sorted(f"{A}{path}" for path in followed)


async def test_links_off_the_host_and_refused_ones_are_counted_not_named(bench: Any) -> None:
    links = (
        "http://ignore-all-instructions.example/",
        "http://c.example/1",
        "http://c.example/2",
        "http://10.0.0.1/",
        "http://2130706433/",
        "http://a.example:99/",
        "mailto:x@a.example",
        "javascript:alert(1)",
        "http://[bad",
    )
    manifest = await bench.crawl({f"{A}/": bench.page(links=links)}, **FAST)
    assert codes(manifest) == ["OFF_HOST", "LINK_REFUSED"]
    off_host, refused = (warning["message"] for warning in manifest["warnings"])
    assert off_host == "3 links to 2 other hosts not followed"
    assert refused == "3 links refused before any request: DENIED_ADDRESS 1, INVALID_HOST 1, INVALID_PORT 1"
    assert bench.fetched() == [f"{A}/"]


async def test_the_same_link_on_many_pages_is_counted_on_each(bench: Any) -> None:
    site = list_site(bench, 3, links=("http://c.example/",))
    manifest = await bench.crawl(site, **FAST)
    assert manifest["warnings"][0]["message"] == "3 links to 1 other host not followed"


async def test_a_query_alone_leads_elsewhere_from_each_page_of_a_folder(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=("/a", "/b"))}
    site |= {f"{A}/{name}": bench.page(links=("?more",)) for name in "ab"}
    await bench.crawl(site, **FAST)
    assert sorted(bench.fetched()) == [f"{A}/", f"{A}/a", f"{A}/a?more", f"{A}/b", f"{A}/b?more"]


async def test_the_same_words_lead_elsewhere_from_another_folder(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=("/a/", "/b/"))}
    site |= {f"{A}/{name}/": bench.page(links=("x",)) for name in "ab"}
    await bench.crawl(site, **FAST)
    assert {f"{A}/a/x", f"{A}/b/x"} < set(bench.fetched())


async def test_a_dropped_link_that_comes_again_is_taken_once_there_is_room(bench: Any) -> None:
    site = {
        f"{A}/": bench.page(links=("/1", "/2")),
        f"{A}/1": bench.page(links=("/2",)),
        f"{A}/2": bench.page(),
    }
    await bench.crawl(site, max_frontier=1, **FAST)
    assert bench.fetched() == [f"{A}/", f"{A}/1", f"{A}/2"]


async def test_links_that_meet_a_full_frontier_are_dropped_but_discovered(bench: Any) -> None:
    manifest = await bench.crawl(list_site(bench, 10), max_frontier=4, **FAST)
    assert len(manifest["pages"]) == 5
    assert manifest["discovered"] == 11
    assert codes(manifest) == ["FRONTIER_FULL"]
    assert manifest["state"] == "LIMIT_REACHED"


async def test_an_endless_calendar_ends_at_the_budgets(bench: Any) -> None:
    def answer(url: str) -> Any:
        day = int(url.rpartition("/")[2] or 0)
        return bench.page(links=tuple(f"/{day + step}" for step in range(1, 60)))

    manifest = await bench.crawl(answer, max_pages=50, max_depth=1000, max_frontier=100, **FAST)
    assert len(manifest["pages"]) == 50
    assert manifest["state"] == "LIMIT_REACHED"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scope": CrawlScope.PAGE}, []),
        ({"scope": CrawlScope.PREFIX}, ["http://a.example/docs/x"]),
        ({"scope": CrawlScope.HOST}, ["http://a.example/docs/x", "http://a.example/blog"]),
        (
            {"scope": CrawlScope.DOMAIN},
            ["http://a.example/docs/x", "http://a.example/blog", "http://www.a.example/"],
        ),
        ({"include": ("*/blog",)}, ["http://a.example/blog"]),
        ({"exclude": ("/docs/*",)}, ["http://a.example/blog"]),
    ],
)
async def test_scope_and_globs_decide_which_links_are_followed(
    bench: Any, options: dict[str, Any], expected: list[str]
) -> None:
    links = ("x", "/blog", "http://www.a.example/", "http://b.example/docs/")
    await bench.crawl({f"{A}/docs/": bench.page(links=links)}, f"{A}/docs/", **options, **FAST)
    assert sorted(bench.fetched()[1:]) == sorted(expected)


async def test_observers_see_the_states_of_crawl_and_pages(bench: Any) -> None:
    await bench.crawl(list_site(bench, 1), **FAST)
    states = [event.state for event in bench.events.crawls]
    assert states[:2] == [CrawlState.CREATED, CrawlState.RUNNING]
    assert states[-1] is CrawlState.COMPLETE
    assert bench.events.crawls[-1].attempted == 2
    assert [(event.url, event.state) for event in bench.events.pages] == [(f"{A}/0", PageState.DISCOVERED)]


async def test_a_store_that_fails_three_times_in_a_row_ends_the_crawl(bench: Any) -> None:
    site = list_site(bench, 30, kind=OutcomeKind.FAILED, code=Code.NO_SPACE)
    manifest = await bench.crawl(site, concurrency=1, **FAST)
    assert len(manifest["pages"]) == 4
    assert manifest["state"] == "FAILED"
    assert codes(manifest) == ["STORE_UNAVAILABLE"]
    (warning,) = manifest["warnings"]
    assert warning["message"] == "stopped because pages could not be written: failed; 27 URLs remain"


async def test_a_store_that_recovers_ends_nothing(bench: Any) -> None:
    site = list_site(bench, 6)
    for name in ("0", "1", "3", "4"):
        site[f"{A}/{name}"] = bench.page(kind=OutcomeKind.FAILED, code=Code.STORE_UNAVAILABLE)
    manifest = await bench.crawl(site, concurrency=1, **FAST)
    assert len(manifest["pages"]) == 7
    assert manifest["state"] == "COMPLETE"


@pytest.mark.parametrize("moment", ["begin_fails_with", "finish_fails_with"])
async def test_a_workspace_that_cannot_be_written_is_told_in_a_manifest(bench: Any, moment: str) -> None:
    setattr(bench.corpus, moment, StoreFailed(Code.NO_SPACE, "the workspace is full"))
    manifest = await bench.crawl(list_site(bench, 1), **FAST)
    assert manifest["state"] == "FAILED"
    assert manifest["warnings"] == [{"code": "NO_SPACE", "url": f"{A}/", "message": "the workspace is full"}]
    assert set(manifest) >= {"schema", "run_id", "kind", "totals", "pages", "options", "versions"}


async def test_a_record_that_could_not_be_ended_is_told_with_the_pages_it_holds(bench: Any) -> None:
    bench.corpus.finish_fails_with = StoreFailed(Code.NO_SPACE, "the workspace is full")
    bench.corpus.is_readable = True
    manifest = await bench.crawl(list_site(bench, 1), **FAST)
    assert (manifest["state"], manifest["pages"]) == ("FAILED", ["as recorded"])
    assert [warning["code"] for warning in manifest["warnings"]] == ["NO_SPACE"]


async def test_progress_is_saved_while_a_crawl_lasts(bench: Any) -> None:
    await bench.crawl(list_site(bench, 10, seconds=6), concurrency=1, **FAST)
    assert 3 <= bench.corpus.runs[0].checkpoints <= 6
