"""One URL to its answer, each hop judged, resolved once, pinned and counted.

The path of a hop: judge the URL as written, the redirect rule, the caller's check (robots, politeness),
resolve, judge every answer, a slot, the pinned connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from mudroom.address import EgressPolicy, IPAddress, RefusedAnswers, judge_answers
from mudroom.clock import Clock
from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed, MudroomError
from mudroom.fetch.chain import Chain
from mudroom.fetch.redirect import is_redirect
from mudroom.fetch.request import FetchOptions, FetchRequest
from mudroom.fetch.result import Fetched, Streamed
from mudroom.fetch.slots import OriginSlots, Slots
from mudroom.media import BodyDecoder, header_values, parse_content_type
from mudroom.net import (
    Headers,
    NetLimits,
    Resolver,
    Transport,
    WireRequest,
    WireResponse,
    check_method,
    check_request_headers,
)

__all__ = ["Fetcher"]

_FIRST_ERROR = 400


class Fetcher:
    """What everything that reads the web asks; it owns neither transport nor resolver."""

    def __init__(
        self,
        transport: Transport,
        resolver: Resolver,
        policy: EgressPolicy,
        options: FetchOptions,
        clock: Clock,
        *,
        slots: Slots | None = None,
    ) -> None:
        check_request_headers(options.headers)
        self._transport = transport
        self._resolver = resolver
        self._policy = policy
        self._options = options
        self._clock = clock
        self._slots = slots if slots is not None else OriginSlots()
        self._profile = options.headers
        self._limits = self._last_capped = options.limits

    async def fetch(self, request: FetchRequest) -> Fetched:
        """The whole answer to a request; any status is a result.

        Raises: EgressRefused before anything refused is dialled; FetchFailed; ContentRefused for a size,
            type or coding; each with the hops made so far in `hops`. What `hop_check` raises passes through.
        """
        started = self._clock.monotonic()
        async with self._arrive(request) as (chain, response):
            body = await response.read()
            decoded = body
            codings = ",".join(header_values(response.headers, "content-encoding"))
            if codings and body:
                decoder = BodyDecoder(codings, self._max_decoded(request))
                decoded = decoder.feed(body) + decoder.finish()
            elif len(body) > self._max_decoded(request):
                raise ContentRefused(
                    Code.DECODED_TOO_LARGE, f"the answer of {chain.current.url.host} is larger than is read"
                )
            return Fetched(
                requested_url=chain.requested_url,
                final=chain.current.url,
                hops=tuple(chain.hops),
                status=response.status,
                reason=response.reason,
                protocol=response.protocol,
                headers=response.headers,
                raw_header=response.raw_header,
                body=body,
                decoded=decoded,
                exception=chain.hops[-1].exception,
                wire_bytes=response.received_bytes,
                duration_seconds=self._clock.monotonic() - started,
            )

    @asynccontextmanager
    async def stream(self, request: FetchRequest) -> AsyncIterator[Streamed]:
        """The answer to a request, entered at its headers; leaving closes what was not read.

        Raises: as `fetch`.
        """
        async with self._arrive(request) as (chain, response):
            codings = ",".join(header_values(response.headers, "content-encoding"))
            yield Streamed(
                requested_url=chain.requested_url,
                final=chain.current.url,
                hops=tuple(chain.hops),
                status=response.status,
                reason=response.reason,
                protocol=response.protocol,
                headers=response.headers,
                raw_header=response.raw_header,
                exception=chain.hops[-1].exception,
                response=response,
                decoder=BodyDecoder(codings, self._max_decoded(request)),
            )

    @asynccontextmanager
    async def _arrive(self, request: FetchRequest) -> AsyncIterator[tuple[Chain, WireResponse]]:
        """The final answer of a chain, at its headers; failures carry the hops made so far."""
        check_method(request.method)
        check_request_headers(request.headers)
        chain = Chain(request, self._policy)
        response: WireResponse | None = None
        try:
            while True:
                addresses, exceptions = await self._clear(request, chain)
                wire = self._wire_request(request, chain, addresses)
                async with (
                    self._slots.hold(wire.url.origin, request.priority),
                    self._transport.open(wire) as response,
                ):
                    chain.record(response, exceptions.get(response.address))
                    if not is_redirect(response.status):
                        _check_type(request, response, wire.url.host)
                        yield chain, response
                        return
                    chain.follow(response)
        except MudroomError as error:
            error.hops = tuple(chain.hops)
            error.wire_bytes = response.received_bytes if response is not None else 0
            raise

    async def _clear(
        self, request: FetchRequest, chain: Chain
    ) -> tuple[tuple[IPAddress, ...], dict[str, str]]:
        """The addresses that the hop may dial, and the exceptions behind those that need one."""
        target = chain.current
        url = target.url
        if request.hop_check is not None:
            await request.hop_check(url)
        if url.address is not None:
            return (url.address,), {} if target.exception is None else {str(url.address): target.exception}
        answers = judge_answers(
            await self._resolver.resolve(url.host),
            self._policy,
            chain.scope,
            host=url.host,
            url_exception=target.exception,
        )
        if isinstance(answers, RefusedAnswers):
            kind = FetchFailed if answers.code is Code.DNS_FAILURE else EgressRefused
            raise kind(answers.code, answers.message)
        exceptions = {
            str(one.address): one.exception for one in answers.verdicts if one.exception is not None
        }
        return answers.addresses, exceptions

    def _wire_request(
        self, request: FetchRequest, chain: Chain, addresses: tuple[IPAddress, ...]
    ) -> WireRequest:
        url = chain.current.url
        return WireRequest(
            url=url,
            addresses=addresses,
            method=chain.method,
            headers=_merge(self._profile, chain.headers) if chain.headers else self._profile,
            body=chain.body,
            limits=self._limits if request.max_body_bytes is None else self._capped(request.max_body_bytes),
            ca_file=self._options.trust_anchors.get(url.host),
            partition=request.partition,
        )

    def _capped(self, max_body_bytes: int) -> NetLimits:
        """The profile's limits with another cap; the last one is kept, since most callers have one."""
        if self._last_capped.max_body_bytes != max_body_bytes:
            self._last_capped = replace(self._limits, max_body_bytes=max_body_bytes)
        return self._last_capped

    def _max_decoded(self, request: FetchRequest) -> int:
        limit = request.max_decoded_bytes
        return self._options.max_decoded_bytes if limit is None else limit


def _check_type(request: FetchRequest, response: WireResponse, host: str) -> None:
    if request.accept_types is None or response.status >= _FIRST_ERROR:
        return
    declared = header_values(response.headers, "content-type")
    media_type = parse_content_type(declared[-1]) if declared else None
    if not request.accept_types(media_type.essence if media_type is not None else ""):
        shown = media_type.essence if media_type is not None else "no declared type"
        raise ContentRefused(
            Code.UNSUPPORTED_CONTENT_TYPE, f"{host} answered with {shown}, which is not read"
        )


def _merge(profile: Headers, headers: Headers) -> Headers:
    """The profile's fields, each replaced by the caller's of the same name, then the caller's."""
    given = {name.lower() for name, _ in headers}
    return tuple(field for field in profile if field[0].lower() not in given) + headers

