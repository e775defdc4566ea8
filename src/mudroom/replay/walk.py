"""The checks before each request, made again in their order: robots.txt, and the crawl's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mudroom.address import AllowedUrl, ExceptionScope, ParsedUrl, parse_url
from mudroom.errors import Code, FetchFailed, MudroomError, StoreFailed
from mudroom.fetch import FetchRequest, HopCheck
from mudroom.model import Hop

__all__ = ["Walk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One request on its way along the hops that were recorded of it."""

    url: ParsedUrl
    scope: ExceptionScope
    check: HopCheck | None
    wire_bytes: int = 0
    """What it cost its run; a check that ends it says so."""

    @classmethod
    def of(cls, request: FetchRequest) -> Walk:
        """The way of a request. Raises: FetchFailed INVALID_URL."""
        if isinstance(request.url, AllowedUrl):
            return cls(url=request.url.url, scope=request.url.scope, check=request.hop_check)
        url = parse_url(request.url)
        if url is None:
            raise FetchFailed(Code.INVALID_URL, "the URL cannot be parsed")
        return cls(url=url, scope=request.initiator_scope, check=request.hop_check)

    async def pass_all(self, hops: Sequence[Hop]) -> None:
        """Every check that was made before the requests that were made. Raises what a check raises."""
        for place, hop in enumerate(hops):
            if not hop.is_upgrade:
                await self.pass_one(hop.url, hops[:place])

    async def pass_one(self, hop_url: str, earlier: Sequence[Hop]) -> None:
        """The check before one request. What it raises says how far the page had come."""
        url = parse_url(hop_url)
        if url is None:
            raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the record of a page's requests is damaged")
        if self.check is None:
            return
        try:
            await self.check(url, _scope_behind(earlier, self.scope))
        except MudroomError as error:
            error.hops, error.wire_bytes, error.stopped_at = tuple(earlier), self.wire_bytes, url.normalized
            raise


def _scope_behind(hops: Sequence[Hop], scope: ExceptionScope) -> ExceptionScope:
    """What a request may use that comes behind these: what the last of them was dialled through."""
    asked = [hop for hop in hops if not hop.is_upgrade]
    if not asked:
        return scope
    exception = asked[-1].exception
    return ExceptionScope.none() if exception is None else ExceptionScope.of(exception)
