"""What a run found in the archive before it asked a site: only that it could not be read is told again."""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from mudroom.address import ParsedUrl
from mudroom.errors import Code, StoreFailed
from mudroom.fetch import Fetched
from mudroom.intake import Prior
from mudroom.model import WarningCode
from mudroom.replay.record import RunRecord

__all__ = ["RecordedPriors"]


class RecordedPriors:
    """A `Priors` of one run: what a site said of its pages stands in their records already."""

    def __init__(self, run: RunRecord) -> None:
        self._run = run

    async def find(self, requested_url: str, url: ParsedUrl) -> Prior | None:
        """None. Raises: StoreFailed where the run could not read what it found."""
        del requested_url
        page = await self._run.find_page(url.normalized)
        if page is not None and WarningCode.PRIOR_UNREADABLE in page.metadata.get("warnings", ()):
            raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the run could not read the earlier record of this page")
        return None

    def recall(self, prior: Prior, answer: Fetched, now: datetime) -> NoReturn:
        """Never asked for: nothing is found."""
        del prior, answer, now
        raise StoreFailed(Code.SNAPSHOT_MISSING, "a replay serves no earlier snapshot of its own choice")
