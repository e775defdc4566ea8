"""May we go there? The judgement of every URL, before any name is looked up.

Links, redirect targets and sitemap locations come here as they were written: a browser's parse turns
`0x7f.1` and circled digits into 127.0.0.1, and that somebody wrote them so is the sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address

from mudroom.address.dial import judge_address
from mudroom.address.names import bracket_host, is_denied_name, is_possible_name, show_host
from mudroom.address.parse import DEFAULT_PORTS, ParsedUrl, find_raw_authority, parse_href, split_href
from mudroom.address.policy import EgressPolicy, ExceptionScope
from mudroom.errors import Code

__all__ = ["AllowedUrl", "RefusedUrl", "judge_url"]

_WEB_PORTS = frozenset(DEFAULT_PORTS.values())
_SHOWN_SCHEMES = frozenset(
    {
        "about",
        "blob",
        "chrome",
        "data",
        "file",
        "ftp",
        "ftps",
        "gopher",
        "javascript",
        "ldap",
        "magnet",
        "mailto",
        "sftp",
        "sms",
        "ssh",
        "tel",
        "view-source",
        "ws",
        "wss",
    }
)
"""Schemes that messages name; any other could be a sentence of whoever wrote the URL (decision 13)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedUrl:
    """A URL that may be requested, once the addresses of its host pass too.

    Shapes: `exception` names what opened it: an exact origin, or the network of a literal; else None.
    `policy` and `scope` are those that it was judged under, and the verdict says nothing beyond them.
    """

    url: ParsedUrl
    exception: str | None = None
    policy: EgressPolicy = field(compare=False, repr=False)
    scope: ExceptionScope = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedUrl:
    """Why a URL is not requested. The message names the host and nothing else of the URL."""

    code: Code
    message: str
    host: str = ""


def judge_url(
    untrusted_url: str,
    policy: EgressPolicy,
    scope: ExceptionScope,
    *,
    base: ParsedUrl | None = None,
) -> AllowedUrl | RefusedUrl:
    """Whether a URL as it was written may be requested, and under which exception.

    Order: form, scheme, credentials, numbers in disguise and impossible names, denied names, port,
    the address of a literal; first match wins. A name and a port that passed are not judged again under the
    same policy: their verdict depends on nothing else.
    Raises: nothing; every string has a verdict.
    Source: decision 4; WHATWG URL; rows in tests/address/test_judge.py.
    """
    href = parse_href(untrusted_url, base.href if base is not None else None)
    if href is None:
        return RefusedUrl(code=Code.INVALID_URL, message="this is no URL that a browser could open")
    url = split_href(href)
    if url is None:
        scheme = href.partition(":")[0]
        shown = f"{scheme} URLs" if scheme in _SHOWN_SCHEMES else "URLs of this scheme"
        return RefusedUrl(
            code=Code.INVALID_SCHEME, message=f"{shown} are not fetched; only http and https are"
        )
    if not url.has_credentials and "@" not in untrusted_url and policy.has_passed(url.origin):
        return AllowedUrl(url=url, policy=policy, scope=scope)
    return _judge_authority(untrusted_url, url, base) or _judge_target(url, policy, scope)


def _judge_authority(untrusted_url: str, url: ParsedUrl, base: ParsedUrl | None) -> RefusedUrl | None:
    """What is wrong with the authority as it was written; None: nothing, or the base's stands."""
    is_ipv4 = isinstance(url.address, IPv4Address)
    # Only these two judgements read the raw form, and most URLs have neither.
    raw_authority = find_raw_authority(untrusted_url, base) if is_ipv4 or "@" in untrusted_url else None
    if url.has_credentials or (raw_authority is not None and "@" in raw_authority):
        return _refuse(Code.CREDENTIALS, url, "carries a user name or a password in its URL")
    if url.address is None and url.host and not is_possible_name(url.host):
        return _refuse(Code.INVALID_HOST, url, "is no name that can be looked up")
    if is_ipv4 and raw_authority is not None and _read_host(raw_authority) != url.host:
        return _refuse(Code.INVALID_HOST, url, "is an address written in disguise")
    return None


def _read_host(raw_authority: str) -> str:
    return raw_authority.partition(":")[0].removesuffix(".")


def _judge_target(url: ParsedUrl, policy: EgressPolicy, scope: ExceptionScope) -> AllowedUrl | RefusedUrl:
    if is_denied_name(url.host, policy.deny_hosts):
        return _refuse(Code.DENIED_HOST, url, "is a name that is never visited")
    exception = _find_origin_exception(url, policy, scope)
    if exception is None and not _is_open_port(url, policy):
        return _refuse(
            Code.INVALID_PORT, url, f"is asked for on port {url.port} over {url.scheme}, which is not open"
        )
    if url.address is None:
        policy.remember(url.origin)
        return AllowedUrl(url=url, policy=policy, scope=scope)
    verdict = judge_address(url.address, policy, scope, url_exception=exception)
    if not verdict.is_allowed:
        return RefusedUrl(code=Code.DENIED_ADDRESS, message=verdict.message, host=url.host)
    return AllowedUrl(url=url, exception=verdict.exception, policy=policy, scope=scope)


def _find_origin_exception(url: ParsedUrl, policy: EgressPolicy, scope: ExceptionScope) -> str | None:
    if url.address is None or not policy.allow_origins:
        return None
    name = f"{url.scheme}://{bracket_host(url.host)}:{url.port}"
    return name if scope.covers(name) and policy.find_origin(name) is not None else None


def _is_open_port(url: ParsedUrl, policy: EgressPolicy) -> bool:
    """Port 80 is for http and 443 for https; any other port serves both once it was opened."""
    if url.port not in policy.ports:
        return False
    return url.port == DEFAULT_PORTS[url.scheme] or url.port not in _WEB_PORTS


def _refuse(code: Code, url: ParsedUrl, detail: str) -> RefusedUrl:
    return RefusedUrl(code=code, message=f"{show_host(url.host) or 'an empty host'} {detail}", host=url.host)
