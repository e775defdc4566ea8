"""What is left to a hop of the time and the bytes that hold for all hops of a request."""

from __future__ import annotations

from dataclasses import replace

from mudroom.errors import Code, ContentRefused, FetchFailed
from mudroom.fetch.chain import Chain
from mudroom.fetch.request import FetchOptions, FetchRequest
from mudroom.net import NetLimits

__all__ = ["ChainLimits"]


class ChainLimits:
    """The limits of one fetcher, cut to what a request asks and its hops have used."""

    def __init__(self, options: FetchOptions) -> None:
        self._chain_timeout_seconds = options.chain_timeout_seconds
        longest = min(options.limits.response_timeout_seconds, options.chain_timeout_seconds)
        self._limits = self._last_capped = replace(options.limits, response_timeout_seconds=longest)

    def of_hop(self, request: FetchRequest, chain: Chain) -> NetLimits:
        """What the next hop may use; the last limits are kept, since most requests ask for the same.

        Raises: ContentRefused BODY_TOO_LARGE, FetchFailed RESPONSE_TIMEOUT where nothing is left.
        """
        max_body_bytes = request.max_body_bytes
        if max_body_bytes is None:
            max_body_bytes = self._limits.max_body_bytes
        elif chain.hops:
            max_body_bytes = _bytes_left(max_body_bytes, chain)
        if self._last_capped.max_body_bytes != max_body_bytes:
            self._last_capped = replace(self._limits, max_body_bytes=max_body_bytes)
        return self._in_time(self._last_capped, chain) if chain.hops else self._last_capped

    def _in_time(self, limits: NetLimits, chain: Chain) -> NetLimits:
        """Limits under which a chain ends in its time."""
        left = self._chain_timeout_seconds - chain.spent_seconds
        if left <= 0:
            host = chain.current.url.host
            raise FetchFailed(
                Code.RESPONSE_TIMEOUT, f"the redirects to {host} took too long to come to an answer"
            )
        if left >= limits.response_timeout_seconds:
            return limits
        return replace(
            limits,
            connect_timeout_seconds=min(limits.connect_timeout_seconds, left),
            response_timeout_seconds=left,
        )


def _bytes_left(limit: int, chain: Chain) -> int:
    left = limit - chain.received_bytes
    if left <= 0:
        host = chain.current.url.host
        raise ContentRefused(Code.BODY_TOO_LARGE, f"the redirects to {host} sent more than {limit} bytes")
    return left
