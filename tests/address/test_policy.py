"""What an operator may write, and what is a fault of configuration."""

from ipaddress import IPv6Network

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope, normalise_name


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8000",
        "https://127.0.0.1:8443",
        "http://[::1]:8000",
        "http://10.0.0.7:80",
        "https://[fd12::1]:443",
    ],
)
def test_an_exact_origin_is_named_as_it_is_written(text: str) -> None:
    assert AllowedOrigin.parse(text).name == text


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8000",
        "http://127.0.0.1",
        "http://127.0.0.1:8000/",
        "http://127.0.0.1:8000/x",
        "http://127.0.0.1:",
        "127.0.0.1:8000",
        "ftp://127.0.0.1:21",
        "http://0x7f.1:8000",
        "http://127.1:8000",
        "http://u@127.0.0.1:8000",
        "HTTP://127.0.0.1:8000",
        "http://127.0.0.1:08000",
        "http://127.0.0.1.:8000",
        "http://[0:0:0:0:0:0:0:1]:8000",
        " http://127.0.0.1:8000",
        "http://intranet.example:8000",
        "",
    ],
)
def test_anything_but_scheme_literal_and_port_is_a_fault_that_shows_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as http://127\.0\.0\.1:8000"):
        AllowedOrigin.parse(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://169.254.169.254:80", "metadata"),
        ("http://[fd00:ec2::254]:80", "metadata"),
        ("http://[::ffff:7f00:1]:8000", "IPv4-mapped"),
        ("http://[64:ff9b::7f00:1]:8000", "NAT64"),
        ("http://[2002:7f00:1::]:8000", "6to4"),
        ("http://0.0.0.0:8000", "unspecified"),
        ("http://[ff02::1]:8000", "multicast"),
    ],
)
def test_an_address_that_nothing_may_open_is_a_fault(text: str, kind: str) -> None:
    with pytest.raises(ValueError, match=kind):
        AllowedOrigin.parse(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.ORG", "example.org"),
        ("*.example.org", "example.org"),
        (".example.org.", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("10.0.0.1", "10.0.0.1"),
        ("FD12::1", "fd12::1"),
        ("[fd12::1]", "fd12::1"),
    ],
)
def test_a_host_that_an_operator_writes_is_brought_into_one_form(text: str, name: str) -> None:
    assert normalise_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "*.",
        ".",
        "a.example/x",
        "a.example?x",
        "a.example:80",
        "u@a.example",
        "http://a.example",
        "a b",
    ],
)
def test_what_is_no_host_is_a_fault(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no host; write"):
        normalise_name(text)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_cannot_be_is_a_fault(port: int) -> None:
    with pytest.raises(ValueError, match="is no port"):
        EgressPolicy(ports=frozenset({port}))


def test_a_nat64_prefix_of_another_length_is_a_fault() -> None:
    with pytest.raises(ValueError, match="is no NAT64 prefix"):
        EgressPolicy(nat64_prefixes=(IPv6Network("64:ff9b::/97"),))


def test_a_scope_covers_all_none_or_what_it_names() -> None:
    assert ExceptionScope.operator().covers("x")
    assert not ExceptionScope.none().covers("x")
    assert ExceptionScope.of("x").covers("x")
    assert not ExceptionScope.of("x").covers("y")
