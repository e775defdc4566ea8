"""Exceptions, denials, and answers of which all must pass."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest

from mudroom.address import (
    AddressClass,
    AllowedAnswers,
    AllowedOrigin,
    EgressPolicy,
    ExceptionScope,
    RefusedAnswers,
    judge_address,
    judge_answers,
)
from mudroom.errors import Code

LOCAL = IPv4Address("127.0.0.1")
ORIGIN = "http://127.0.0.1:8000"
BY_ORIGIN = EgressPolicy(allow_origins=(AllowedOrigin.parse(ORIGIN),))
BY_NETWORK = EgressPolicy(allow_networks=(ip_network("10.1.0.0/16"), ip_network("fd12::/16")))
OPERATOR, NOBODY = ExceptionScope.operator(), ExceptionScope.none()

# id, address, policy, scope, url_exception, exception that opens it (None: refused)
EXCEPTION_ROWS = [
    ("exact origin", "127.0.0.1", BY_ORIGIN, OPERATOR, ORIGIN, ORIGIN),
    (
        "exact origin, of the same exception",
        "127.0.0.1",
        BY_ORIGIN,
        ExceptionScope.of(ORIGIN),
        ORIGIN,
        ORIGIN,
    ),
    ("exact origin from outside", "127.0.0.1", BY_ORIGIN, NOBODY, ORIGIN, None),
    (
        "exact origin, of another exception",
        "127.0.0.1",
        BY_ORIGIN,
        ExceptionScope.of("10.1.0.0/16"),
        ORIGIN,
        None,
    ),
    ("URL did not match the origin", "127.0.0.1", BY_ORIGIN, OPERATOR, None, None),
    ("origin opens its own address only", "127.0.0.2", BY_ORIGIN, OPERATOR, ORIGIN, None),
    ("an exception nobody made", "127.0.0.1", BY_ORIGIN, OPERATOR, "http://127.0.0.1:9", None),
    ("network, first", "10.1.0.0", BY_NETWORK, OPERATOR, None, "10.1.0.0/16"),
    ("network, last", "10.1.255.255", BY_NETWORK, OPERATOR, None, "10.1.0.0/16"),
    ("network, one after", "10.2.0.0", BY_NETWORK, OPERATOR, None, None),
    ("network, one before", "10.0.255.255", BY_NETWORK, OPERATOR, None, None),
    ("network of IPv6", "fd12::7", BY_NETWORK, OPERATOR, None, "fd12::/16"),
    ("network from outside", "10.1.0.1", BY_NETWORK, NOBODY, None, None),
    (
        "network, of the same exception",
        "10.1.0.1",
        BY_NETWORK,
        ExceptionScope.of("10.1.0.0/16"),
        None,
        "10.1.0.0/16",
    ),
    ("network, of another exception", "10.1.0.1", BY_NETWORK, ExceptionScope.of("fd12::/16"), None, None),
]


@pytest.mark.parametrize("row", EXCEPTION_ROWS, ids=[row[0] for row in EXCEPTION_ROWS])
def test_an_exception_opens_only_what_it_names_and_only_for_its_scope(row: tuple[Any, ...]) -> None:
    _, address, policy, scope, url_exception, expected = row
    verdict = judge_address(ip_address(address), policy, scope, url_exception=url_exception)
    assert (verdict.exception, verdict.is_allowed) == (expected, expected is not None)


@pytest.mark.parametrize("address", ["0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "ff02::1", "::"])
def test_an_allowed_network_never_opens_what_is_no_single_host(address: str) -> None:
    policy = EgressPolicy(allow_networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))
    assert not judge_address(ip_address(address), policy, OPERATOR).is_allowed


@pytest.mark.parametrize("address", ["93.184.216.7", "::ffff:93.184.216.7", "64:ff9b::93.184.216.7"])
def test_denied_networks_hold_also_for_embedded_addresses(address: str) -> None:
    policy = EgressPolicy(deny_networks=(ip_network("93.184.216.0/24"),))
    assert not judge_address(ip_address(address), policy, OPERATOR).is_allowed


def test_a_denial_is_stronger_than_an_exception() -> None:
    network = ip_network("10.0.0.0/8")
    policy = EgressPolicy(allow_networks=(network,), deny_networks=(ip_network("10.9.0.0/16"),))
    assert judge_address(IPv4Address("10.8.0.1"), policy, OPERATOR).is_allowed
    verdict = judge_address(IPv4Address("10.9.0.1"), policy, OPERATOR)
    assert (verdict.is_allowed, verdict.kind) == (False, AddressClass.DENIED)


def test_an_exception_opens_an_own_address() -> None:
    policy = EgressPolicy(
        allow_origins=(AllowedOrigin.parse("http://93.184.215.14:8000"),),
        own_addresses=frozenset({IPv4Address("93.184.215.14")}),
    )
    name = policy.allow_origins[0].name
    verdict = judge_address(IPv4Address("93.184.215.14"), policy, OPERATOR, url_exception=name)
    assert verdict.exception == name


def test_all_answers_must_pass() -> None:
    answers = (IPv4Address("93.184.215.14"), IPv4Address("10.0.0.1"))
    refused = judge_answers(answers, EgressPolicy(), OPERATOR, host="two.example")
    assert isinstance(refused, RefusedAnswers)
    assert refused.code is Code.DENIED_ADDRESS
    assert refused.message == "two.example resolves to a refused address: 10.0.0.1 is private"


def test_no_answer_is_a_failure_of_the_name() -> None:
    refused = judge_answers((), EgressPolicy(), OPERATOR, host="none.example")
    assert isinstance(refused, RefusedAnswers)
    assert refused.code is Code.DNS_FAILURE


def test_good_answers_keep_their_order_and_come_once() -> None:
    one, two = IPv6Address("2606:4700::1"), IPv4Address("93.184.215.14")
    allowed = judge_answers((one, two, one), EgressPolicy(), NOBODY, host="both.example")
    assert isinstance(allowed, AllowedAnswers)
    assert allowed.addresses == (one, two)


def test_each_answer_knows_the_exception_that_opened_it() -> None:
    public, inside = IPv4Address("93.184.215.14"), IPv4Address("10.1.2.3")
    allowed = judge_answers((public, inside), BY_NETWORK, OPERATOR, host="split.example")
    assert isinstance(allowed, AllowedAnswers)
    assert [(one.address, one.exception) for one in allowed.verdicts] == [
        (public, None),
        (inside, "10.1.0.0/16"),
    ]


def test_a_name_on_a_public_page_that_resolves_into_an_allowed_network_is_refused() -> None:
    refused = judge_answers((IPv4Address("10.1.2.3"),), BY_NETWORK, NOBODY, host="inside.example")
    assert isinstance(refused, RefusedAnswers)
    assert refused.code is Code.DENIED_ADDRESS
