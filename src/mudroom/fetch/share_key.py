"""When two requests are one (decision 9): everything that could make their answers differ is equal."""

from __future__ import annotations

from types import MethodType
from typing import NamedTuple

from mudroom.address import EgressPolicy, ExceptionScope
from mudroom.fetch.chain import Chain
from mudroom.fetch.request import FetchRequest, RedirectRule
from mudroom.net import Headers

__all__ = ["ShareKey", "make_share_key"]

_SHAREABLE = frozenset({"GET", "HEAD"})


class Same:
    """Something that is equal to itself alone; kept, so that its number in memory is nobody else's meanwhile."""

    __slots__ = ("_numbers", "_what")

    def __init__(self, what: object) -> None:
        self._what = what
        # A method is made anew at each look at it: it is its object's and its class's.
        parts = (what.__self__, what.__func__) if isinstance(what, MethodType) else (what,)
        self._numbers = tuple(map(id, parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)


class ShareKey(NamedTuple):
    """What must be equal. Trust anchors, proxies and the profile's headers are a fetcher's own, and so equal."""

    method: str
    url: str
    """In normal form, after an upgrade by HSTS; without its fragment, which is never sent."""
    headers: Headers
    """All of them, as they stand: two requests that differ in any field or in the order of fields share nothing."""
    cookie: str
    """The host's own for the first hop: who has logged in meanwhile must not get what was asked for before."""
    decode: bool
    max_body_bytes: int | None
    max_decoded_bytes: int | None
    policy: EgressPolicy
    """Under which it was judged; nearly always one and the same object."""
    scope: ExceptionScope
    exception: str | None
    redirects: RedirectRule
    accept_types: Same | None
    """Whether two functions decide alike cannot be known: this and the next must be one and the same."""
    hop_check: Same | None
    partition: str
    principal: str

    def __hash__(self) -> int:
        """Of what most requests differ in; the other fields are compared where these are equal."""
        return hash((self.url, self.partition, self.principal))


def make_share_key(request: FetchRequest, chain: Chain) -> ShareKey | None:
    """The key of a request that was judged; None for one that is nobody else's, whatever he asks.

    Priority, streaming, deadline and label are not in it: each caller keeps his own.
    """
    if request.method not in _SHAREABLE or request.body:
        return None
    return ShareKey(
        method=request.method,
        url=chain.current.url.normalized,
        headers=request.headers,
        cookie=chain.first_cookie,
        decode=request.decode,
        max_body_bytes=request.max_body_bytes,
        max_decoded_bytes=request.max_decoded_bytes,
        policy=chain.current.policy,
        scope=chain.scope,
        exception=chain.current.exception,
        redirects=request.redirects,
        accept_types=None if request.accept_types is None else Same(request.accept_types),
        hop_check=None if request.hop_check is None else Same(request.hop_check),
        partition=request.partition,
        principal=request.principal,
    )
