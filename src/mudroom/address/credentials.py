"""URLs without the user and password that somebody wrote into them, for records and messages."""

from __future__ import annotations

import re

__all__ = ["strip_credentials"]

_USERINFO = re.compile(r"([^/?#\\@:]*:)?([\s/\\]*)[^/?#\\]*@", re.DOTALL)
_DROPPED = re.compile(r"[\t\r\n]")
_WITHOUT_SLASHES = frozenset({"http:", "https:", "ftp:", "ws:", "wss:"})
"""Behind these schemes an authority stands even where the slashes were left out."""


def strip_credentials(untrusted_url: str) -> str:
    """The URL as written, but for what stands between scheme and the last `@` of its authority.

    A URL that a browser would not read is treated alike, as far as it can be; one without userinfo comes
    back as it is. Source: WHATWG URL, authority state.
    """
    if "@" not in untrusted_url:
        return untrusted_url
    cleaned = _DROPPED.sub("", untrusted_url)
    match = _USERINFO.match(cleaned)
    if match is None:
        return untrusted_url
    scheme, slashes = match[1] or "", match[2]
    if not slashes and scheme.strip().lower() not in _WITHOUT_SLASHES:
        return untrusted_url
    return f"{scheme}{slashes}{cleaned[match.end() :]}"
