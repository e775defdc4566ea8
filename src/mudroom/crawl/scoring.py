"""What a program's own function says of a link: its score, or that it is left out."""

from __future__ import annotations

import logging
import math

from mudroom.crawl.faults import describe_fault
from mudroom.crawl.policy import LinkContext, ShouldFollow
from mudroom.model import WarningCode

__all__ = ["score_link"]

_log = logging.getLogger(__name__)


def score_link(
    should_follow: ShouldFollow | None, url: str, context: LinkContext, *, is_logged: bool = True
) -> float | WarningCode:
    """The score of a link; or NOT_FOLLOWED where the function says False, FOLLOW_FAILED where it fails.

    Shapes: without `is_logged` a failure is not told in the log; the first of a crawl is enough of it.
    """
    if should_follow is None:
        return 0.0
    try:
        answer: object = should_follow(url, context)
    except Exception as error:  # noqa: BLE001 - whatever somebody's function raises costs its link, and no more
        if is_logged:
            _log.warning("should_follow failed: %s", describe_fault(error))
        return WarningCode.FOLLOW_FAILED
    if answer is False:
        return WarningCode.NOT_FOLLOWED
    try:
        score = float(answer) if isinstance(answer, int | float) else math.nan
    except OverflowError:  # a whole number that no float can be
        return WarningCode.FOLLOW_FAILED
    return score if math.isfinite(score) else WarningCode.FOLLOW_FAILED
