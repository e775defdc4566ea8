"""Host names that are never looked up, and names that no host can have.

Source: facts about metadata services of Google, Amazon, Azure and Tencent; RFC 6761 section 6.3
(localhost); RFC 1035 section 2.3.4 (lengths).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from mudroom.address.parse import parse_url

__all__ = ["bracket_host", "is_denied_name", "is_possible_name", "normalise_name", "show_host"]

_DENIED_NAMES = frozenset(
    {
        "localhost",
        "localhost.localdomain",
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
_MAX_NAME_CHARS = 253
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_SHOWN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.:")
_SHOWN_CHARS = 100


def is_denied_name(host: str, deny_hosts: Collection[str]) -> bool:
    """Whether a name is one that we never look up: it, or a parent of it, is on a list."""
    parent = host
    while parent:
        if parent in _DENIED_NAMES or parent in deny_hosts:
            return True
        parent = parent.partition(".")[2]
    return not host


def is_possible_name(host: str) -> bool:
    """Whether the domain name system can hold a name: ASCII labels of 1 to 63, 253 in all.

    Underscores are let through, since names with them do resolve.
    """
    return len(host) <= _MAX_NAME_CHARS and _NAME.fullmatch(host) is not None


def normalise_name(text: str) -> str:
    """A host as `ParsedUrl.host` holds it, from what an operator wrote: `*.Example.com.` too.

    Raises: ValueError when it is no host; the message shows the accepted form.
    """
    bare = text.strip().removeprefix("*.").removeprefix(".")
    bracketed = f"[{bare}]" if ":" in bare and not bare.startswith("[") else bare
    url = parse_url(f"http://{bracketed}/")
    if url is None or not url.host or url.href.replace("./", "/") != f"http://{bracket_host(url.host)}/":
        raise ValueError(f"{text!r} is no host; write a name or an address, such as ads.example.com")
    return url.host


def bracket_host(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def show_host(host: str) -> str:
    """A host for a message: safe on a terminal, never longer than a line."""
    shown = "".join(char if char in _SHOWN else "?" for char in host[: _SHOWN_CHARS + 1])
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
