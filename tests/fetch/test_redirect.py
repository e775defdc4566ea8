import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.errors import Code, EgressRefused
from mudroom.fetch.redirect import check_step, find_location, is_redirect, keep_headers, next_method
from mudroom.fetch.request import RedirectScope


def parse(url: str) -> ParsedUrl:
    parsed = parse_url(url)
    assert parsed is not None
    return parsed


METHODS = [
    # status, method, then: Fetch standard, HTTP-redirect fetch; RFC 9110 section 15.4
    (301, "GET", "GET"),
    (301, "POST", "GET"),
    (301, "HEAD", "HEAD"),
    (302, "PUT", "GET"),
    (302, "HEAD", "HEAD"),
    (303, "GET", "GET"),
    (303, "POST", "GET"),
    (303, "HEAD", "GET"),
    (307, "POST", "POST"),
    (307, "HEAD", "HEAD"),
    (308, "PUT", "PUT"),
    (308, "GET", "GET"),
]


@pytest.mark.parametrize(("status", "method", "then"), METHODS)
def test_the_method_after_a_redirect(status: int, method: str, then: str) -> None:
    assert next_method(status, method) == then


@pytest.mark.parametrize(
    ("status", "is_followed"),
    [
        (301, True),
        (302, True),
        (303, True),
        (307, True),
        (308, True),
        (300, False),
        (304, False),
        (305, False),
        (306, False),
        (200, False),
        (201, False),
    ],
)
def test_which_statuses_are_followed(status: int, is_followed: bool) -> None:
    assert is_redirect(status) is is_followed


CALLERS = (
    ("Accept", "text/html"),
    ("accept-language", "de"),
    ("USER-AGENT", "x"),
    ("Authorization", "Bearer x"),
    ("Cookie", "a=b"),
    ("X-Api-Key", "x"),
    ("Referer", "http://a.test/"),
)
KEPT_ACROSS = CALLERS[:3]

ORIGINS = [
    ("the same origin", "http://a.test/1", "http://a.test/2", CALLERS),
    ("the default port written out", "http://a.test/", "http://a.test:80/", CALLERS),
    ("another host", "http://a.test/", "http://b.test/", KEPT_ACROSS),
    ("a subdomain", "http://a.test/", "http://www.a.test/", KEPT_ACROSS),
    ("another port", "http://a.test/", "http://a.test:8080/", KEPT_ACROSS),
    ("another scheme", "http://a.test/", "https://a.test/", KEPT_ACROSS),
]


@pytest.mark.parametrize(
    ("here", "there", "kept"), [row[1:] for row in ORIGINS], ids=[row[0] for row in ORIGINS]
)
def test_a_change_of_origin_drops_what_the_caller_sent(here: str, there: str, kept: object) -> None:
    assert keep_headers(CALLERS, parse(here), parse(there), keeps_body=True) == kept


def test_a_dropped_body_takes_its_headers_along() -> None:
    headers = (("Content-Type", "text/plain"), ("content-encoding", "gzip"), ("X-Other", "1"))
    kept = keep_headers(headers, parse("http://a.test/"), parse("http://a.test/2"), keeps_body=False)
    assert kept == (("X-Other", "1"),)


def test_a_condition_is_put_to_one_address_only() -> None:
    headers = (
        ("If-None-Match", '"v1"'),
        ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("X-Other", "1"),
    )
    kept = keep_headers(headers, parse("http://a.test/1"), parse("http://a.test/2"), keeps_body=True)
    assert kept == (("X-Other", "1"),)


STEPS = [
    ("https to http", "https://a.test/", "http://a.test/", RedirectScope.ANY, Code.REDIRECT_DOWNGRADE),
    (
        "https to http elsewhere",
        "https://a.test/",
        "http://b.test/",
        RedirectScope.ANY,
        Code.REDIRECT_DOWNGRADE,
    ),
    ("http to https", "http://a.test/", "https://a.test/", RedirectScope.SAME_HOST, None),
    ("elsewhere, anywhere allowed", "http://a.test/", "http://b.test/", RedirectScope.ANY, None),
    (
        "elsewhere, same host only",
        "http://a.test/",
        "http://b.test/",
        RedirectScope.SAME_HOST,
        Code.REDIRECT_CROSS_HOST,
    ),
    (
        "another port, same host only",
        "http://a.test/",
        "http://a.test:8080/",
        RedirectScope.SAME_HOST,
        Code.REDIRECT_CROSS_HOST,
    ),
    (
        "www, same host only",
        "https://a.example/",
        "https://www.a.example/",
        RedirectScope.SAME_HOST,
        Code.REDIRECT_CROSS_HOST,
    ),
    ("www, same site only", "https://a.example/", "https://www.a.example/", RedirectScope.SAME_SITE, None),
    (
        "a neighbour on a shared suffix",
        "https://a.github.io/",
        "https://b.github.io/",
        RedirectScope.SAME_SITE,
        Code.REDIRECT_CROSS_HOST,
    ),
    (
        "a look-alike",
        "https://a.example/",
        "https://a.example.evil.example/",
        RedirectScope.SAME_SITE,
        Code.REDIRECT_CROSS_HOST,
    ),
]


@pytest.mark.parametrize(
    ("here", "there", "scope", "code"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS]
)
def test_how_far_a_redirect_may_lead(here: str, there: str, scope: RedirectScope, code: Code | None) -> None:
    if code is None:
        check_step(parse(here), parse(here), parse(there), scope)
        return
    with pytest.raises(EgressRefused) as caught:
        check_step(parse(here), parse(here), parse(there), scope)
    assert caught.value.code is code


LOCATIONS = [
    ("as written", (("Location", "/next"),), "/next"),
    ("in any case", (("LOCATION", "/next"),), "/next"),
    ("the same twice", (("Location", "/next"), ("location", "/next")), "/next"),
    ("UTF-8 bytes", (("Location", "/caf\xc3\xa9"),), "/café"),
    ("Latin-1 bytes", (("Location", "/caf\xe9"),), "/café"),
]


@pytest.mark.parametrize(
    ("headers", "location"), [row[1:] for row in LOCATIONS], ids=[row[0] for row in LOCATIONS]
)
def test_the_target_is_read_as_it_was_written(headers: tuple[tuple[str, str], ...], location: str) -> None:
    assert find_location(headers, "a.test") == location


@pytest.mark.parametrize(
    "headers",
    [(), (("Location", ""),), (("Location", "/a"), ("Location", "/b"))],
    ids=["none", "empty", "two"],
)
def test_a_redirect_without_one_target_is_invalid(headers: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(EgressRefused) as caught:
        find_location(headers, "a.test")
    assert caught.value.code is Code.REDIRECT_INVALID
