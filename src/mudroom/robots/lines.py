"""Lines of a robots.txt: a field and a value, read as leniently as crawlers do.

Why leniently: a site owner who misspelt `Disallow` meant it. Fields are matched at their start and with
the misspellings that Google's parser knows; the colon may be missing.
Source: RFC 9309 section 2.2; github.com/google/robotstxt (ParseRobotsTxt), behaviour only.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique

__all__ = ["MAX_BODY_BYTES", "MAX_LINE_CHARS", "Field", "is_truncated", "read_lines"]

MAX_BODY_BYTES = 512 * 1024
"""RFC 9309 section 2.5 asks for at least 500 KiB."""
MAX_LINE_CHARS = 16_664
"""Eight of the longest URLs that browsers once took; the rest of a longer line is not read."""


@unique
class Field(Enum):
    """What a line says."""

    AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    SITEMAP = "sitemap"
    DELAY = "crawl-delay"


_IGNORED = " \t\f\v\0\ufeff"
"""Around a line; a byte order mark also where files were put together."""
_STARTS: tuple[tuple[str, Field], ...] = (
    *((start, Field.AGENT) for start in ("user-agent", "useragent", "user agent")),
    *(
        (start, Field.DISALLOW)
        for start in ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
    ),
    ("allow", Field.ALLOW),
    *((start, Field.SITEMAP) for start in ("sitemap", "site-map")),
    *((start, Field.DELAY) for start in ("crawl-delay", "crawldelay", "crawl delay")),
)


def is_truncated(untrusted_body: bytes) -> bool:
    """Whether a body is longer than is read."""
    return len(untrusted_body) > MAX_BODY_BYTES


def read_lines(untrusted_body: bytes) -> Iterator[tuple[Field, str]]:
    """The known lines in order, with their values; comments, blanks and unknown fields are left out.

    Shapes: values are stripped and may be empty; bytes that are not UTF-8 come as surrogates. A line
    that the size limit cuts is dropped: half a rule would mean something else. Of a line that is too
    long the start counts for a Disallow, which can only widen it, and nothing for any other.
    """
    kept = untrusted_body[:MAX_BODY_BYTES]
    if is_truncated(untrusted_body):
        kept = kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]
    text = kept.decode("utf-8", "surrogateescape")
    for line in text.replace("\r", "\n").split("\n"):
        parsed = _read_line(line[:MAX_LINE_CHARS])
        if parsed is not None and (len(line) <= MAX_LINE_CHARS or parsed[0] is Field.DISALLOW):
            yield parsed


def _read_line(line: str) -> tuple[Field, str] | None:
    content = line.partition("#")[0].strip(_IGNORED)
    if not content:
        return None
    name, colon, value = content.partition(":")
    if not colon:
        # Without a colon the line counts only when it is two words: a field and its value.
        words = content.split()
        if len(words) != 2:  # noqa: PLR2004 - field and value
            return None
        name, value = words
    folded = name.strip().lower()
    for start, field in _STARTS:
        if folded.startswith(start):
            return field, value.strip()
    return None
