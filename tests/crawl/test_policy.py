from __future__ import annotations

import math
from typing import Any

import pytest

from mudroom.crawl import CrawlPolicy, CrawlScope
from mudroom.errors import InvalidConfig


def test_the_defaults_are_those_of_the_plan_and_without_fault() -> None:
    policy = CrawlPolicy()
    policy.check()
    assert (policy.max_pages, policy.max_depth, policy.concurrency, policy.per_host_concurrency) == (
        100,
        3,
        8,
        4,
    )
    assert (policy.delay_seconds, policy.max_duration_seconds) == (None, 1800)
    assert (policy.max_page_bytes, policy.max_total_bytes) == (10 << 20, 500 << 20)


@pytest.mark.parametrize(
    ("max_pages", "cap"), [(1, 10_000), (500, 10_000), (501, 10_020), (10**6, 20 * 10**6)]
)
def test_the_frontier_cap_is_the_larger_of_ten_thousand_and_twenty_a_page(max_pages: int, cap: int) -> None:
    assert CrawlPolicy(max_pages=max_pages).frontier_cap == cap
    assert CrawlPolicy(max_pages=max_pages).describe()["max_frontier"] == cap


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_pages": -1}, "max_pages"),
        ({"max_pages": 1_000_001}, "max_pages"),
        ({"max_pages": True}, "max_pages"),
        ({"max_pages": 1.5}, "max_pages"),
        ({"max_pages": "9"}, "max_pages"),
        ({"max_depth": -1}, "max_depth"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 33}, "concurrency"),
        ({"per_host_concurrency": 0}, "per_host_concurrency"),
        ({"delay_seconds": -0.1}, "delay_seconds"),
        ({"delay_seconds": math.nan}, "delay_seconds"),
        ({"delay_seconds": math.inf}, "delay_seconds"),
        ({"max_duration_seconds": None}, "max_duration_seconds"),
        ({"max_page_bytes": 0}, "max_page_bytes"),
        ({"max_total_bytes": -5}, "max_total_bytes"),
        ({"max_frontier": 0}, "max_frontier"),
        ({"same_host": 1}, "same_host"),
        ({"scope": "galaxy"}, "scope"),
        ({"robots": "sometimes"}, "robots"),
        ({"same_host": False, "scope": CrawlScope.PREFIX}, "same_host"),
        ({"include": "*.html"}, "include"),
        ({"exclude": ("",)}, "exclude"),
        ({"seed_headers": (("Host", "b.example"),)}, "seed_headers"),
        ({"seed_headers": (("X-A", "a\r\nX-B: b"),)}, "seed_headers"),
        ({"seed_headers": [("X-A", "a")]}, "seed_headers"),
    ],
)
def test_a_fault_names_its_option(options: dict[str, Any], named: str) -> None:
    faults = CrawlPolicy(**options).list_faults()
    assert len(faults) == 1
    assert faults[0].startswith(named)


def test_all_faults_are_told_together() -> None:
    with pytest.raises(InvalidConfig) as caught:
        CrawlPolicy(max_pages=-1, delay_seconds=-1, concurrency=99).check()
    assert len(caught.value.faults) == 3


def test_a_fault_of_a_header_does_not_tell_its_value() -> None:
    (fault,) = CrawlPolicy(seed_headers=(("Authorization", "secret\n"),)).list_faults()
    assert "secret" not in fault


def test_the_record_holds_names_of_headers_and_no_values() -> None:
    described = CrawlPolicy(seed_headers=(("Authorization", "secret"),), include=("/a*",)).describe()
    assert described["seed_header_names"] == ["Authorization"]
    assert described["include"] == ["/a*"]
    assert described["scope"] == "host"
    assert "secret" not in str(described)
