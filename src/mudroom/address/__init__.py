"""URLs parsed as a browser parses them, and judged: may we go there?"""

from mudroom.address.canonical import canonical_key
from mudroom.address.classify import METADATA_ADDRESSES, classify_address
from mudroom.address.credentials import strip_credentials
from mudroom.address.dial import AddressVerdict, AllowedAnswers, RefusedAnswers, judge_address, judge_answers
from mudroom.address.judge import AllowedUrl, RefusedUrl, judge_url
from mudroom.address.names import normalise_name, show_host
from mudroom.address.parse import MAX_URL_CHARS, ParsedUrl, parse_url
from mudroom.address.policy import AllowedOrigin, EgressPolicy, EgressSource, ExceptionScope
from mudroom.address.ranges import AddressClass, IPAddress, IPNetwork
from mudroom.address.site import is_same_host, is_same_origin, is_same_site, registrable_domain, site_of

__all__ = [
    "MAX_URL_CHARS",
    "METADATA_ADDRESSES",
    "AddressClass",
    "AddressVerdict",
    "AllowedAnswers",
    "AllowedOrigin",
    "AllowedUrl",
    "EgressPolicy",
    "EgressSource",
    "ExceptionScope",
    "IPAddress",
    "IPNetwork",
    "ParsedUrl",
    "RefusedAnswers",
    "RefusedUrl",
    "canonical_key",
    "classify_address",
    "is_same_host",
    "is_same_origin",
    "is_same_site",
    "judge_address",
    "judge_answers",
    "judge_url",
    "normalise_name",
    "parse_url",
    "registrable_domain",
    "show_host",
    "site_of",
    "strip_credentials",
]
