"""What holds of any text and any address."""

from ipaddress import IPv4Address

import ada_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mudroom.address import (
    AllowedUrl,
    EgressPolicy,
    ExceptionScope,
    IPAddress,
    ParsedUrl,
    RefusedUrl,
    canonical_key,
    judge_address,
    judge_url,
    parse_url,
)
from mudroom.address.parse import find_raw_authority
from mudroom.errors import Code

PLAIN = EgressPolicy()
OPERATOR = ExceptionScope.operator()
BASE = parse_url("https://base.example/dir/page?query#fragment")

PIECES = st.sampled_from(
    [
        *(
            "http:",
            "https:",
            "ftp:",
            "/",
            "//",
            "\\",
            "@",
            ":",
            "?",
            "#",
            ".",
            "..",
            "%",
            "%41",
            "%2e",
            "%2F",
            "[",
            "]",
        ),
        *(
            "127.0.0.1",
            "0x7f",
            "1",
            "a",
            "example",
            "localhost",
            "::1",
            "①",
            "。",
            "\t",
            "\n",
            " ",
            "80",
            "443",
            "ä",
            "é",
        ),
    ]
)
URL_TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=10).map(lambda parts: "http://" + "".join(parts)),
)
BASES = st.sampled_from([None, BASE])


@settings(max_examples=400, deadline=None)
@given(URL_TEXTS, BASES)
@example("http:a@b", None)
def test_every_text_has_a_verdict_and_never_another_host_than_the_browsers(
    text: str, base: ParsedUrl | None
) -> None:
    judged = judge_url(text, PLAIN, OPERATOR, base=base)
    assert isinstance(judged, AllowedUrl | RefusedUrl)
    if isinstance(judged, AllowedUrl):
        parsed = ada_url.URL(judged.url.href)
        assert parsed.hostname.strip("[]").removesuffix(".") == judged.url.host
        assert (parsed.username, parsed.password) == ("", "")
        assert parsed.pathname == judged.url.path


@settings(max_examples=400, deadline=None)
@given(URL_TEXTS, BASES)
def test_the_raw_authority_parses_to_the_host_of_the_whole_url(text: str, base: ParsedUrl | None) -> None:
    """Else a host could hide from the judgement of what was written."""
    url = parse_url(text, base=base)
    if url is None:
        return
    raw = find_raw_authority(text, base)
    if raw is None:
        assert base is not None
        assert url.host == base.host
    else:
        assert parse_url(f"{url.scheme}://{raw}/").host == url.host


@settings(max_examples=200, deadline=None)
@given(URL_TEXTS)
def test_a_key_is_its_own_key_and_names_the_same_host(text: str) -> None:
    url = parse_url(text)
    if url is None or not all(url.host.split(".")):  # such a host is refused, and never gets a key
        return
    key = canonical_key(url)
    again = parse_url(key)
    assert again is not None
    assert canonical_key(again) == key
    assert (again.scheme, again.host, again.port) == (url.scheme, url.host, url.port)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.ip_addresses(), st.ip_addresses(network="::/64"), st.ip_addresses(network="64:ff9b::/32"))
)
def test_what_is_allowed_is_global_for_the_standard_library_too(address: IPAddress) -> None:
    verdict = judge_address(address, PLAIN, OPERATOR)
    if verdict.is_allowed and verdict.kind.value == "public":
        assert address.is_global
        assert not address.is_multicast


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4))
def test_a_literal_is_judged_as_its_address(address: IPv4Address) -> None:
    judged = judge_url(f"http://{address}/", PLAIN, OPERATOR)
    allowed = judge_address(address, PLAIN, OPERATOR).is_allowed
    assert isinstance(judged, AllowedUrl) is allowed
    if not allowed:
        assert judged.code is Code.DENIED_ADDRESS


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4), st.sampled_from(["int", "hex", "octal"]))
def test_no_other_spelling_of_an_address_is_a_host(address: IPv4Address, form: str) -> None:
    number = int(address)
    text = {"int": str(number), "hex": hex(number), "octal": f"0{number:o}"}[form]
    judged = judge_url(f"http://{text}/", PLAIN, OPERATOR)
    assert isinstance(judged, RefusedUrl)
    assert judged.code is Code.INVALID_HOST
