"""Ways in that must not work: each row is one that worked against somebody."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from typing import Any

import pytest

from mudroom.address import (
    AllowedOrigin,
    AllowedUrl,
    EgressPolicy,
    ExceptionScope,
    RefusedAnswers,
    RefusedUrl,
    judge_answers,
    judge_url,
    parse_url,
)
from mudroom.errors import Code

OPENED = EgressPolicy(
    allow_origins=(AllowedOrigin.parse("http://127.0.0.1:8000"),),
    allow_networks=(ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8"), ip_network("::/0")),
)
OPERATOR, PAGE = ExceptionScope.operator(), ExceptionScope.none()

# Each literal of a private target, even when the operator opened the target in its plain form.
LITERAL_ROWS = [
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:a00:1::1]",
    "[2001:0:7f00:1::]",
    "[fe80::5efe:127.0.0.1]",
    "[2400:cb00::200:5efe:10.0.0.1]",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "0.0.0.0",
    "[::]",
]


@pytest.mark.parametrize("literal", LITERAL_ROWS)
def test_no_form_of_a_private_or_metadata_address_gets_through_an_exception(literal: str) -> None:
    judged = judge_url(f"http://{literal}/", OPENED, OPERATOR)
    assert isinstance(judged, RefusedUrl)
    assert judged.code is Code.DENIED_ADDRESS


@pytest.mark.parametrize("literal", LITERAL_ROWS)
def test_no_page_links_its_way_in(literal: str) -> None:
    base = parse_url("https://www.example.org/")
    judged = judge_url(f"//{literal}/", OPENED, PAGE, base=base)
    assert isinstance(judged, RefusedUrl)


# URL, the host that is really asked; the reader of half a parser sees another one
CONFUSED_ROWS = [
    ("http://good.example\\@127.0.0.1/", "good.example"),
    ("http://good.example\\.evil.example/", "good.example"),
    ("http://good.example/@127.0.0.1/", "good.example"),
    ("http://good.example?@127.0.0.1/", "good.example"),
    ("http://good.example#@127.0.0.1/", "good.example"),
    ("http://good.example#\\@127.0.0.1/", "good.example"),
    ("http:\\\\good.example", "good.example"),
    ("http:good.example", "good.example"),
    ("\thttp://go\nod.exam\rple/", "good.example"),
]


@pytest.mark.parametrize("row", CONFUSED_ROWS, ids=[row[0] for row in CONFUSED_ROWS])
def test_the_host_that_is_judged_is_the_host_a_browser_asks(row: tuple[Any, ...]) -> None:
    judged = judge_url(row[0], EgressPolicy(), PAGE)
    assert isinstance(judged, AllowedUrl)
    assert judged.url.host == row[1]
    assert parse_url(judged.url.href) == judged.url


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example@127.0.0.1/",
        "http://good.example:80@127.0.0.1/",
        "http://good.example%20@127.0.0.1/",
        "http://127.0.0.1@good.example/",
        "http:\\\\x@good.example",
        "http://a@b@good.example/",
        "http://%40@good.example/",
    ],
)
def test_userinfo_is_refused_whatever_it_looks_like(url: str) -> None:
    judged = judge_url(url, EgressPolicy(), OPERATOR)
    assert isinstance(judged, RefusedUrl)
    assert judged.code is Code.CREDENTIALS


def test_an_answer_in_a_found_nat64_prefix_that_carries_a_private_address_is_refused() -> None:
    policy = EgressPolicy(nat64_prefixes=(IPv6Network("2400:cb00:64::/96"),))
    answer = IPv6Address("2400:cb00:64::a00:1")
    judged = judge_answers((answer,), policy, OPERATOR, host="trap.example")
    assert isinstance(judged, RefusedAnswers)
    assert judged.code is Code.DENIED_ADDRESS


def test_a_link_from_a_public_page_into_an_allowed_network_is_refused() -> None:
    judged = judge_answers((IPv4Address("10.0.0.1"),), OPENED, PAGE, host="inside.example")
    assert isinstance(judged, RefusedAnswers)


@pytest.mark.parametrize(
    "url",
    [
        "http://" + "a." * 30_000 + "example/",
        "http://" + "%61" * 20_000 + "/",
        "http://" + "[" * 60_000,
        "http://" + "@" * 60_000 + "/",
        "http://" + "\u2460" * 20_000 + "/",
        "http://x/" + "%" * 60_000,
        "http:" + "\\" * 60_000,
        "\t" * 65_000,
        "a" * 10_000_000,
        "http://" + "\ud800" * 1000,
    ],
    ids=[
        "labels",
        "escapes",
        "brackets",
        "at signs",
        "circles",
        "percents",
        "slashes",
        "tabs",
        "long",
        "surrogates",
    ],
)
def test_a_monstrous_url_has_a_verdict(url: str) -> None:
    judged = judge_url(url, EgressPolicy(), PAGE)
    assert isinstance(judged, AllowedUrl | RefusedUrl)


# What passed once under a policy opens nothing that would be refused without it.
AFTER_A_PASS_ROWS = [
    ("a user name", "http://user@site.test/a", None, Code.CREDENTIALS),
    ("an empty user name", "http://@site.test/a", None, Code.CREDENTIALS),
    ("another port", "http://site.test:22/a", None, Code.INVALID_PORT),
    ("the port of the other scheme", "https://site.test:80/a", None, Code.INVALID_PORT),
    ("a name below it", "http://denied.site.test/a", None, Code.DENIED_HOST),
    ("a name that begins like it", "http://site.test.denied.test/a", None, Code.DENIED_HOST),
    ("credentials of the page that it stood in", "/a", "http://user:word@site.test/", Code.CREDENTIALS),
]


@pytest.mark.parametrize(
    ("url", "base", "code"), [row[1:] for row in AFTER_A_PASS_ROWS], ids=[row[0] for row in AFTER_A_PASS_ROWS]
)
def test_an_origin_that_passed_opens_no_other_way_in(url: str, base: str | None, code: Code) -> None:
    policy = EgressPolicy(deny_hosts=frozenset({"denied.site.test", "denied.test"}))
    for passing in ("http://site.test/", "https://site.test/b", "http://site.test./"):
        assert isinstance(judge_url(passing, policy, OPERATOR), AllowedUrl)
    judged = judge_url(url, policy, OPERATOR, base=None if base is None else parse_url(base))
    assert isinstance(judged, RefusedUrl)
    assert judged.code is code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"deny_hosts": frozenset({"test"})}, Code.DENIED_HOST),
        ({"ports": frozenset({443})}, Code.INVALID_PORT),
    ],
    ids=["name denied since", "port closed since"],
)
def test_an_origin_that_passed_is_judged_anew_under_another_policy(changes: Any, code: Code) -> None:
    before = EgressPolicy()
    assert isinstance(judge_url("http://site.test/", before, OPERATOR), AllowedUrl)
    judged = judge_url("http://site.test/", replace(before, **changes), OPERATOR)
    assert isinstance(judged, RefusedUrl)
    assert judged.code is code


def test_a_literal_that_passed_for_the_operator_passes_for_no_page() -> None:
    for _ in range(2):
        assert isinstance(judge_url("http://127.0.0.1:8000/", OPENED, OPERATOR), AllowedUrl)
        assert isinstance(judge_url("http://127.0.0.1:8000/", OPENED, PAGE), RefusedUrl)
        assert isinstance(judge_url("http://0x7f.1:8000/", OPENED, OPERATOR), RefusedUrl)


def test_the_verdict_on_an_origin_that_passed_is_in_the_scope_of_whoever_asks() -> None:
    policy = EgressPolicy()
    scopes = [OPERATOR, PAGE, ExceptionScope.of("10.0.0.0/8")]
    judged = [judge_url("http://site.test/", policy, scope) for scope in scopes]
    assert [one.scope for one in judged if isinstance(one, AllowedUrl)] == scopes


def test_no_number_of_origins_fills_the_memory_of_a_policy() -> None:
    policy = EgressPolicy()
    for number in range(10_000):
        policy.remember(f"http://{number}.test")
    assert policy.has_passed("http://9999.test")
    assert not policy.has_passed("http://0.test")
