"""The arguments of a call, as an agent gave them, judged by hand: few, and none coerced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mudroom.errors import InvalidConfig
from mudroom.mcp.schemas import (
    DEFAULT_MAX_CHARS,
    INPUT_SCHEMA,
    MAX_CURSOR_CHARS,
    MAX_MAX_CHARS,
    MAX_URL_CHARS,
    MIN_MAX_CHARS,
)

__all__ = ["OpenArguments", "read_open_arguments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenArguments:
    """The arguments of web_open."""

    untrusted_url: str
    max_chars: int
    untrusted_cursor: str | None


def read_open_arguments(untrusted: Mapping[str, Any]) -> OpenArguments:
    """The arguments, when they are those of the input schema.

    Raises: InvalidConfig with every fault, by name only: an agent's words are not repeated to it.
    """
    faults = [
        f"{name}: not an argument of web_open"
        for name in sorted(untrusted)
        if name not in INPUT_SCHEMA["properties"]
    ]
    url = untrusted.get("url")
    if not isinstance(url, str) or not 0 < len(url) <= MAX_URL_CHARS:
        faults.append(f"url: expected a string of 1 to {MAX_URL_CHARS} characters")
    if untrusted.get("view", "page") != "page":
        faults.append("view: expected page")
    max_chars = untrusted.get("max_chars", DEFAULT_MAX_CHARS)
    is_number = isinstance(max_chars, int) and not isinstance(max_chars, bool)
    if not is_number or not MIN_MAX_CHARS <= max_chars <= MAX_MAX_CHARS:
        faults.append(f"max_chars: expected a whole number from {MIN_MAX_CHARS} to {MAX_MAX_CHARS}")
    cursor = untrusted.get("cursor")
    if cursor is not None and not (isinstance(cursor, str) and 0 < len(cursor) <= MAX_CURSOR_CHARS):
        faults.append("cursor: expected next_cursor of an earlier answer")
    if faults or not isinstance(url, str):
        raise InvalidConfig(tuple(faults))
    return OpenArguments(untrusted_url=url, max_chars=max_chars, untrusted_cursor=cursor)
