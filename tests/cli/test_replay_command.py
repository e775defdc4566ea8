from pathlib import Path

import pytest

from mudroom.cli.console import Voice
from mudroom.cli.replay_command import tell_report
from mudroom.errors import Code, NotFound
from mudroom.replay import Difference, ReplayReport
from mudroom.settings import load_settings


def test_however_much_differs_it_is_told_in_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    gone = NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")
    report = ReplayReport(
        replay_of="crawl_A",
        manifest={"run_id": "crawl_B", "pages": [{}]},
        differences=tuple(
            Difference(field="page", recorded=True, replayed=False, number=number) for number in range(1000)
        ),
        versions={},
        unreadable=tuple((number, gone) for number in range(1, 301)),
        missing=tuple(range(301, 1001)),
    )
    settings = load_settings({}, config=Path("/dev/null"), workspace=Path("/room"))
    tell_report(report, Voice(), settings)
    told = capsys.readouterr().err.splitlines()
    assert len(told) < 50
    assert told[0] == "SNAPSHOT_MISSING page 1 of crawl_A: the archive holds no such snapshot"
    assert any("and 280 more" in line for line in told)
    assert "missing    nothing led to page 301 of crawl_A and 699 pages more this time" in told
    assert told[-1] == "kept       /room/runs/crawl_B"
