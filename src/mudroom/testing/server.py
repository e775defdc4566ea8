"""An HTTP site inside the test's own process, which can misbehave in every way a real one does.

It speaks HTTP/1.1 by itself, because a server library would refuse to send most of what has to be
survived; HTTP/2 it speaks through h2, where the TLS context offers it. It listens on loopback only, on ports the system chooses.

    async with SiteServer(Route(path="/", body="<h1>Hello</h1>")) as site:
        ...                                  # site.url("/"), site.hits, site.requests
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakKeyDictionary

from mudroom.testing.connection import Connection
from mudroom.testing.routes import Route
from mudroom.testing.seen import SeenRequest

__all__ = ["SiteServer"]

_PORT_TRIES = 20
_TLS_GOODBYE_SECONDS = 1.0
_NOT_FOUND = Route(path="", status=404, content_type="text/plain; charset=utf-8", body="Nothing here.\n")


class _Speaker(Protocol):
    """A connection of either protocol."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        number: int,
        server_name: str | None,
        choose: Callable[[SeenRequest], Route],
    ) -> None: ...

    async def serve(self) -> None: ...

    def abort(self) -> None: ...


class SiteServer:
    """A running site: routes in, requests and counters out.

    With `tls` (see `Authority.server_context`) a second, encrypted listener serves the same routes; with
    `ipv6` the same ports are open on ::1 too; `addresses` are those of 127.0.0.0/8 that are listened on, each
    a host of its own.
    """

    def __init__(
        self,
        *routes: Route,
        tls: ssl.SSLContext | None = None,
        ipv6: bool = False,
        addresses: tuple[str, ...] = ("127.0.0.1",),
    ) -> None:
        self._routes: dict[tuple[str | None, str], list[Route]] = {}
        self._tls = tls
        self._addresses = (*addresses, "::1") if ipv6 else addresses
        self._listeners: list[asyncio.Server] = []
        self._connections: dict[_Speaker, asyncio.Task[None]] = {}
        self._server_names: WeakKeyDictionary[ssl.SSLObject, str] = WeakKeyDictionary()
        self._changed = asyncio.Event()
        self.port = 0
        self.tls_port = 0
        self.requests: list[SeenRequest] = []
        self.hits: Counter[tuple[str, str]] = Counter()
        """How often each (host, path) was asked; host without port."""
        self.total_connections = 0
        self.add(*routes)

    def add(self, *routes: Route) -> None:
        """Add routes, also while the server runs; a later route wins over an earlier one of its key."""
        for route in routes:
            self._routes.setdefault((route.host, route.path), []).insert(0, route)

    @property
    def origin(self) -> str:
        """The plain origin, for example http://127.0.0.1:43210."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_origin(self) -> str:
        """The encrypted origin."""
        return f"https://127.0.0.1:{self.tls_port}"

    def url(self, path: str = "/") -> str:
        """The plain URL of a path."""
        return self.origin + path

    def tls_url(self, path: str = "/") -> str:
        """The encrypted URL of a path."""
        return self.tls_origin + path

    def hit_count(self, path: str, host: str | None = None) -> int:
        """How often a path was asked, of one host or of all."""
        return sum(n for (on, of), n in self.hits.items() if of == path and host in {None, on})

    @property
    def open_connections(self) -> int:
        """How many connections are open now, as far as this side has noticed."""
        return len(self._connections)

    async def wait_for_close(self, remaining: int = 0) -> None:
        """Return when at most `remaining` connections are open."""
        while self.open_connections > remaining:
            await self._wait_for_change()

    async def wait_for_requests(self, count: int, path: str | None = None) -> None:
        """Return when `count` requests (of one path, or of all) have come in."""
        while sum(path in {None, request.path} for request in self.requests) < count:
            await self._wait_for_change()

    async def __aenter__(self) -> Self:
        """Open the listeners."""
        self.port = await self._listen(None)
        if self._tls is not None:
            self._tls.set_servername_callback(self._note_server_name)
            self.tls_port = await self._listen(self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the listeners and tear down every connection."""
        for listener in self._listeners:
            listener.close()
        tasks = list(self._connections.values())
        for connection in list(self._connections):
            connection.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in self._listeners:
            await listener.wait_closed()

    async def _listen(self, tls: ssl.SSLContext | None) -> int:
        for _ in range(_PORT_TRIES):
            sockets = _bind_same_port(self._addresses)
            if sockets is not None:
                break
        else:
            raise OSError(errno.EADDRINUSE, "no port is free on all loopback addresses")
        goodbye_seconds = None if tls is None else _TLS_GOODBYE_SECONDS
        for sock in sockets:
            listener = await asyncio.start_server(
                self._accept, sock=sock, ssl=tls, ssl_shutdown_timeout=goodbye_seconds
            )
            self._listeners.append(listener)
        return int(sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.total_connections += 1
        tls = writer.get_extra_info("ssl_object")
        connection = _speaker(tls)(
            reader,
            writer,
            number=self.total_connections,
            server_name=None if tls is None else self._server_names.get(tls),
            choose=self._choose,
        )
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection is served in a task")
        self._connections[connection] = task
        self._tell_change()
        try:
            await connection.serve()
        except asyncio.CancelledError:
            connection.abort()  # the server is closing; the task ends here and in good order
        finally:
            del self._connections[connection]
            self._tell_change()

    def _note_server_name(self, tls: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: object) -> None:
        if name is not None and isinstance(tls, ssl.SSLObject):
            self._server_names[tls] = name

    def _choose(self, request: SeenRequest) -> Route:
        self.requests.append(request)
        self.hits[request.host, request.path] += 1
        self._tell_change()
        route = self._find(request)
        if route is None:
            return _NOT_FOUND
        route = route.nth(self.hits[request.host, request.path])
        if route.answer is not None:
            route = route.answer(request)
        if route.etag is not None and request.header("if-none-match") == route.etag:
            return dataclasses.replace(route, status=304, body=b"", content_length=None)
        return route

    def _find(self, request: SeenRequest) -> Route | None:
        for host in (request.host, None):
            for path in (request.target, request.path):
                for route in self._routes.get((host, path), ()):
                    if route.method in {None, request.method}:
                        return route
            if found := self._find_by_prefix(request, host):
                return found
        return None

    def _find_by_prefix(self, request: SeenRequest, host: str | None) -> Route | None:
        candidates = [
            routes[0]
            for (on, path), routes in self._routes.items()
            if on == host and path.endswith("*") and request.path.startswith(path[:-1])
        ]
        return max(candidates, key=lambda route: len(route.path), default=None)

    def _tell_change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait_for_change(self) -> None:
        await self._changed.wait()


def _speaker(tls: ssl.SSLObject | None) -> type[_Speaker]:
    """What speaks the protocol that the handshake chose."""
    if tls is not None and tls.selected_alpn_protocol() == "h2":
        from mudroom.testing.http2 import Http2Connection  # noqa: PLC0415 - few sites need the package h2

        return Http2Connection
    return Connection


def _bind_same_port(addresses: tuple[str, ...]) -> list[socket.socket] | None:
    """One listening socket an address, all on one port the system chose; None when it is taken on one."""
    sockets: list[socket.socket] = []
    port = 0
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sockets.append(sock)
        try:
            sock.bind((address, port))
        except OSError as error:
            for opened in sockets:
                opened.close()
            if error.errno == errno.EADDRINUSE:
                return None
            raise
        port = sock.getsockname()[1]
    return sockets
