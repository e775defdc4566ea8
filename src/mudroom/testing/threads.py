"""A site served from a thread of its own, for callers that block: command lines, subprocesses."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer

__all__ = ["serve_in_thread"]


@contextmanager
def serve_in_thread(
    *routes: Route, tls: ssl.SSLContext | None = None, ipv6: bool = False
) -> Iterator[SiteServer]:
    """A running site whose counters may be read from any thread.

    Routes with gates need a loop of the caller's: use `SiteServer` itself for them.
    """
    started: Future[tuple[SiteServer, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stopped = asyncio.Event()
        try:
            async with SiteServer(*routes, tls=tls, ipv6=ipv6) as site:
                started.set_result((site, asyncio.get_running_loop(), stopped))
                await stopped.wait()
        except OSError as error:
            started.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="site")
    thread.start()
    try:
        site, loop, stopped = started.result()
        try:
            yield site
        finally:
            loop.call_soon_threadsafe(stopped.set)
    finally:
        thread.join()
