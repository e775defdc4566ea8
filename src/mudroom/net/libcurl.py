"""The one place where libcurl is loaded; what it must not read of the environment is taken out before.

SSLKEYLOGFILE names a file into which TLS libraries write what decrypts every connection. libcurl looks for
it when it is first used, and has no option that turns it off; so the variable is removed from this process and
so from all that it starts, and again with each transport, since a program may have set it meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_KEY_LOG = "SSLKEYLOGFILE"
HAD_KEY_LOG = bool(os.environ.pop(_KEY_LOG, ""))
"""Whether the environment asked for the secrets of TLS sessions to be written down."""

import pycurl  # noqa: E402 - after the variable is gone

__all__ = ["HAD_KEY_LOG", "METERED_SINCE", "LibraryFacts", "describe_library", "drop_key_log", "pycurl"]

METERED_SINCE = (8, 20)
"""The first libcurl whose HTTP/2 windows can be held small; with older ones HTTP/2 is not tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFacts:
    """What speaks HTTP and TLS for us."""

    name: str
    """libcurl and its TLS library, with their versions."""
    has_http2: bool
    """Whether it was built with HTTP/2."""
    is_metered: bool
    """Whether it is new enough for HTTP/2 to be tried."""


def describe_library(info: Sequence[Any] | None = None) -> LibraryFacts:
    """The libcurl that is loaded, or the one that a `pycurl.version_info()` is of."""
    info = pycurl.version_info() if info is None else info
    return LibraryFacts(
        name=f"libcurl {info[1]}, {info[5]}",
        has_http2=bool(info[4] & pycurl.VERSION_HTTP2),
        is_metered=(info[2] >> 16, info[2] >> 8 & 0xFF) >= METERED_SINCE,
    )


def drop_key_log() -> None:
    """Have no secrets of TLS sessions written down."""
    os.environ.pop(_KEY_LOG, None)
