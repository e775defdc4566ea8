"""The end of a connection without ceremony."""

from __future__ import annotations

import asyncio

__all__ = ["abort_transport"]


def abort_transport(transport: asyncio.WriteTransport) -> None:
    """Drop the connection now; one that has nothing left to drop is left alone.

    Why: a TLS transport of early CPython 3.11 that was closed twice, by us and by its peer's going, forgets
    its protocol, and aborting it then raises.
    """
    if getattr(transport, "_ssl_protocol", transport) is not None:
        transport.abort()
