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
from mudroom.fetch.cookies import merge_cookies, read_cookie_names, remove_cookies
from mudroom.fetch.events import BlockedEvent, EventSink, RedirectedEvent
from mudroom.fetch.hooks import HopHooks
from mudroom.fetch.hsts import Hsts
from mudroom.fetch.redirect import check_step, find_location, keep_headers, next_method
from mudroom.fetch.request import FetchRequest, Priority
from mudroom.fetch.slots import Slot, Slots
from mudroom.model import UPGRADE_PROTOCOL, Hop
from mudroom.net import Headers, UploadBody, WireResponse

__all__ = ["Chain"]

_UPGRADE_STATUS = 307


class Chain:
    """A request and the redirects that it has followed so far."""

    __slots__ = (
        "_answering",
        "_earlier_bytes",
        "_earlier_seconds",
        "_egress",
        "_first",
        "_has_new_cookies",
        "_hsts",
        "_normalized",
        "_request",
        "_seen",
        "_slot",
        "body",
        "current",
        "first_cookie",
        "headers",
        "heading",
        "hop_seconds",
        "hops",
        "is_whole",
        "listener",
        "method",
        "priority",
        "requested_url",
        "scope",
        "sent_headers",
        "spent_seconds",
    )

    current: AllowedUrl

    def __init__(
        self,
        request: FetchRequest,
        egress: EgressSource,
        listener: EventSink | None = None,
        hsts: Hsts | None = None,
    ) -> None:
        self.listener = listener
        """Who hears what happens on the way; None where nobody does, and then no event need be made."""
        self._request = request
        self._egress = egress
        self._hsts = hsts
        self.method = request.method
        self.headers, self.body = _carry(request)
        self.sent_headers: Headers = ()
        self.first_cookie = ""
        """What the host would send with the first hop, when it was asked whether others ask the same."""
        self.priority = request.priority
        self._slot: Slot | None = None
        self.hops: list[Hop] = []
        self._answering: WireResponse | None = None
        self._has_new_cookies = False
        self._earlier_bytes = 0
        self._seen: set[tuple[str, str]] = set()
        self.is_whole = False
        """Whether the last answer will be read whole, at once; decided by those who want it when it is asked for.

        One who streams and joins later is held up by nobody's window: whoever reads the whole beside him is given all
        of it as it comes, and once that one has left, what waits is bounded by the limit of the body.
        """
        self.spent_seconds = self._earlier_seconds = 0.0
        self.hop_seconds = 0.0
        """What the last hop took of it, to its headers."""
        self.heading = ""
        """The host that was judged last; where something was refused, that one."""
        try:
            self._begin(request)
        except EgressRefused as error:
            self.tell_refusal(error)
            raise

    def _begin(self, request: FetchRequest) -> None:
        """Stand at the first URL."""
        judged = request.url
        if isinstance(judged, AllowedUrl):
            self.scope, first = judged.scope, self._confirm(judged)
        else:
            self.scope = request.initiator_scope
            first = self._judge(judged, self.scope, request.base)
        self._first = first.url
        self.requested_url = self._normalized = first.url.normalized
        if self._hsts is not None:
            first = self._upgrade(first, self._hsts)
            self._normalized = first.url.normalized
        self.current = first
        self.heading = first.url.host

    def confirm(self) -> AllowedUrl:
        """The URL that the chain is at, judged anew where the policy has changed since. Raises: EgressRefused."""
        if self.current.policy is not self._egress.current():
            self.current = self._confirm(self.current)
        return self.current

    def hold(self, slots: Slots) -> Slot:
        """A slot for the hop that comes next, at the priority that the chain has by now."""
        url = self.current.url
        self._slot = slots.hold(url.origin, url.host, self.priority)
        return self._slot

    def raise_priority(self, priority: Priority) -> None:
        """Have this hop, where it still waits, and those to come start sooner; a lower priority changes nothing."""
        if priority < self.priority:
            self.priority = priority
            if self._slot is not None:
                self._slot.raise_priority(priority)

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
        error.stopped_at = self._normalized

    def tell_refusal(self, error: EgressRefused) -> None:
        """Have it told that policy refused a URL."""
        if self.listener is not None:
            self.listener.tell(BlockedEvent(host=self.heading, code=error.code))

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
        self.heading = target.url.host
        self._tell_redirect(here.normalized, target.url.normalized, response.status)
        if self._hsts is not None:
            target = self._upgrade(target, self._hsts)
        check_step(self._first, here, target.url, self._request.redirects.scope)
        self._seen.add((self.method, self._normalized))
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

    def take_cookies(self, set_cookie: tuple[str, ...]) -> None:
        """Have what an answer set win over what the caller sent himself, from the next hop on."""
        self._has_new_cookies = True
        names = read_cookie_names(set_cookie)
        self.headers = tuple(
            (name, kept)
            for name, value in self.headers
            if (kept := remove_cookies(value, names) if name.lower() == "cookie" else value)
        )

    def find_cookie(self, hooks: HopHooks) -> str:
        """The host's cookie for the hop that comes next; none where the caller sent one himself."""
        if any(name.lower() == "cookie" for name, _ in self.headers):
            return ""
        return hooks.cookies_for(self.current.url, self._request.partition)

    def add_cookies(self, headers: Headers, hooks: HopHooks) -> Headers:
        """The fields of the next hop with the host's cookies, where the caller set none or they are out of date."""
        own = "; ".join(value for name, value in headers if name.lower() == "cookie")
        if own and not self._has_new_cookies:
            return headers
        cookie = merge_cookies(own, hooks.cookies_for(self.current.url, self._request.partition))
        if not cookie or cookie == own:
            return headers
        return (*(field for field in headers if field[0].lower() != "cookie"), ("Cookie", cookie))

    def _upgrade(self, target: AllowedUrl, hsts: Hsts) -> AllowedUrl:
        """The URL that is asked in place of this one, where its host wants https; a hop that nobody dialled."""
        upgraded = hsts.upgrade_url(target.url, self._request.partition)
        if upgraded is None:
            return target
        if self.hops and len(self.hops) >= self._request.redirects.max_hops:
            raise EgressRefused(
                Code.REDIRECT_LIMIT, f"{self._first.host} redirects more often than is followed"
            )
        secure = self._judge(upgraded, target.scope, None)
        here = target.url.normalized
        self.hops.append(Hop(url=here, address="", status=_UPGRADE_STATUS, protocol=UPGRADE_PROTOCOL))
        self._tell_redirect(here, secure.url.normalized, _UPGRADE_STATUS)
        return secure

    def _tell_redirect(self, from_url: str, to_url: str, status: int) -> None:
        if self.listener is not None:
            self.listener.tell(RedirectedEvent(from_url=from_url, to_url=to_url, status=status))

    def _confirm(self, judged: AllowedUrl) -> AllowedUrl:
        if judged.policy is self._egress.current():
            return judged
        return self._judge(judged.url.href, judged.scope, None)

    def _judge(self, untrusted_url: str, scope: ExceptionScope, base: ParsedUrl | None) -> AllowedUrl:
        verdict = judge_url(untrusted_url, self._egress.current(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            self.heading = verdict.host
            is_led = self._answering is not None
            where = f"{self.current.url.host} redirects to a refused target: " if is_led else ""
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
