"""What peers write into headers: nothing of it breaks us, and nothing of it goes to somebody else."""

from hypothesis import given
from hypothesis import strategies as st

from mudroom.address import parse_url, registrable_domain
from mudroom.fetch import CookieJar, Hsts, MemoryHstsStore, check_not_modified, read_validators
from mudroom.fetch.hsts import parse_hsts
from mudroom.fetch.set_cookie import parse_cookie_date, parse_set_cookie
from mudroom.net import check_request_headers
from mudroom.testing.clocks import FixedClock

VALUE = st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=60)
SIGNS = st.text('ab=;, \t"\\.-_09TGM:/', max_size=60)
COOKIE = st.one_of(
    VALUE,
    SIGNS,
    st.builds(
        "{}={}; Domain={}; Path={}{}".format,
        st.sampled_from(["a", "b", "__Host-a", "__Secure-a", ""]),
        st.sampled_from(["1", "", "x=y"]),
        st.sampled_from(["", "a.test", "b.a.test", ".a.test", "test", "co.uk", "x.co.uk", "8.8.8.8", "."]),
        st.sampled_from(["", "/", "/p", "/p/q", "p"]),
        st.sampled_from(["", "; Secure", "; Max-Age=5", "; Max-Age=0"]),
    ),
)
HOSTS = st.sampled_from(
    ["a.test", "b.a.test", "ca.test", "a.test.b.test", "x.co.uk", "y.co.uk", "8.8.8.8", "co.uk"]
)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from(["", ":8080"]),
    st.sampled_from(["/", "/p", "/p/q", "/pq"]),
)


@given(st.one_of(VALUE, SIGNS))
def test_any_header_is_read_or_passed_over(value: str) -> None:
    parse_hsts(value)
    parse_cookie_date(value)
    parse_set_cookie(value, 0.0)


@given(st.lists(st.tuples(URLS, COOKIE), max_size=12), URLS)
def test_a_cookie_comes_from_the_same_scheme_and_site_and_can_be_sent(
    received: list[tuple[str, str]], asked: str
) -> None:
    jar, there = CookieJar(FixedClock(), max_per_site=5, max_cookies=8), parse_url(asked)
    assert there is not None
    senders = []
    for text, value in received:
        url = parse_url(text)
        assert url is not None
        jar.receive(url, "", [value])
        senders.append(url)
    assert len(jar) <= 8
    cookie = jar.cookies_for(there, "")
    if cookie:
        check_request_headers((("Cookie", cookie),))
        site = registrable_domain(there.host) or there.host
        assert any(
            url.scheme == there.scheme and (registrable_domain(url.host) or url.host) == site
            for url in senders
        )
    assert jar.cookies_for(there, "other") == ""


@given(st.lists(st.tuples(URLS, st.one_of(VALUE, st.just("max-age=9; includeSubDomains"))), max_size=8), URLS)
def test_an_upgrade_changes_the_scheme_alone_and_is_done_once(
    learned: list[tuple[str, str]], asked: str
) -> None:
    hsts, url = Hsts(MemoryHstsStore(max_hosts=3), FixedClock()), parse_url(asked)
    assert url is not None
    for text, value in learned:
        teacher = parse_url(text)
        assert teacher is not None
        hsts.learn(teacher, (("Strict-Transport-Security", value),), "")
    upgraded = hsts.upgrade_url(url, "")
    if upgraded is not None:
        then = parse_url(upgraded)
        assert then is not None
        assert (url.scheme, then.scheme, then.host) == ("http", "https", url.host)
        assert then.request_target == url.request_target
        assert hsts.upgrade_url(then, "") is None
        assert any(text.startswith("https:") for text, _ in learned)


@given(VALUE, VALUE, st.one_of(VALUE, st.just("Accept, Cookie")))
def test_an_answer_serves_the_request_that_it_was_for(etag: str, cookie: str, vary: str) -> None:
    sent = (("Accept", "text/html"), ("Cookie", cookie))
    headers = (("ETag", f'"{etag}"'), ("Last-Modified", etag), ("Vary", vary))
    validators = read_validators("http://a.test/", headers, sent)
    if validators is not None:
        check_not_modified(validators, "http://a.test/", (), sent)
