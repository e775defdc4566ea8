from collections.abc import Callable
from dataclasses import replace

import pytest

from mudroom.address import EgressPolicy, ExceptionScope
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import (
    Fetcher,
    FetchOptions,
    FetchRequest,
    Validators,
    check_not_modified,
    condition_headers,
    read_validators,
)
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

Build = Callable[..., Fetcher]
Headers = tuple[tuple[str, str], ...]

URL = "https://site.test/page"
OLD = "Mon, 02 Nov 2026 10:00:00 GMT"
PROFILE: Headers = (("User-Agent", "mudroom"), ("Accept", "text/html"), ("Accept-Language", "en"))


def ask(url: str, method: str = "GET", headers: Headers = ()) -> FetchRequest:
    return FetchRequest(method, url, headers=headers, initiator_scope=ExceptionScope.operator())


def read(*headers: tuple[str, str], sent: Headers = PROFILE, principal: str = "") -> Validators:
    validators = read_validators(URL, headers, sent, principal=principal)
    assert validators is not None
    return validators


# ---- reading and sending ----


READ = [
    ("a strong tag", (("ETag", '"a"'),), '"a"', ""),
    ("a weak tag", (("etag", 'W/"a"'),), 'W/"a"', ""),
    ("an empty tag", (("ETag", '""'),), '""', ""),
    ("a date", (("Last-Modified", OLD),), "", OLD),
    ("both", (("ETag", '"a"'), ("Last-Modified", OLD)), '"a"', OLD),
    ("a tag without quotes, and a date", (("ETag", "a"), ("Last-Modified", OLD)), "", OLD),
    ("two tags, and a date", (("ETag", '"a"'), ("ETag", '"b"'), ("Last-Modified", OLD)), "", OLD),
    ("a tag, and a date that is none", (("ETag", '"a"'), ("Last-Modified", "yesterday")), '"a"', ""),
]


@pytest.mark.parametrize(("headers", "etag", "date"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_what_an_answer_can_be_known_by(headers: Headers, etag: str, date: str) -> None:
    validators = read(*headers)
    assert (validators.etag, validators.last_modified) == (etag, date)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("ETag", "unquoted"),),
        (("ETag", '"a\tb"'),),
        (("ETag", f'"{"x" * 2000}"'),),
        (("ETag", '"a"'), ("Vary", "*")),
        (("ETag", '"a"'), ("Vary", "Accept, *")),
    ],
)
def test_what_no_later_answer_can_be_held_against(headers: Headers) -> None:
    assert read_validators(URL, headers, PROFILE) is None


def test_a_condition_names_all_that_is_known() -> None:
    both = read(("ETag", 'W/"a"'), ("Last-Modified", OLD))
    assert condition_headers(both) == (("If-None-Match", 'W/"a"'), ("If-Modified-Since", OLD))
    assert condition_headers(read(("ETag", '"a"'))) == (("If-None-Match", '"a"'),)
    assert condition_headers(read(("Last-Modified", OLD))) == (("If-Modified-Since", OLD),)


# ---- what a 304 says, and to whom ----


TOKEN = ("Authorization", "Bearer secret")
HOLDS: list[tuple[str, Headers, Headers, Headers]] = [
    ("nothing differs", (), PROFILE, PROFILE),
    ("the condition itself", (), PROFILE, (*PROFILE, ("If-None-Match", '"a"'))),
    ("another browser's name", (), PROFILE, (("User-Agent", "other"), *PROFILE[1:])),
    ("another order", (), (*PROFILE, TOKEN, ("X-Key", "1")), (("x-key", "1"), *PROFILE, TOKEN)),
    ("a language the page does not vary by", (), PROFILE, (*PROFILE[:2], ("Accept-Language", "de"))),
    ("a field that it varies by, unchanged", (("Vary", "Accept-Language"),), PROFILE, PROFILE),
]
FAILS: list[tuple[str, Headers, Headers, Headers]] = [
    ("a token that is gone", (), (*PROFILE, TOKEN), PROFILE),
    ("a token that is new", (), PROFILE, (*PROFILE, TOKEN)),
    ("another token", (), (*PROFILE, TOKEN), (*PROFILE, ("Authorization", "Bearer other"))),
    ("another cookie", (), (*PROFILE, ("Cookie", "a=1")), (*PROFILE, ("Cookie", "a=2"))),
    ("another key in a field of its own", (), (*PROFILE, ("X-Api-Key", "1")), (*PROFILE, ("X-Api-Key", "2"))),
    (
        "a language that it varies by",
        (("Vary", "accept-encoding, ACCEPT-LANGUAGE"),),
        PROFILE,
        (*PROFILE[:2], ("Accept-Language", "de")),
    ),
    ("a field that it varies by, gone", (("Vary", "Accept"),), PROFILE, (PROFILE[0], PROFILE[2])),
]


@pytest.mark.parametrize(("vary", "first", "then"), [row[1:] for row in HOLDS], ids=[row[0] for row in HOLDS])
def test_an_unchanged_page_serves_the_same_asker(vary: Headers, first: Headers, then: Headers) -> None:
    check_not_modified(read(("ETag", '"a"'), *vary, sent=first), URL, (), then)


