"""What the readings of a run's sittings say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mudroom.address import ExceptionScope, ParsedUrl, parse_url
from mudroom.errors import Code, EgressRefused
from mudroom.intake import RecordSource, RobotsMode, RobotsNotice, RobotsReader
from mudroom.model import WarningCode
from mudroom.replay.record import RunRecord
from mudroom.replay.robots import RecordedRobots

A = "https://a.example"
DENIED, UNAVAILABLE = Code.ROBOTS_DENIED, Code.ROBOTS_UNAVAILABLE


def reading(origin: str = A, says: Code | None = None, name: str = "") -> dict[str, Any]:
    return {"kind": "robots", "url": f"{origin}/robots.txt", "says": says, "name": name}


SITEMAP: dict[str, Any] = {"kind": "sitemap", "url": f"{A}/sitemap.xml"}


class Gate:
    """One reading of each origin, which says what its source does."""

    def __init__(self, sources: Sequence[Mapping[str, Any]]) -> None:
        self._sources = {each["url"].removesuffix("/robots.txt"): each for each in sources}
        self.received_bytes = len(sources)
        self.is_closed = False

    @property
    def notices(self) -> tuple[RobotsNotice, ...]:
        return (RobotsNotice(code=WarningCode.ROBOTS_UNREACHABLE, url=A, message="x"),)

    async def check(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        del scope
        code = self._sources[url.origin]["says"]
        if code is not None:
            raise EgressRefused(code, "")

    async def list_sitemaps(self, url: ParsedUrl, scope: ExceptionScope) -> tuple[str, ...]:
        del scope
        return (self._sources[url.origin]["name"],)

    def crawl_delay_seconds(self, origin: str) -> float | None:
        return 2.0 if origin in self._sources else None

    async def aclose(self) -> None:
        self.is_closed = True


def open_gate(*sources: dict[str, Any]) -> RobotsReader:
    def open_reading(run: RunRecord, mode: RobotsMode, record: RecordSource | None) -> RobotsReader:
        return Gate(run.sources)

    run = RunRecord(run_id="crawl_A", manifest={}, sources=sources, corpus=None, numbers={})  # type: ignore[arg-type]  # not asked
    return RecordedRobots(run, open_reading).open_gate("crawl_B", RobotsMode.OBEY)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ([None], None),
        ([DENIED], DENIED),
        ([UNAVAILABLE, UNAVAILABLE], UNAVAILABLE),
        ([DENIED, None], None),
        ([None, DENIED], None),
        ([DENIED, UNAVAILABLE], None),
        ([DENIED, DENIED, None], None),
    ],
)
async def test_a_url_is_refused_where_every_reading_refuses_it_alike(
    said: list[Code | None], refused: Code | None
) -> None:
    gate = open_gate(reading("https://b.example"), *(reading(says=says) for says in said))
    url = parse_url(f"{A}/x")
    assert url is not None
    if refused is None:
        await gate.check(url, ExceptionScope.none())
        return
    with pytest.raises(EgressRefused) as caught:
        await gate.check(url, ExceptionScope.none())
    assert caught.value.code is refused


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        ((reading(name="1"),), "1"),
        ((reading(name="1"), SITEMAP, reading(name="2")), "1"),
        ((reading(name="1"), SITEMAP, reading(name="2"), SITEMAP, reading(name="3")), "2"),
        ((reading(name="1"), reading(name="2")), "1"),
    ],
)
async def test_sitemaps_are_those_named_when_the_run_read_them(
    sources: tuple[dict[str, Any], ...], named: str
) -> None:
    url = parse_url(A)
    assert url is not None
    assert await open_gate(*sources).list_sitemaps(url, ExceptionScope.none()) == (named,)


async def test_what_readings_cost_is_added_up_and_what_they_warn_of_told_once() -> None:
    gate = open_gate(reading(), reading("https://b.example"), reading())
    assert gate.received_bytes == 3
    assert len(gate.notices) == 1
    assert gate.crawl_delay_seconds(A) == 2.0
    assert gate.crawl_delay_seconds("https://c.example") is None
    await gate.aclose()


async def test_a_run_that_read_none_has_a_gate_too() -> None:
    assert open_gate().received_bytes == 0
