"""Ready-made routes: redirects of every kind, encodings, echoes, floods and nonsense."""

from __future__ import annotations

import itertools
import json

from mudroom.testing.encodings import encode, make_bomb
from mudroom.testing.routes import Drop, Framing, Reset, Route, Stall
from mudroom.testing.seen import SeenRequest

__all__ = [
    "bomb",
    "dropping",
    "echo",
    "encoded",
    "garbage",
    "header_flood",
    "informational_flood",
    "redirect",
    "redirect_chain",
    "stalling",
    "switching_protocols",
    "text",
]

_PLAIN = "text/plain; charset=utf-8"


def text(path: str, body: str, *, host: str | None = None) -> Route:
    """Plain text at a path."""
    return Route(path=path, host=host, content_type=_PLAIN, body=body)


def redirect(
    path: str,
    location: str | None,
    *,
    status: int = 302,
    host: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Route:
    """A redirect to a location, written into the header as it stands; None sends no Location at all."""
    where = () if location is None else (("Location", location),)
    return Route(path=path, host=host, status=status, headers=where + headers, body="Moved.\n")


def redirect_chain(path: str, hops: int, *, status: int = 302, end: str = "arrived") -> tuple[Route, ...]:
    """`hops` redirects from `path` over `path/1`, `path/2` … to a page."""
    names = [path, *(f"{path.rstrip('/')}/{n}" for n in range(1, hops + 1))]
    moves = [redirect(here, there, status=status) for here, there in itertools.pairwise(names)]
    return (*moves, text(names[-1], end))


def encoded(path: str, body: bytes | str, *encodings: str, content_type: str = _PLAIN) -> Route:
    """A body with content encodings applied in order and declared."""
    raw = body.encode() if isinstance(body, str) else body
    declared = ", ".join("deflate" if name == "raw-deflate" else name for name in encodings)
    return Route(
        path=path,
        content_type=content_type,
        headers=(("Content-Encoding", declared),),
        body=encode(raw, *encodings),
    )


def bomb(path: str, *, encoding: str = "gzip", decoded_bytes: int = 256 << 20) -> Route:
    """A small body that unpacks to very much; built on the first request, not on declaring it."""

    def explode(_: SeenRequest) -> Route:
        return Route(
            path=path, headers=(("Content-Encoding", encoding),), body=make_bomb(encoding, decoded_bytes)
        )

    return Route(path=path, answer=explode)


def echo(path: str) -> Route:
    """The request itself as JSON: method, target, headers in order, body as Latin-1 text."""

    def answer(request: SeenRequest) -> Route:
        seen = {
            "method": request.method,
            "target": request.target,
            "headers": request.headers,
            "body": request.body.decode("latin-1"),
            "connection": request.connection,
        }
        return Route(path=path, content_type="application/json", body=json.dumps(seen))

    return Route(path=path, answer=answer)


def stalling(path: str, sent: bytes = b"", *, promised_bytes: int = 100_000) -> Route:
    """A body that stops after `sent` bytes while the connection stays open."""
    return Route(path=path, body=(sent, Stall()), content_length=promised_bytes)


def dropping(
    path: str,
    sent: bytes = b"",
    *,
    promised_bytes: int = 100_000,
    framing: Framing = Framing.LENGTH,
    is_reset: bool = False,
) -> Route:
    """A body that ends before its promised end: the connection is closed, or reset."""
    ending = Reset() if is_reset else Drop()
    length = promised_bytes if framing is Framing.LENGTH else None
    return Route(path=path, body=(sent, ending), content_length=length, framing=framing)


def informational_flood(path: str, count: int, *, body: str = "at last") -> Route:
    """`count` answers 103 before the real one."""
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    return Route(path=path, interim=hint * count, content_type=_PLAIN, body=body)


def header_flood(path: str, total_bytes: int, *, line_bytes: int = 1000) -> Route:
    """Header lines of `total_bytes` together."""
    count, value = total_bytes // line_bytes, "x" * (line_bytes - 20)
    return Route(path=path, headers=tuple((f"X-Flood-{n:06d}", value) for n in range(count)), body="flooded")


def switching_protocols(path: str) -> Route:
    """An answer 101 that nobody asked for, and bytes of another protocol behind it."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    return Route(path=path, raw=(head, b"\x81\x05hello", Stall()))


def garbage(path: str, answer: bytes = b"<h1>HTTP/0.9 has no headers</h1>\n") -> Route:
    """Bytes that are no HTTP/1.1 answer, then the end of the connection."""
    return Route(path=path, raw=(answer,))
