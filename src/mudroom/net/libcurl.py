"""The one place where libcurl is loaded; what it must not read of the environment is taken out before.

SSLKEYLOGFILE names a file into which TLS libraries write what decrypts every connection. libcurl looks for
it once, when it is first used, and has no option that turns it off; so the variable is removed from this
process and so from all that it starts.
"""

from __future__ import annotations

import os

HAD_KEY_LOG = bool(os.environ.pop("SSLKEYLOGFILE", ""))
"""Whether the environment asked for the secrets of TLS sessions to be written down."""

import pycurl  # noqa: E402 - after the variable is gone

__all__ = ["HAD_KEY_LOG", "pycurl"]
