"""The one place where libcurl is loaded; what it must not read of the environment is taken out before.

SSLKEYLOGFILE names a file into which TLS libraries write what decrypts every connection. libcurl looks for
it when it is first used, and has no option that turns it off; so the variable is removed from this process and
so from all that it starts, and again with each transport, since a program may have set it meanwhile.
"""

from __future__ import annotations

import os

_KEY_LOG = "SSLKEYLOGFILE"
HAD_KEY_LOG = bool(os.environ.pop(_KEY_LOG, ""))
"""Whether the environment asked for the secrets of TLS sessions to be written down."""

import pycurl  # noqa: E402 - after the variable is gone

__all__ = ["HAD_KEY_LOG", "drop_key_log", "pycurl"]


def drop_key_log() -> None:
    """Have no secrets of TLS sessions written down."""
    os.environ.pop(_KEY_LOG, None)
