"""Where one fetch stands: the URL it is at, what it has seen, what it may use next."""

from __future__ import annotations

from mudroom.address import (
    AllowedUrl,
    EgressSource,
    ExceptionScope,
    ParsedUrl,
    RefusedUrl,
    judge_url,
)
from mudroom.errors import Code, EgressRefused, MudroomError
from mudroom.fetch.body import RequestBody
from mudroom.fetch.events import EventSink
from mudroom.fetch.redirect import check_step, find_location, keep_headers, next_method
from mudroom.fetch.request import FetchRequest
from mudroom.model import Hop
from mudroom.net import Headers, UploadBody, WireResponse

__all__ = ["Chain"]


class Chain:
    """A request and the redirects that it has followed so far."""

    __slots__ = (
        "_answering",
        "_earlier_bytes",
        "_earlier_seconds",
        "_egress",
        "_first",
        "_normalized",
        "_request",
        "_seen",
        "body",
        "current",
        "headers",
        "hop_seconds",
        "hops",
        "listener",
        "method",
        "requested_url",
        "scope",
        "sent_headers",
        "spent_seconds",
    )

    def __init__(
        self, request: FetchRequest, egress: EgressSource, listener: EventSink | None = None
    ) -> None:
        self.listener = listener
        """Who hears what happens on the way; None where nobody does, and then no event need be made."""
        self._request = request
        self._egress = egress
        self.method = request.method
        self.headers, self.body = _carry(request)
        self.sent_headers: Headers = ()
        self.hops: list[Hop] = []
        self._answering: WireResponse | None = None
        self._earlier_bytes = 0
        self.spent_seconds = self._earlier_seconds = 0.0
        self.hop_seconds = 0.0
        """What the last hop took of it, to its headers."""
        self.scope, self.current = self._begin(request)
        self._first = self.current.url
        self.requested_url = self._normalized = self._first.normalized
        self._seen = {(self.method, self._normalized)}

    def _begin(self, request: FetchRequest) -> tuple[ExceptionScope, AllowedUrl]:
        """The first URL and what it may use."""
        judged = request.url
        if not isinstance(judged, AllowedUrl):
            scope = request.initiator_scope
            return scope, self._judge(judged, scope, request.base)
        return judged.scope, self._confirm(judged)

    def confirm(self) -> AllowedUrl:
        """The URL that the chain is at, judged anew where the policy has changed since. Raises: EgressRefused."""
        self.current = self._confirm(self.current)
        return self.current

    def record(self, response: WireResponse, exception: str | None) -> None:
        """Note the hop that was just made."""
        self._earlier_bytes = self.received_bytes
        self._answering = response
        self.hop_seconds = self.spent_seconds - self._earlier_seconds
        self._earlier_seconds = self.spent_seconds
        self.hops.append(
            Hop(
                url=self._normalized,
                address=response.address,
                status=response.status,
                protocol=response.protocol,
                exception=exception,
            )
        )

    @property
    def received_bytes(self) -> int:
        """Body bytes of every hop that have come so far."""
        last = self._answering
        return self._earlier_bytes if last is None else self._earlier_bytes + last.received_bytes

    def sign(self, error: MudroomError) -> None:
        """Have a failure tell which hops were made before it, and what they cost."""
        error.hops = tuple(self.hops)
        error.wire_bytes = self.received_bytes

    def follow(self, response: WireResponse) -> None:
        """Go on to the target of a redirect.

        What the target may use is what its initiator, the hop before it, was itself dialled through.
        Raises: EgressRefused with the code of a refused target or of a broken rule; nothing was dialled.
        """
        here = self.current.url
        location = find_location(response.headers, here.host)
        if len(self.hops) > self._request.redirects.max_hops:
            raise EgressRefused(
                Code.REDIRECT_LIMIT, f"{self._first.host} redirects more often than is followed"
            )
        exception = self.hops[-1].exception
        self.scope = ExceptionScope.none() if exception is None else ExceptionScope.of(exception)
        target = self._judge(location, self.scope, here)
        check_step(self._first, here, target.url, self._request.redirects.scope)
        method = next_method(response.status, self.method)
        keeps_body = method == self.method
        self.headers = keep_headers(self.headers, here, target.url, keeps_body=keeps_body)
        if not keeps_body:
            self.method, self.body = method, b""
        self.current = target
        self._normalized = target.url.normalized
        step = (method, self._normalized)
        if step in self._seen:
            raise EgressRefused(Code.REDIRECT_LOOP, f"{here.host} redirects in a circle")
        self._seen.add(step)

    def _confirm(self, judged: AllowedUrl) -> AllowedUrl:
        if judged.policy is self._egress.current():
            return judged
        return self._judge(judged.url.href, judged.scope, None)

    def _judge(self, untrusted_url: str, scope: ExceptionScope, base: ParsedUrl | None) -> AllowedUrl:
        verdict = judge_url(untrusted_url, self._egress.current(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            where = f"{self.current.url.host} redirects to a refused target: " if self.hops else ""
            raise EgressRefused(verdict.code, f"{where}{verdict.message}")
        return verdict


def _carry(request: FetchRequest) -> tuple[Headers, bytes | UploadBody]:
    """The caller's headers with the type of his body, and what goes on the wire of it."""
    body = request.body
    if not isinstance(body, RequestBody):
        return request.headers, body
    if any(name.lower() == "content-type" for name, _ in request.headers):
        return request.headers, body.content
    return (*request.headers, ("Content-Type", body.content_type)), body.content
