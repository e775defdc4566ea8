"""What a Set-Cookie header says, read as browsers read it.

Source: RFC 6265bis (draft-ietf-httpbis-rfc6265bis-20) sections 5.1.1 (dates), 5.1.4 (paths) and 5.6 (the header).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["SetCookie", "default_path", "parse_cookie_date", "parse_set_cookie"]

_MAX_PAIR_CHARS = 4096
_MAX_ATTRIBUTE_CHARS = 1024
_MAX_LIFE_SECONDS = 400 * 86_400
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_AGE = re.compile(r"-?[0-9]{1,4000}")
_BLANK = " \t"

_DELIMITERS = re.compile(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[^0-9].*)?", re.DOTALL)
_DAY = re.compile(r"([0-9]{1,2})(?:[^0-9].*)?", re.DOTALL)
_YEAR = re.compile(r"([0-9]{2,4})(?:[^0-9].*)?", re.DOTALL)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1601
_CENTURY_FROM = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCookie:
    """One header, unjudged. Shapes: `name` may be empty; `domain` is lower case without a leading dot."""

    name: str
    value: str
    domain: str
    """Empty: the host alone."""
    path: str
    """Empty: the default of the URL."""
    expires_at: float | None
    """Unix time; in the past for a cookie that is taken back; None for one that ends with the session."""
    is_secure: bool
    is_http_only: bool


def parse_set_cookie(untrusted_value: str, now: float) -> SetCookie | None:
    """One Set-Cookie header, or None where a browser would pass it over. `now` is Unix time."""
    if _CONTROL.search(untrusted_value):
        return None
    pair, _, rest = untrusted_value.partition(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", pair
    name, value = name.strip(_BLANK), value.strip(_BLANK)
    if not (name or value) or len(name) + len(value) > _MAX_PAIR_CHARS:
        return None
    attributes = _read_attributes(rest)
    domain = attributes.get("domain", "").removeprefix(".").lower()
    path = attributes.get("path", "")
    return SetCookie(
        name=name,
        value=value,
        domain=domain,
        path=path if path.startswith("/") else "",
        expires_at=_read_expiry(attributes, now),
        is_secure="secure" in attributes,
        is_http_only="httponly" in attributes,
    )


def _read_attributes(text: str) -> dict[str, str]:
    """Name (lower case) to value; of one that comes twice the last counts, as long as it can be read."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, _, value = part.partition("=")
        name, value = name.strip(_BLANK).lower(), value.strip(_BLANK)
        if len(value) > _MAX_ATTRIBUTE_CHARS:
            continue
        if name == "max-age" and not _AGE.fullmatch(value):
            continue
        if name == "expires" and parse_cookie_date(value) is None:
            continue
        found[name] = value
    return found


def _read_expiry(attributes: dict[str, str], now: float) -> float | None:
    """When the cookie ends; an age counts before a date, and neither more than 400 days."""
    if "max-age" in attributes:
        age = min(int(attributes["max-age"]), _MAX_LIFE_SECONDS)
        return now + age if age > 0 else 0.0
    if "expires" in attributes and (date := parse_cookie_date(attributes["expires"])) is not None:
        return min(date, now + _MAX_LIFE_SECONDS)
    return None


def parse_cookie_date(text: str) -> float | None:
    """The Unix time of a date in any of the forms that servers write, or None."""
    time: re.Match[str] | None = None
    day = month = year = None
    for token in filter(None, _DELIMITERS.split(text)):
        if time is None and (time := _TIME.fullmatch(token)):
            continue
        if day is None and (match := _DAY.fullmatch(token)):
            day = int(match[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (match := _YEAR.fullmatch(token)):
            year = _widen_year(int(match[1]))
    if time is None or day is None or month is None or year is None or year < _FIRST_YEAR:
        return None
    try:
        moment = datetime(year, month, day, int(time[1]), int(time[2]), int(time[3]), tzinfo=UTC)
    except ValueError:  # the form of a date with the numbers of none
        return None
    return moment.timestamp()


def _widen_year(year: int) -> int:
    if year >= 100:  # noqa: PLR2004 - no short form
        return year
    return year + 1900 if year >= _CENTURY_FROM else year + 2000


def default_path(request_path: str) -> str:
    """The path of a cookie that names none: the folder of the URL that set it."""
    folder = request_path.rpartition("/")[0]
    return folder if folder.startswith("/") else "/"
