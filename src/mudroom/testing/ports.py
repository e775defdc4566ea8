"""Ports of loopback at which no HTTP server answers: one that refuses, one that never replies."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

__all__ = ["deaf_port", "refusing_port"]

_BACKLOG_FILLERS = 4


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses every connection and that nobody else can take meanwhile."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))  # bound, but never listening
        yield bound.getsockname()[1]


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port that lets every new connection wait: its queue is full and nobody empties it."""
    with ExitStack() as sockets:
        listener = sockets.enter_context(closing(socket.socket()))
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(_BACKLOG_FILLERS):
            filler = sockets.enter_context(closing(socket.socket()))
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
