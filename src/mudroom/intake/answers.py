"""What an HTTP answer means for the way in: read on, or end here with a code."""

from __future__ import annotations

from mudroom.errors import Code
from mudroom.fetch import Fetched

__all__ = ["NOT_MODIFIED", "judge_answer", "may_be_read", "may_retry_status"]

_FIRST_ERROR_STATUS = 400
NOT_MODIFIED = 304
_UNREADABLE_STATUSES = frozenset({206, 304})
"""A part of a page, and none of it: whoever asked for these, neither is the page."""
_WALL_STATUSES = frozenset({403, 405, 429, 503})
_WALL_HEADERS = (("cf-mitigated", "challenge"), ("x-amzn-waf-action", ""), ("x-datadome", ""))
"""Headers by which challenge pages name themselves: name, and how its value begins."""
_WALL_MARKS = (
    b"/cdn-cgi/challenge-platform/",
    b"_Incapsula_Resource",
    b"px-captcha",
    b"captcha-delivery.com",
)
"""Scripts of challenge pages; looked for in the first bytes of an error page only."""
_WALL_WINDOW_BYTES = 32 * 1024
_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})

_STREAMS = ("audio/", "video/", "multipart/x-mixed-replace", "text/event-stream")
"""What is never a document and need never end; other types are told by their bytes, in the jail."""


def may_be_read(untrusted_essence: str) -> bool:
    """Whether an answer of this declared type is worth its body; asked at the headers."""
    return not untrusted_essence.startswith(_STREAMS)


def judge_answer(fetched: Fetched) -> Code | None:
    """The code that ends the way in, or None to read on.

    A challenge page is told from other errors, since trying again or another header cannot help there.
    """
    if fetched.status in _UNREADABLE_STATUSES:
        return Code.HTTP_STATUS
    if fetched.status < _FIRST_ERROR_STATUS:
        return None
    return Code.BOT_WALL if _is_bot_wall(fetched) else Code.HTTP_STATUS


def may_retry_status(status: int) -> bool:
    """Whether the same request can succeed later. Source: RFC 9110 section 15; RFC 6585."""
    return status in _RETRYABLE_STATUSES


def _is_bot_wall(fetched: Fetched) -> bool:
    if fetched.status not in _WALL_STATUSES:
        return False
    for untrusted_name, untrusted_value in fetched.headers:
        for name, start in _WALL_HEADERS:
            if untrusted_name.lower() == name and untrusted_value.lower().startswith(start):
                return True
    window = fetched.decoded[:_WALL_WINDOW_BYTES]
    return any(mark in window for mark in _WALL_MARKS)