@pytest.mark.parametrize(("vary", "first", "then"), [row[1:] for row in FAILS], ids=[row[0] for row in FAILS])
def test_an_unchanged_page_serves_nobody_else(vary: Headers, first: Headers, then: Headers) -> None:
    with pytest.raises(FetchFailed) as caught:
        check_not_modified(read(("ETag", '"a"'), *vary, sent=first), URL, (), then)
    assert caught.value.code is Code.HTTP_STATUS
    assert "secret" not in caught.value.message


def test_an_unchanged_page_serves_no_other_principal_partition_or_address() -> None:
    validators = read(("ETag", '"a"'), principal="ann")
    check_not_modified(validators, URL, (), PROFILE, principal="ann")
    for url, principal, partition in (
        (URL, "bob", ""),
        (URL, "ann", "tab"),
        (URL, "", "ann"),
        (f"{URL}2", "ann", ""),
    ):
        with pytest.raises(FetchFailed):
            check_not_modified(validators, url, (), PROFILE, principal=principal, partition=partition)


@pytest.mark.parametrize(
    ("etag", "holds"), [('"a"', True), ('W/"a"', True), ("", True), ('"b"', False), ('W/"b"', False)]
)
def test_a_304_about_another_version_serves_nobody(etag: str, holds: bool) -> None:
    headers = (("ETag", etag),) if etag else ()
    if holds:
        check_not_modified(read(("ETag", '"a"')), URL, headers, PROFILE)
    else:
        with pytest.raises(FetchFailed):
            check_not_modified(read(("ETag", '"a"')), URL, headers, PROFILE)


def test_validators_hold_no_credential_and_none_at_all_leaves_no_digest() -> None:
    assert "secret" not in repr(read(("ETag", '"a"'), sent=(*PROFILE, TOKEN)))
    assert read(("ETag", '"a"')).credential_digest == ""


# ---- in a fetch ----


@pytest.mark.parametrize("status", [304, 206])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_answer_to_a_question_nobody_asked_is_a_failure(
    fetcher_for: Build, status: int, method: str
) -> None:
    async with SiteServer(Route(path="/", status=status)) as site:
        with pytest.raises(FetchFailed) as caught:
            await fetcher_for(site).fetch(ask(site.url("/"), method))
        assert caught.value.code is Code.HTTP_STATUS
        assert [hop.status for hop in caught.value.hops] == [status]


async def test_a_page_that_has_not_changed_is_known_again(fetcher_for: Build) -> None:
    async with SiteServer(Route(path="/", body="hello", etag='"v1"')) as site:
        fetcher, request = fetcher_for(site), ask(site.url("/"))
        first = await fetcher.fetch(request)
        validators = read_validators(first.final.normalized, first.headers, first.sent_headers)
        assert validators is not None
        again = await fetcher.fetch(replace(request, headers=condition_headers(validators)))
        assert (again.status, again.body) == (304, b"")
        check_not_modified(validators, again.final.normalized, again.headers, again.sent_headers)


async def test_who_asks_without_the_token_never_gets_the_body_of_who_had_one(fetcher_for: Build) -> None:
    then = (Route(path="/", status=304),)
    async with SiteServer(Route(path="/", body="for A", headers=(("ETag", '"v1"'),), then=then)) as site:
        fetcher = fetcher_for(site)
        first = await fetcher.fetch(ask(site.url("/"), headers=(TOKEN,)))
        validators = read_validators(first.final.normalized, first.headers, first.sent_headers)
        assert validators is not None
        other = await fetcher.fetch(ask(site.url("/"), headers=condition_headers(validators)))
        assert (other.status, other.body) == (304, b"")
        with pytest.raises(FetchFailed):
            check_not_modified(validators, other.final.normalized, other.headers, other.sent_headers)
        with pytest.raises(FetchFailed):  # and without a condition the peer's 304 is no answer at all
            await fetcher.fetch(ask(site.url("/")))


async def test_conditions_and_ranges_do_not_follow_to_another_origin() -> None:
    condition = (
        ("If-None-Match", '"v1"'),
        ("If-Modified-Since", OLD),
        ("Range", "bytes=5-"),
        ("If-Range", '"v1"'),
    )
    transport = ScriptedTransport(
        {
            "http://one.test/": PaperAnswer(status=302, headers=(("Location", "http://two.test/"),)),
            "http://two.test/": PaperAnswer(status=304),
        }
    )
    resolver = ScriptedResolver({"one.test": "8.8.8.8", "two.test": "8.8.4.4"})
    fetcher = Fetcher(transport, resolver, EgressPolicy(), FetchOptions(), FixedClock())
    with pytest.raises(FetchFailed) as caught:
        await fetcher.fetch(FetchRequest("GET", "http://one.test/", headers=condition))
    assert caught.value.code is Code.HTTP_STATUS
    first, second = transport.dials
    assert set(condition) <= set(first.headers)
    assert not {name for name, _ in condition} & {name for name, _ in second.headers}
