"""What a caller asks for, and what all callers share: one request profile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import IntEnum, StrEnum, unique
from types import MappingProxyType
from uuid import uuid4

from mudroom.address import AllowedUrl, ExceptionScope, ParsedUrl
from mudroom.fetch.body import RequestBody
from mudroom.fetch.context import FetchLabel, RequestInitiator, ResourceKind
from mudroom.net import Headers, NetLimits

__all__ = [
    "AcceptType",
    "FetchOptions",
    "FetchRequest",
    "HopCheck",
    "Priority",
    "RedirectRule",
    "RedirectScope",
]

HopCheck = Callable[[ParsedUrl, ExceptionScope], Awaitable[None]]
"""Awaited before every hop, the first included, and before its name is resolved; raises to refuse it.

It is told the exceptions that the hop may use, so that what it asks for goes no further than the hop."""

AcceptType = Callable[[str], bool]
"""Whether a declared media type (type/subtype, lower case; empty when undeclared) is worth reading."""


@unique
class Priority(IntEnum):
    """How soon a request should start; lower is sooner."""

    HIGH = 0
    NORMAL = 1
    LOW = 2
    IDLE = 3


@unique
class RedirectScope(StrEnum):
    """How far from the requested URL a redirect may lead."""

    ANY = "any"
    SAME_HOST = "same-host"
    SAME_SITE = "same-site"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRule:
    """Which redirects are followed (decision 3); https to http never is."""

    max_hops: int = 20
    scope: RedirectScope = RedirectScope.ANY


_NO_SCOPE = ExceptionScope.none()


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """One URL to fetch, as somebody wrote it or as it was judged, and how far that may go.

    Shapes: a judged `url` brings its own scope, so `base` and `initiator_scope` stay away from it;
        `headers` replace the profile's of the same name; on a change of origin all but Accept,
        Accept-Language and User-Agent are dropped. None for a limit means the profile's.
    """

    method: str
    url: str | AllowedUrl
    """As written, or the verdict on it; under another policy than the fetcher's it is judged anew."""
    _: KW_ONLY
    headers: Headers = ()
    body: bytes | RequestBody = b""
    priority: Priority = Priority.NORMAL
    is_streaming: bool = False
    """Whether `submit` answers as soon as the beginning of the body is here, or when all of it is."""
    decode: bool = True
    """Whether `submit` gives the body without its content codings, or as received."""
    max_body_bytes: int | None = None
    """Of all bodies on the way as received, those of redirects included."""
    max_decoded_bytes: int | None = None
    initiator_scope: ExceptionScope = _NO_SCOPE
    """Which exceptions the first hop may use: what named the URL decides (decision 4)."""
    base: ParsedUrl | None = None
    """The document that the URL stood in."""
    redirects: RedirectRule = RedirectRule()
    hop_check: HopCheck | None = None
    accept_types: AcceptType | None = None
    """Asked at the headers of a final answer below 400; a refused type ends there, however long the body."""
    partition: str = ""
    """Connections, cookies and HSTS are shared only within it."""
    principal: str = ""
    """On whose behalf; requests of two principals never share an answer (decision 9)."""
    deadline_seconds: float | None = None
    """What all of it may take, waits for a slot included, from when it is submitted."""
    reference: str = ""
    request_id: str = ""
    kind: ResourceKind = ResourceKind.OTHER
    initiator: RequestInitiator = RequestInitiator.PROGRAM
    """With the three before it the label that observers are told (`FetchLabel`); nothing depends on them."""

    @property
    def label(self) -> FetchLabel:
        """How observers recognise it; made anew at each look where the request has no id."""
        return FetchLabel(
            request_id=self.request_id or uuid4().hex,
            reference=self.reference,
            kind=self.kind,
            initiator=self.initiator,
        )

    def __post_init__(self) -> None:
        if isinstance(self.url, AllowedUrl) and (self.base is not None or self.initiator_scope != _NO_SCOPE):
            raise ValueError(
                "a judged URL brings its scope; base and initiator_scope belong to a written one"
            )
        for limit in (self.max_body_bytes, self.max_decoded_bytes):
            if limit is not None and limit <= 0:
                raise ValueError("a limit of bytes is greater than 0, or None for the profile's")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """The request profile shared by everything that fetches."""

    user_agent: str = "mudroom"
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    accept_language: str = "en,*;q=0.5"
    accept_encoding: str = "gzip, deflate, br, zstd"
    limits: NetLimits = field(default_factory=NetLimits)
    chain_timeout_seconds: float = 120.0
    """What all hops together may take to look names up, connect and answer; waits of ours do not count."""
    max_decoded_bytes: int = 10 * 1024 * 1024
    trust_anchors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Host name to a PEM file whose anchors hold for that host beside the public ones."""

    @property
    def headers(self) -> Headers:
        """The fields that every request carries unless its caller replaces them."""
        return (
            ("User-Agent", self.user_agent),
            ("Accept", self.accept),
            ("Accept-Language", self.accept_language),
            ("Accept-Encoding", self.accept_encoding),
        )
