"""Asking whether something has changed, and what "it has not" may be believed to say.

An earlier answer leaves its validators, and they go out again as `condition_headers` (`resume` has what asks for
the rest of a body). A 304 then says that the earlier body holds, and it says so to one asker alone: `check_not_modified` refuses it to a request that went out with another
credential, with other values of the fields that the answer varies by, or to another URL (decision 9).

On a change of origin the walk of redirects drops these headers, as it does all that a caller sent. A 304 or
206 to a hop that asked for none is a failure of the peer (`check_solicited`), never an answer.

Source: RFC 9110 sections 8.8 and 13.1; RFC 9111 sections 4.1 and 4.3.4.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from mudroom.errors import Code, FetchFailed
from mudroom.net import Headers

__all__ = [
    "Validators",
    "check_not_modified",
    "check_solicited",
    "condition_headers",
    "read_validators",
]

NOT_MODIFIED = 304
PARTIAL_CONTENT = 206
_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})
_NEUTRAL = _CONDITIONS | {
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "if-range",
    "pragma",
    "range",
    "referer",
    "user-agent",
}
"""Fields that say nothing of who asks; every other field of a request may be a credential."""
_ENTITY_TAG = re.compile(r'(W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_HTTP_DATE = re.compile(r"[A-Za-z]{3}, \d\d [A-Za-z]{3} \d{4} \d\d:\d\d:\d\d GMT")
_MAX_TAG_CHARS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """By what an answer can be known again, and for whom. Plain text throughout, so that it can be stored.

    Shapes: `etag` as it was sent, quotes and W/ included, or empty; `last_modified` an HTTP date, or empty;
        one of both is there. `vary` holds field names, lower case, sorted.
    """

    url: str
    """What answered, in normal form: the final URL, not the one that was asked first."""
    etag: str
    last_modified: str
    vary: tuple[str, ...]
    vary_digest: str
    """Over the values that the request had for these fields."""
    credential_digest: str
    """Over principal, partition and all of the request that may tell who asks; empty when there was nothing."""


def read_validators(
    url: str, headers: Headers, sent_headers: Headers, *, principal: str = "", partition: str = ""
) -> Validators | None:
    """The validators of an answer, or None when it has none or varies by things nobody can name.

    Shapes: `url` is the final one in normal form, `headers` the answer's, `sent_headers` those that the hop
        went out with (`Fetched.sent_headers`). A field that is malformed or came twice counts as none.
    """
    vary = _read_vary(headers)
    etag = _single(headers, "etag")
    if not _ENTITY_TAG.fullmatch(etag) or len(etag) > _MAX_TAG_CHARS:
        etag = ""
    last_modified = _single(headers, "last-modified")
    if not _HTTP_DATE.fullmatch(last_modified):
        last_modified = ""
    if "*" in vary or not (etag or last_modified):
        return None
    return Validators(
        url=url,
        etag=etag,
        last_modified=last_modified,
        vary=vary,
        vary_digest=_digest_vary(sent_headers, vary),
        credential_digest=_digest_credential(sent_headers, principal, partition),
    )


def condition_headers(validators: Validators) -> Headers:
    """The fields that ask for a 304 when nothing has changed; both where both are known."""
    fields = (("If-None-Match", validators.etag), ("If-Modified-Since", validators.last_modified))
    return tuple((name, value) for name, value in fields if value)


def check_not_modified(
    validators: Validators,
    url: str,
    headers: Headers,
    sent_headers: Headers,
    *,
    principal: str = "",
    partition: str = "",
) -> None:
    """Nothing, when this 304 says to this asker that the earlier body holds.

    Shapes: `url`, `headers`, `sent_headers`, `principal`, `partition` as for `read_validators`, of the request
        that was answered with 304.
    Raises: FetchFailed HTTP_STATUS; what to do then is to ask again without a condition.
    """
    etag = _single(headers, "etag")
    if url != validators.url:
        what = "another address than the one that the earlier answer came from"
    elif _digest_credential(sent_headers, principal, partition) != validators.credential_digest:
        what = "a request that is not by the one whom the earlier answer was for"
    elif _digest_vary(sent_headers, validators.vary) != validators.vary_digest:
        what = "a request that asks for another form of the page than the earlier one"
    elif etag and validators.etag and etag.removeprefix("W/") != validators.etag.removeprefix("W/"):
        what = "a request about another version than the one that is there"
    else:
        return
    raise FetchFailed(Code.HTTP_STATUS, f"'not modified' (304) came to {what}")


def check_solicited(status: int, sent_headers: Headers, host: str) -> None:
    """Nothing, unless a 304 or 206 came to a hop that asked for none.

    Raises: FetchFailed HTTP_STATUS.
    """
    names = {name.lower() for name, _ in sent_headers}
    if status == NOT_MODIFIED and not names & _CONDITIONS:
        raise FetchFailed(Code.HTTP_STATUS, f"{host} said 'not modified' (304) although nobody had asked")
    if status == PARTIAL_CONTENT and "range" not in names:
        raise FetchFailed(
            Code.HTTP_STATUS, f"{host} sent a part of the body (206) although all was asked for"
        )


def _single(headers: Headers, name: str) -> str:
    """The value of a field that came once; else empty."""
    values = [value for key, value in headers if key.lower() == name]
    return values[0] if len(values) == 1 else ""


def _read_vary(headers: Headers) -> tuple[str, ...]:
    values = [value for name, value in headers if name.lower() == "vary"]
    names = (part.strip().lower() for value in values for part in value.split(","))
    return tuple(sorted({name for name in names if name}))


def _digest_vary(sent_headers: Headers, vary: tuple[str, ...]) -> str:
    values = [[name, [value.strip() for key, value in sent_headers if key.lower() == name]] for name in vary]
    return _digest(values)


def _digest_credential(sent_headers: Headers, principal: str, partition: str) -> str:
    fields = sorted([name.lower(), value] for name, value in sent_headers if name.lower() not in _NEUTRAL)
    return _digest([principal, partition, fields]) if principal or partition or fields else ""


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
