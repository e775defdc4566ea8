"""When two requests are one (decision 9): everything that could make their answers differ is equal."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

from mudroom.address import ExceptionScope
from mudroom.fetch.chain import Chain
from mudroom.fetch.request import FetchRequest, RedirectRule
from mudroom.net import Headers

__all__ = ["ShareKey", "make_share_key"]

_SHAREABLE = frozenset({"GET", "HEAD"})


class ShareKey(NamedTuple):
    """What must be equal. Trust anchors, proxies and the profile's headers are a fetcher's own, and so equal."""

    method: str
    url: str
    """In normal form, after an upgrade by HSTS; without its fragment, which is never sent."""
    headers: Headers
    """All of them, as they stand: two requests that differ in any field or in the order of fields share nothing."""
    decode: bool
    max_body_bytes: int | None
    max_decoded_bytes: int | None
    policy: int
    """By identity: the policy of a fetcher is one object for as long as nothing changed."""
    scope: ExceptionScope
    exception: str | None
    redirects: RedirectRule
    accept_types: tuple[int, ...]
    """By identity, as the next: whether two functions decide alike cannot be known."""
    hop_check: tuple[int, ...]
    partition: str
    principal: str


def make_share_key(request: FetchRequest, chain: Chain) -> ShareKey | None:
    """The key of a request that was judged; None for one that is nobody else's, whatever he asks.

    Priority, streaming, deadline and label are not in it: each caller keeps his own. Numbers of objects hold only
    while the objects live, which the exchange under this key sees to.
    """
    if request.method not in _SHAREABLE or request.body:
        return None
    return ShareKey(
        method=request.method,
        url=chain.current.url.normalized,
        headers=request.headers,
        decode=request.decode,
        max_body_bytes=request.max_body_bytes,
        max_decoded_bytes=request.max_decoded_bytes,
        policy=id(chain.current.policy),
        scope=chain.scope,
        exception=chain.current.exception,
        redirects=request.redirects,
        accept_types=_identity(request.accept_types),
        hop_check=_identity(request.hop_check),
        partition=request.partition,
        principal=request.principal,
    )


def _identity(function: Callable[..., Any] | None) -> tuple[int, ...]:
    """Which function it is; a method is its object's and its class's, not the pair made anew at each look."""
    if isinstance(function, MethodType):
        return (id(function.__self__), id(function.__func__))
    return (id(function),)
