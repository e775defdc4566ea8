"""One key for the addresses of one page, so that a crawl visits it once.

`address.canonical_key` merges what RFC 3986 calls equivalent. A crawl merges four more kinds of twins, which
a server could tell apart and none does: `www.` before the host, a slash behind the path, the names under
which sessions and campaigns travel in a URL. What is asked for is the address that was found first, as it
was written; escapes of reserved characters are kept (`%2F` is no slash), and the query keeps its order.
"""

from __future__ import annotations

import re

from mudroom.address import ParsedUrl, canonical_key

__all__ = ["page_key"]

_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;?]*", re.IGNORECASE)
_SESSION_NAMES = frozenset(
    {"phpsessid", "jsessionid", "aspsessionid", "cfid", "cftoken", "gclid", "fbclid", "msclkid", "dclid"}
)
"""Names that mean a session or a campaign wherever they stand."""
_AMBIGUOUS_NAMES = frozenset({"sid", "sessid", "session", "sessionid", "session_id", "s_id"})
"""Names that sites also use for things of their own: a session only with a value that nobody counts up."""
_PREFIXES = ("utm_", "aspsessionid", "mc_")
_TOKEN = re.compile(r"(?=[^&]*[0-9])(?=[^&]*[A-Za-z])[A-Za-z0-9_.,-]{16,}|[0-9]{20,}")


def page_key(url: ParsedUrl) -> str:
    """The key under which a crawl knows a URL; two URLs with one key are one page to it.

    Shapes: no fragment, no `www.`, no slash behind a path, no session; a URL again, and its own key.
    """
    key = canonical_key(url)
    origin = url.origin
    rest = key[len(origin) :]
    path, mark, query = rest.partition("?")
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if path[-1:] == "/" and len(path) > 1:
        path = path.rstrip("/") or "/"
    if query:
        kept = [part for part in query.split("&") if not _is_session(part)]
        query = "&".join(kept)
        mark = "?" if kept else ""
    if url.host.startswith("www.") and "." in url.host[4:]:
        origin = origin.replace("://www.", "://", 1)
    return f"{origin}{path}{mark}{query}"


def _is_session(part: str) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    if name in _SESSION_NAMES or name.startswith(_PREFIXES):
        return True
    return name in _AMBIGUOUS_NAMES and _TOKEN.fullmatch(value) is not None
