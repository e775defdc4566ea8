"""The rules of a redirect (decision 3): what is followed, with which method and which headers.

Source: RFC 9110 section 15.4; Fetch standard, HTTP-redirect fetch.
"""

from __future__ import annotations

from mudroom.address import ParsedUrl, is_same_host, is_same_origin, is_same_site
from mudroom.errors import Code, EgressRefused
from mudroom.fetch.request import RedirectScope
from mudroom.net import Headers

__all__ = ["check_step", "find_location", "is_redirect", "keep_headers", "next_method"]

_STATUSES = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER = 303
_TO_GET = frozenset({301, 302})
_CROSS_ORIGIN = frozenset({"accept", "accept-language", "user-agent"})
_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})
"""What is asked of one address only: at another, "not modified" would speak of something else."""
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})


def is_redirect(status: int) -> bool:
    """Whether an answer is followed; every other status, 300 and 304 included, is a result."""
    return status in _STATUSES


def find_location(headers: Headers, host: str) -> str:
    """The target as the peer wrote it; bytes beyond ASCII are read as UTF-8 where they are.

    Raises: EgressRefused REDIRECT_INVALID when there is none, or two that differ.
    """
    values = {value for name, value in headers if name.lower() == "location" and value}
    if len(values) != 1:
        what = "more than one target" if values else "no target"
        raise EgressRefused(Code.REDIRECT_INVALID, f"{host} sent a redirect with {what}")
    value = values.pop()
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def next_method(status: int, method: str) -> str:
    """The method after a redirect: 303 asks with GET, 301 and 302 with GET unless it was HEAD."""
    if status == _SEE_OTHER or (status in _TO_GET and method != "HEAD"):
        return "GET"
    return method


def keep_headers(headers: Headers, here: ParsedUrl, there: ParsedUrl, *, keeps_body: bool) -> Headers:
    """The caller's headers that go on to the next hop; what was dropped once stays dropped."""
    is_inside = is_same_origin(here, there)
    return tuple(
        (name, value)
        for name, value in headers
        if (is_inside or name.lower() in _CROSS_ORIGIN)
        and (keeps_body or name.lower() not in _OF_BODY)
        and name.lower() not in _CONDITIONS
    )


def check_step(first: ParsedUrl, here: ParsedUrl, there: ParsedUrl, scope: RedirectScope) -> None:
    """Nothing, when a chain that began at `first` may go from `here` to `there`.

    Raises: EgressRefused REDIRECT_DOWNGRADE, REDIRECT_CROSS_HOST.
    """
    if here.scheme == "https" and there.scheme == "http":
        raise EgressRefused(
            Code.REDIRECT_DOWNGRADE, f"{here.host} redirects from https to http at {there.host}"
        )
    if scope is RedirectScope.SAME_HOST and not is_same_host(first, there):
        raise EgressRefused(Code.REDIRECT_CROSS_HOST, f"{here.host} redirects to another host, {there.host}")
    if scope is RedirectScope.SAME_SITE and not is_same_site(first, there):
        raise EgressRefused(Code.REDIRECT_CROSS_HOST, f"{here.host} redirects to another site, {there.host}")
