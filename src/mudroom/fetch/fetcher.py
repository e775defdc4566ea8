"""One URL to its answer, each hop judged, resolved once, pinned and counted.

The path of a hop: judge the URL as written, the redirect rule, the caller's check (robots, politeness),
resolve, judge every answer, a slot, the pinned connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mudroom.address import EgressSource, IPAddress
from mudroom.clock import Clock
from mudroom.errors import Code, ContentRefused, EgressRefused, MudroomError
from mudroom.fetch.chain import Chain
from mudroom.fetch.chain_limits import ChainLimits
from mudroom.fetch.conditional import NOT_MODIFIED, PARTIAL_CONTENT, check_solicited
from mudroom.fetch.events import EventSink, ResponseHeadersEvent, StartedEvent, WarningEvent
from mudroom.fetch.hooks import HopHooks
from mudroom.fetch.hsts import Hsts
from mudroom.fetch.redirect import is_redirect
from mudroom.fetch.reply import Reply
from mudroom.fetch.request import FetchOptions, FetchRequest
from mudroom.fetch.result import Fetched, ReplyHead, Streamed
from mudroom.fetch.scheduler import Scheduler, SchedulerOptions
from mudroom.fetch.shared_exchange import ExchangeLimits, Walk
from mudroom.fetch.sharing import Sharing
from mudroom.fetch.slots import Slots
from mudroom.fetch.telling import Telling, Watch
from mudroom.fetch.verdicts import HostVerdicts
from mudroom.fetch.visit import Visit
from mudroom.media import BodyDecoder, header_values, name_type, parse_content_type
from mudroom.net import (
    Headers,
    Resolver,
    Transport,
    WireRequest,
    WireResponse,
    check_method,
    check_request_headers,
)

__all__ = ["Fetcher"]

_FIRST_ERROR = 400
_CODING = "content-encoding"
_ASKED_FOR = frozenset({NOT_MODIFIED, PARTIAL_CONTENT})
"""Answers that say nothing by themselves to who has not asked for them."""


class Fetcher:
    """What everything that reads the web asks; it owns neither transport nor resolver."""

    def __init__(  # noqa: PLR0913 - the parts that make a fetcher, each optional one by its name
        self,
        transport: Transport,
        resolver: Resolver,
        egress: EgressSource,
        options: FetchOptions,
        clock: Clock,
        *,
        slots: Slots | None = None,
        telling: Telling | None = None,
        hooks: HopHooks | None = None,
        hsts: Hsts | None = None,
    ) -> None:
        """Shapes: without `hsts` no URL is upgraded.

        Without `telling` no host hears of what `submit` does; without it or `hooks` none takes part in the hops.
        """
        check_request_headers(options.headers)
        self._transport = transport
        self._resolver = resolver
        self._egress = egress
        self._options = options
        self._now = clock.monotonic
        self._slots = slots if slots is not None else Scheduler(SchedulerOptions(), clock)
        self._hooks: HopHooks | None = telling if hooks is None else hooks
        self._hsts = hsts
        self._profile = options.headers
        self._verdicts = HostVerdicts()
        self._limits = ChainLimits(options)
        self._telling = telling
        self._sharing = Sharing(
            Walk(
                start=self._begin,
                reach=self._reach,
                describe=_head,
                decoder=self._decoder,
                decode=self._decode,
                sign=_sign,
            ),
            ExchangeLimits(
                peek_timeout_seconds=options.limits.response_timeout_seconds,
                total_timeout_seconds=options.limits.total_timeout_seconds,
            ),
            self._now,
        )

    async def submit(self, request: FetchRequest) -> Reply:
        """The answer to a request, which it may share with others that ask the same at the same time.

        A request with `is_streaming` is answered when the beginning of the body is here, any other when all of it
        is. Whoever is cancelled returns at once; the exchange ends when nobody wants it any more.
        Raises: as `fetch`, and FetchFailed DEADLINE_EXCEEDED; an error of this caller's own.
        """
        watch = None
        if self._telling is not None:
            label = request.label
            request = replace(request, request_id=label.request_id)
            watch = self._telling.watch(label)
        return await self._sharing.submit(request, watch)

    def watch(self, request: FetchRequest) -> Watch | None:
        """Who tells the host of a request to `fetch` or `stream`; whoever asks for it tells its end.

        None where no host listens, and for all that nobody asks this for: `submit` does it by itself.
        """
        return None if self._telling is None else self._telling.watch(request.label)

    @property
    def in_flight(self) -> int:
        """How many exchanges of `submit` run; when it is 0 they hold no slot, no socket and no task."""
        return self._sharing.in_flight

    async def aclose(self) -> None:
        """End what `submit` began; its callers get CANCELLED."""
        await self._sharing.aclose()

    async def fetch(self, request: FetchRequest, *, listener: EventSink | None = None) -> Fetched:
        """The whole answer to a request; any status is a result.

        Raises: EgressRefused before anything refused is dialled; FetchFailed; ContentRefused for a size,
            type or coding; each with the hops made so far in `hops`. What `hop_check` raises passes through.
        """
        started = self._now()
        if self._egress.is_due():
            await self._egress.refresh()
        chain = self._start(request, listener)
        chain.is_whole = True
        try:
            async with await self._reach(request, chain) as response:
                body = await response.read()
                return Fetched(
                    **_describe(chain, response),
                    body=body,
                    decoded=self._decode(request, response, body, chain.current.url.host),
                    wire_bytes=chain.received_bytes,
                    duration_seconds=self._now() - started,
                )
        except MudroomError as error:
            _sign(chain, error)
            raise

    @asynccontextmanager
    async def stream(
        self, request: FetchRequest, *, listener: EventSink | None = None
    ) -> AsyncIterator[Streamed]:
        """The answer to a request, entered at its headers; leaving closes what was not read.

        Raises: as `fetch`.
        """
        if self._egress.is_due():
            await self._egress.refresh()
        chain = self._start(request, listener)
        try:
            async with await self._reach(request, chain) as response:
                yield Streamed(
                    **_describe(chain, response),
                    response=response,
                    decoder=self._decoder(request, response, chain.current.url.host),
                    earlier_bytes=chain.received_bytes - response.received_bytes,
                )
        except MudroomError as error:
            _sign(chain, error)
            raise

    async def _begin(self, request: FetchRequest, listener: EventSink | None) -> Chain:
        """A chain for `submit`: with the cookie by which it differs from what others have asked already."""
        if self._egress.is_due():
            await self._egress.refresh()
        chain = self._start(request, listener)
        if self._hooks is not None:
            chain.first_cookie = chain.find_cookie(self._hooks)
        return chain

    def _start(self, request: FetchRequest, listener: EventSink | None = None) -> Chain:
        check_method(request.method)
        if request.headers:
            check_request_headers(request.headers)
        return Chain(request, self._egress, listener, self._hsts)

    async def _reach(self, request: FetchRequest, chain: Chain) -> Visit:
        """The final answer at its headers, redirects followed; the caller closes it."""
        while True:
            visit = await self._visit(request, chain)
            try:
                if self._hsts is not None or self._hooks is not None:
                    self._learn(request, chain, visit.response)
                status = visit.response.status
                if not is_redirect(status):
                    if status in _ASKED_FOR:
                        check_solicited(status, chain.sent_headers, chain.current.url.host)
                    _check_type(request, visit.response, chain.current.url.host)
                    if chain.listener is not None:
                        _tell_headers(chain.listener, chain, visit.response)
                    return visit
                chain.follow(visit.response)
            except BaseException:
                await visit.close()
                raise
            await visit.close()

    async def _visit(self, request: FetchRequest, chain: Chain) -> Visit:
        """One hop, from its checks to its headers; its addresses are judged when nothing is waited for any more."""
        url = chain.current.url
        if self._hooks is not None and not self._hooks.is_url_allowed(url):
            raise EgressRefused(
                Code.POLICY_VIOLATION, f"{url.host} is refused by a rule of this program's own"
            )
        if request.hop_check is not None:
            await request.hop_check(url, chain.scope)
        asked = self._now()
        answer = (url.address,) if url.address is not None else await self._resolver.resolve(url.host)
        chain.spent_seconds += self._now() - asked
        slot = chain.hold(self._slots)
        await slot.__aenter__()
        try:
            if chain.listener is not None:
                chain.listener.tell(StartedEvent(url.normalized, chain.method))
            if self._egress.is_due(answer):
                await self._egress.refresh(answer)
            addresses, exceptions = self._verdicts.judge(
                chain.confirm(), answer, chain.scope, self._egress.current()
            )
            started = self._now()
            exchange = self._transport.open(self._wire_request(request, chain, addresses))
            response = await exchange.__aenter__()
            slot.note_answer(response.protocol, response.status, response.headers)
        except BaseException:
            await slot.__aexit__(None, None, None)
            raise
        chain.spent_seconds += self._now() - started
        chain.record(response, exceptions.get(response.address))
        return Visit(slot, exchange, response)

    def _learn(self, request: FetchRequest, chain: Chain, response: WireResponse) -> None:
        """What an answer asks to be remembered: by us that its host wants https, by the host program its cookies."""
        url = chain.current.url
        is_clear = self._hsts is None or self._hsts.learn(url, response.headers, request.partition)
        if not is_clear and chain.listener is not None:
            chain.listener.tell(WarningEvent(f"{url.host} asks for https in a way that cannot be understood"))
        if self._hooks is not None and (cookies := header_values(response.headers, "set-cookie")):
            self._hooks.on_cookies_received(url, request.partition, tuple(cookies))
            chain.take_cookies(tuple(cookies))

    def _wire_request(
        self, request: FetchRequest, chain: Chain, addresses: tuple[IPAddress, ...]
    ) -> WireRequest:
        url = chain.current.url
        headers = _merge(self._profile, chain.headers) if chain.headers else self._profile
        if self._hooks is not None:
            headers = chain.add_cookies(headers, self._hooks)
        chain.sent_headers = headers
        return WireRequest(
            url=url,
            addresses=addresses,
            method=chain.method,
            headers=headers,
            body=chain.body,
            limits=self._limits.of_hop(request, chain),
            ca_file=self._options.trust_anchors.get(url.host),
            is_whole=chain.is_whole,
            partition=request.partition,
        )

    def _decode(self, request: FetchRequest, response: WireResponse, body: bytes, host: str) -> bytes:
        limit = self._max_decoded(request)
        codings = _codings(response.headers)
        if codings and body:
            decoder = BodyDecoder(codings, limit, host=host)
            return decoder.feed(body) + decoder.finish()
        if len(body) > limit:
            raise ContentRefused(
                Code.DECODED_TOO_LARGE, f"the answer of {host} is larger than the {limit:,} bytes read"
            )
        return body

    def _decoder(self, request: FetchRequest, response: WireResponse, host: str) -> BodyDecoder:
        return BodyDecoder(_codings(response.headers), self._max_decoded(request), host=host)

    def _max_decoded(self, request: FetchRequest) -> int:
        limit = request.max_decoded_bytes
        return self._options.max_decoded_bytes if limit is None else limit


def _sign(chain: Chain, error: MudroomError) -> None:
    """Have a failure tell of the hops before it; a refusal is told as one."""
    chain.sign(error)
    if isinstance(error, EgressRefused):
        chain.tell_refusal(error)


def _tell_headers(listener: EventSink, chain: Chain, response: WireResponse) -> None:
    listener.tell(
        ResponseHeadersEvent(
            url=chain.current.url.normalized,
            status=response.status,
            headers=response.headers,
            protocol=response.protocol,
            address=response.address,
        )
    )


def _check_type(request: FetchRequest, response: WireResponse, host: str) -> None:
    if request.accept_types is None or response.status >= _FIRST_ERROR:
        return
    declared = header_values(response.headers, "content-type")
    media_type = parse_content_type(declared[-1]) if declared else None
    if not request.accept_types(media_type.essence if media_type is not None else ""):
        raise ContentRefused(
            Code.UNSUPPORTED_CONTENT_TYPE, f"{host} answered with {name_type(media_type)}, which is not read"
        )


def _codings(headers: Headers) -> str:
    """The content codings, joined; empty when there are none."""
    codings = ""
    for name, value in headers:
        if len(name) == len(_CODING) and name.lower() == _CODING:
            codings = f"{codings},{value}" if codings else value
    return codings


def _head(chain: Chain, response: WireResponse) -> ReplyHead:
    return ReplyHead(**_describe(chain, response))


def _describe(chain: Chain, response: WireResponse) -> dict[str, Any]:
    """The fields of a `ReplyHead`."""
    return {
        "requested_url": chain.requested_url,
        "final": chain.current.url,
        "hops": tuple(chain.hops),
        "status": response.status,
        "reason": response.reason,
        "protocol": response.protocol,
        "headers": response.headers,
        "sent_headers": chain.sent_headers,
        "raw_header": response.raw_header,
        "exception": chain.hops[-1].exception,
    }


def _merge(profile: Headers, headers: Headers) -> Headers:
    """The profile's fields, each replaced by the caller's of the same name, then the caller's."""
    given = {name.lower() for name, _ in headers}
    return tuple(field for field in profile if field[0].lower() not in given) + headers
