"""Long rounds: a crawl killed at every pair of moments comes out as one that was left alone."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tests.assembly.test_resume import crawl_whole, kill_twice, make_site

from mudroom.settings import load_settings
from mudroom.testing.server import SiteServer

FIRST = ("FETCHING:14", "FAILED:1", "DISCOVERED:30", "SCANNING:5", "EXTRACTING:1")
SECOND = ("EXTRACTING:11", "DISCOVERED:12", "FAILED:3", "STORED:20")


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_crawl_killed_twice_equals_one_that_was_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDROOM_TESTING", "1")
    whole = await crawl_whole(tmp_path)
    for moments in product(FIRST, SECOND):
        async with SiteServer(*make_site()) as site:
            settings = load_settings(
                {},
                config=Path("/dev/null"),
                workspace=tmp_path / "-".join(moments),
                overrides={("egress", "allow_origins"): (site.origin,)},
            )
            await kill_twice(site, settings, whole, moments)
