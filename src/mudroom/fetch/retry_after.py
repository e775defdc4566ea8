"""How long a server asks to be left alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["find_retry_after"]

_MAX_CHARS = 64
_MAX_DIGITS = 9


def find_retry_after(headers: Iterable[tuple[str, str]], now: datetime) -> float | None:
    """The seconds that the first Retry-After names, never negative; None when there is none to read.

    The caller sets the bound: a server may ask for a century.
    Source: RFC 9110 section 10.2.3.
    """
    for name, untrusted_value in headers:
        if name.lower() == "retry-after":
            return _read_value(untrusted_value.strip(), now)
    return None


def _read_value(untrusted_value: str, now: datetime) -> float | None:
    if len(untrusted_value) > _MAX_CHARS or not untrusted_value.isascii():
        return None
    if untrusted_value.isdigit():
        return float(untrusted_value) if len(untrusted_value) <= _MAX_DIGITS else float(10**_MAX_DIGITS)
    try:
        moment = parsedate_to_datetime(untrusted_value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
