"""An index of a WARC file, one line a record, in the order of its keys: CDXJ.

The key is the URL turned round, as the replayers look for it: host labels reversed, `www.` dropped, path and
query in lower case, the query's parts sorted.
Source: WACZ 1.1.1 section 5.2.2; the URL canonicalisation of pywb and cdxj-indexer (the package surt).
"""

from __future__ import annotations

import json
import re

from mudroom.address import ParsedUrl, parse_url

__all__ = ["format_cdxj_line", "sort_key_of"]

_WWW = re.compile(r"www\d*\.")


def sort_key_of(url: str) -> str:
    """The key of a URL; of what is none that a browser could open, the text itself."""
    parsed = parse_url(url)
    if parsed is None:
        return re.sub(r"\s", "%20", url)
    return f"{_turn_host(parsed)}){_sort_target(parsed.request_target)}"


def _turn_host(url: ParsedUrl) -> str:
    usual = {"http": 80, "https": 443}[url.scheme]
    port = "" if url.port == usual else f":{url.port}"
    if ":" in url.host:
        return f"[{url.host}]{port}"
    host = _WWW.sub("", url.host, count=1) if _WWW.match(url.host) else url.host
    return ",".join(reversed(host.split("."))) + port


def _sort_target(target: str) -> str:
    path, mark, query = target.lower().partition("?")
    path = path.rstrip("/") or "/"
    return f"{path}?{'&'.join(sorted(query.split('&')))}" if mark and query else path


def format_cdxj_line(
    *,
    url: str,
    timestamp: str,
    status: int | None,
    media_type: str,
    sha256: str,
    length: int,
    offset: int,
    file_name: str,
) -> str:
    """One line with its end.

    Shapes: `timestamp` is 14 digits of UTC; `length` and `offset` are those of the record's gzip member.
    """
    fields = {
        "url": url,
        "mime": media_type.partition(";")[0].strip() or "unk",
        **({} if status is None else {"status": str(status)}),
        "digest": f"sha256:{sha256}",
        "length": str(length),
        "offset": str(offset),
        "filename": file_name,
    }
    return f"{sort_key_of(url)} {timestamp} {json.dumps(fields, ensure_ascii=True)}\n"
