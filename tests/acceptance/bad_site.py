"""A site on which every page is bad in its own way, and one honest page stands between each two of them."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.errors import Code
from mudroom.model import OutcomeKind
from mudroom.testing import answers
from mudroom.testing.encodings import encode, make_bomb
from mudroom.testing.routes import Drop, Endless, Framing, Route, Stall

__all__ = ["BAD_PAGES", "BadPage", "bad_routes", "honest_paths"]

STORED, BLOCKED, FAILED = OutcomeKind.STORED, OutcomeKind.BLOCKED, OutcomeKind.FAILED
_OPENING = b"<!DOCTYPE html><title>Long</title><p>Once upon a time "
_BOMB_BYTES = 96 << 20


@dataclass(frozen=True, slots=True)
class BadPage:
    """A page, and the one end it may have."""

    route: Route
    outcome: OutcomeKind
    code: Code | None = None

    @property
    def path(self) -> str:
        return self.route.path


def _bomb(path: str, *encodings: str) -> Route:
    first, *rest = encodings
    body = encode(make_bomb(first, _BOMB_BYTES), *rest)
    return Route(path=path, headers=(("Content-Encoding", ", ".join(encodings)),), body=body)


def _raw(path: str, head: str, body: bytes = b"") -> Route:
    return Route(path=path, raw=(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body,))


BAD_PAGES: tuple[BadPage, ...] = (
    # Lengths that lie.
    BadPage(Route(path="/shorter-than-said", body=(_OPENING, Drop()), content_length=50_000), FAILED, Code.CONNECTION_LOST),
    BadPage(_raw("/longer-than-said", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 20\nConnection: close", b"<p>The first words. and the rest"), STORED),
    BadPage(_raw("/two-lengths", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5\nContent-Length: 500\nConnection: close", b"<p>hi"), FAILED, Code.PROTOCOL_ERROR),
    BadPage(Route(path="/length-of-a-terabyte", body=(_OPENING, Stall()), content_length=1 << 40), BLOCKED, Code.BODY_TOO_LARGE),
    BadPage(_raw("/length-below-zero", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: -1\nConnection: close", b"<p>hi"), FAILED, Code.PROTOCOL_ERROR),
    BadPage(_raw("/chunk-that-is-no-number", "HTTP/1.1 200 OK\nContent-Type: text/html\nTransfer-Encoding: chunked", b"zz\r\nhello\r\n0\r\n\r\n"), FAILED, Code.PROTOCOL_ERROR),
    BadPage(Route(path="/chunks-that-stop", body=(_OPENING, Drop()), framing=Framing.CHUNKED), FAILED, Code.CONNECTION_LOST),
    BadPage(answers.dropping("/torn-down", _OPENING, is_reset=True), FAILED, Code.CONNECTION_LOST),
    # Bodies and heads without end.
    BadPage(Route(path="/endless", body=(_OPENING, Endless()), framing=Framing.CHUNKED), BLOCKED, Code.BODY_TOO_LARGE),
    BadPage(answers.stalling("/falls-silent", _OPENING), FAILED, Code.IDLE_TIMEOUT),
    BadPage(Route(path="/never-answers", raw=(Stall(),)), FAILED, Code.RESPONSE_TIMEOUT),
    BadPage(answers.header_flood("/flood-of-headers", 2 << 20), FAILED, Code.HEADERS_TOO_LARGE),
    BadPage(answers.garbage("/no-headers-at-all"), FAILED, Code.PROTOCOL_ERROR),
    BadPage(answers.switching_protocols("/another-protocol"), FAILED, Code.PROTOCOL_ERROR),
    # Bombs, and codings that are none.
    *(BadPage(_bomb(f"/bomb-{name}", name), BLOCKED, Code.DECODED_TOO_LARGE) for name in ("gzip", "deflate", "br", "zstd")),
    BadPage(_bomb("/bomb-in-a-bomb", "gzip", "gzip"), BLOCKED, Code.DECODED_TOO_LARGE),
    BadPage(_bomb("/bomb-of-two-kinds", "br", "zstd"), BLOCKED, Code.DECODED_TOO_LARGE),
    BadPage(answers.encoded("/wrapped-four-times", "<p>hi", *["gzip"] * 4, content_type="text/html"), BLOCKED, Code.UNSUPPORTED_ENCODING),
    BadPage(Route(path="/unknown-coding", headers=(("Content-Encoding", "lzma2000"),), body="<p>hi"), BLOCKED, Code.UNSUPPORTED_ENCODING),
    BadPage(Route(path="/says-gzip-is-not", headers=(("Content-Encoding", "gzip"),), body="<p>hi"), BLOCKED, Code.DECODE_FAILED),
    BadPage(Route(path="/half-a-gzip", headers=(("Content-Encoding", "gzip"),), body=encode(_OPENING * 50, "gzip")[:-9]), BLOCKED, Code.DECODE_FAILED),
    # Types that lie, or that there are none of.
    BadPage(Route(path="/picture-that-says-html", body=b"\x89PNG\r\n\x1a\n" + bytes(200)), BLOCKED, Code.UNSUPPORTED_CONTENT_TYPE),
    BadPage(Route(path="/program-that-says-text", content_type="text/plain", body=b"\x7fELF\x02\x01\x01" + bytes(300)), BLOCKED, Code.UNSUPPORTED_CONTENT_TYPE),
    BadPage(Route(path="/sound", content_type="audio/mpeg", body=(b"ID3\x04" + bytes(100), Endless())), BLOCKED, Code.UNSUPPORTED_CONTENT_TYPE),
    BadPage(Route(path="/no-type", content_type=None, body="<!DOCTYPE html><p>A page without a type."), STORED),
    BadPage(Route(path="/nonsense-type", content_type="???;;=,/", body="<!DOCTYPE html><p>A page of no known type."), STORED),
    BadPage(Route(path="/nothing", body=""), STORED),
    BadPage(Route(path="/zeros", body=bytes(100_000)), BLOCKED, Code.UNSUPPORTED_CONTENT_TYPE),
    # Charsets that are broken.
    BadPage(Route(path="/utf-8-that-is-not", body=b"<p>caf\xe9 \xff\xfe \xc0\xaf \xed\xa0\x80 over"), STORED),
    BadPage(Route(path="/charset-nobody-knows", content_type="text/html; charset=klingon-7", body="<p>qapla'"), STORED),
    BadPage(Route(path="/utf-16-cut-in-half", content_type="text/html; charset=utf-16le", body="<p>half".encode("utf-16-le")[:-1]), STORED),
    BadPage(Route(path="/utf-7", content_type="text/html; charset=utf-7", body="+ADw-p+AD4-hello"), STORED),
    # Markup made to break readers.
    BadPage(Route(path="/nested-elements", body=b"<div>" * 100_000 + b"core"), STORED),
    BadPage(Route(path="/nested-lists", body=b"<ul><li>" * 100_000 + b"core"), STORED),
    BadPage(Route(path="/attributes", body=b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">x"), BLOCKED, Code.EXTRACTION_LIMIT),
    BadPage(Route(path="/options", body=b"<select>" + b"<option>o" * 100_000 + b"</select><p>x"), STORED),
    BadPage(Route(path="/nested-brackets", content_type="application/json", body=b"[" * 1_000_000), STORED),
    # Status and redirects.
    BadPage(Route(path="/gone", status=410, body="<p>gone"), FAILED, Code.HTTP_STATUS),
    BadPage(Route(path="/broken", status=500, body="<p>oh"), FAILED, Code.HTTP_STATUS),
    BadPage(answers.redirect("/to-nowhere", None), BLOCKED, Code.REDIRECT_INVALID),
    BadPage(answers.redirect("/to-a-file", "file:///etc/passwd"), BLOCKED, Code.INVALID_SCHEME),
    BadPage(answers.redirect("/to-metadata", "http://169.254.169.254/"), BLOCKED, Code.DENIED_ADDRESS),
    BadPage(answers.redirect("/to-a-number", "http://2130706433/"), BLOCKED, Code.INVALID_HOST),
    BadPage(answers.redirect("/to-somebody", "http://user:word@127.0.0.1/"), BLOCKED, Code.CREDENTIALS),
    BadPage(answers.redirect("/to-another-port", "http://127.0.0.1:1/"), BLOCKED, Code.INVALID_PORT),
    BadPage(answers.redirect("/to-itself", "/to-itself"), BLOCKED, Code.REDIRECT_LOOP),
)  # fmt: skip


def honest_paths() -> list[str]:
    """One honest page behind each bad one."""
    return [f"/honest/{number}" for number in range(len(BAD_PAGES))]


def bad_routes() -> tuple[Route, ...]:
    """The site, its list of contents first."""
    items = (
        f'<li><a href="{bad.path}">{number}</a> <a href="{honest}">and on</a></li>'
        for number, (bad, honest) in enumerate(zip(BAD_PAGES, honest_paths(), strict=True))
    )
    index = Route(path="/", body=f"<title>Contents</title><ul>{''.join(items)}</ul>")
    honest = Route(path="/honest/*", body="<title>Honest</title><p>A page with nothing wrong about it.")
    return (index, honest, *(bad.route for bad in BAD_PAGES))
