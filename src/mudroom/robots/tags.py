"""What a page says to robots about its own links: `<meta name=robots>` and the header X-Robots-Tag."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["AGENT_TOKEN", "forbids_following", "is_robots_name"]

AGENT_TOKEN = "mudroom"  # noqa: S105 - the product token of RFC 9309, no secret

_NOFOLLOW = frozenset({"nofollow", "none"})
_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MAX_CHARS = 4096


def is_robots_name(untrusted_name: str, agent_token: str) -> bool:
    """Whether a meta element of this name speaks to all robots, or to us."""
    return untrusted_name.strip().lower() in {"robots", agent_token.lower()}


def forbids_following(untrusted_values: Iterable[str], agent_token: str) -> bool:
    """Whether one of these values asks robots, or us, not to follow the page's links.

    Shapes: each value is one header field, or one element's content: directives separated by commas; a name and
        a colon before one hold for what follows in that value. Nothing but the names of directives is looked at.
    Source: developers.google.com/search/docs/crawling-indexing/robots-meta-tag.
    """
    return any(_forbids(value[:_MAX_CHARS].lower(), agent_token.lower()) for value in untrusted_values)


def _forbids(value: str, agent_token: str) -> bool:
    is_for_us = True
    for part in value.split(","):
        name, colon, rest = part.partition(":")
        directive = part
        if colon and name.strip() not in _WITH_VALUES:
            is_for_us, directive = name.strip() in {agent_token, "*", "robots"}, rest
        if is_for_us and directive.strip() in _NOFOLLOW:
            return True
    return False
