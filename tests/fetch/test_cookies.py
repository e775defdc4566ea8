import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.fetch import CookieJar
from mudroom.fetch.cookies import merge_cookies, read_cookie_names, remove_cookies
from mudroom.fetch.set_cookie import default_path, parse_cookie_date, parse_set_cookie
from mudroom.testing.clocks import FixedClock

NOW = 1_767_323_045.678
DAY = 86_400.0


def url(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    assert parsed is not None
    return parsed


# ---- reading ----


PAIRS = [
    ("a pair", "a=b", ("a", "b")),
    ("white space", " a =\tb ; Path=/", ("a", "b")),
    ("an empty value", "a=", ("a", "")),
    ("a value with signs", "a=b=c d", ("a", "b=c d")),
    ("quotes stay", 'a="b"', ("a", '"b"')),
    ("no name", "=b", ("", "b")),
    ("no sign", "b", ("", "b")),
    ("nothing", "", None),
    ("nothing but a sign", " = ;Secure", None),
    ("a control character", "a=b\x01", None),
    ("a line break", "a=b\r\nX: y", None),
    ("a NUL in an attribute", "a=b; Path=\x00", None),
    ("a tab", "a=b\tc", ("a", "b\tc")),
    ("as long as may be", f"a={'b' * 4095}", ("a", "b" * 4095)),
    ("longer", f"a={'b' * 4096}", None),
]


@pytest.mark.parametrize(("value", "pair"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_name_and_value(value: str, pair: tuple[str, str] | None) -> None:
    cookie = parse_set_cookie(value, NOW)
    assert (None if cookie is None else (cookie.name, cookie.value)) == pair


EXPIRY = [
    ("neither", "a=b", None),
    ("an age", "a=b; Max-Age=60", NOW + 60),
    ("an age of nothing", "a=b; Max-Age=0", 0.0),
    ("a negative age", "a=b; max-age=-5", 0.0),
    ("an age before a date", "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", NOW + 60),
    (
        "an age that is none, before a date",
        "a=b; Max-Age=+1; Expires=Fri, 02 Jan 2026 04:04:05 GMT",
        1_767_326_645.0,
    ),
    ("the last of two ages", "a=b; Max-Age=1; Max-Age=2", NOW + 2),
    ("an age of more than 400 days", f"a=b; Max-Age={10**30}", NOW + 400 * DAY),
    ("a date beyond 400 days", "a=b; Expires=Fri, 01 Jan 2100 00:00:00 GMT", NOW + 400 * DAY),
    ("a date that is none", "a=b; Expires=soon", None),
]


@pytest.mark.parametrize(("value", "ends"), [row[1:] for row in EXPIRY], ids=[row[0] for row in EXPIRY])
def test_when_it_ends(value: str, ends: float | None) -> None:
    cookie = parse_set_cookie(value, NOW)
    assert cookie is not None
    assert cookie.expires_at == ends


ATTRIBUTES = [
    ("none", "a=b", ("", "", False, False)),
    (
        "all",
        "a=b; Domain=.Site.TEST; Path=/x; Secure; HttpOnly; SameSite=Lax",
        ("site.test", "/x", True, True),
    ),
    (
        "any case, and values where none belong",
        "a=b; SECURE=no; httponly=1; domain=X; PATH=/",
        ("x", "/", True, True),
    ),
    ("a path that is none", "a=b; Path=x", ("", "", False, False)),
    ("an empty domain last", "a=b; Domain=site.test; Domain=", ("", "", False, False)),
    ("a path too long to be read", f"a=b; Path=/x; Path=/{'y' * 1024}", ("", "/x", False, False)),
]


@pytest.mark.parametrize(
    ("value", "read"), [row[1:] for row in ATTRIBUTES], ids=[row[0] for row in ATTRIBUTES]
)
def test_attributes(value: str, read: tuple[str, str, bool, bool]) -> None:
    cookie = parse_set_cookie(value, NOW)
    assert cookie is not None
    assert (cookie.domain, cookie.path, cookie.is_secure, cookie.is_http_only) == read


DATES = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777.0),
    ("Sun Nov  6 08:49:37 1994", 784_111_777.0),
    ("6 november 1994 8:49:37", 784_111_777.0),
    ("1994 6 nov 08:49:37 whatever", 784_111_777.0),
    ("06 Nov 69 00:00:00", 3_150_921_600.0),
    ("06 Nov 1600 00:00:00", None),
    ("31 Feb 2026 00:00:00", None),
    ("06 Nov 1994 24:00:00", None),
    ("06 Nov 1994 08:60:00", None),
    ("06 Nov 1994", None),
    ("Nov 1994 08:49:37", None),
    ("06 1994 08:49:37", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "moment"), DATES)
def test_dates_as_servers_write_them(text: str, moment: float | None) -> None:
    assert parse_cookie_date(text) == moment


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c", "/a/b"), ("", "/")],
)
def test_a_cookie_without_a_path_belongs_to_its_folder(path: str, folder: str) -> None:
    assert default_path(path) == folder


# ---- who gets it ----


HERE = "https://www.site.test/a/b"
SENT: list[tuple[str, str, str, str, bool]] = [
    ("the same host", HERE, "x=1", "https://www.site.test/a/c", True),
    ("its last dot", HERE, "x=1", "https://www.site.test./a/c", True),
    ("another host of the site", HERE, "x=1", "https://site.test/a/c", False),
    ("a host below", HERE, "x=1", "https://a.www.site.test/a/c", False),
    ("a host that ends alike", HERE, "x=1", "https://notwww.site.test/a/c", False),
    ("a host that begins alike", HERE, "x=1", "https://www.site.test.evil.test/a/c", False),
    ("another port", HERE, "x=1", "https://www.site.test:8443/a/c", False),
    ("plain http", HERE, "x=1", "http://www.site.test/a/c", False),
    ("plain http, of all hosts", HERE, "x=1; Domain=site.test", "http://www.site.test/a/c", False),
    ("plain http first", "http://www.site.test/a/b", "x=1", "https://www.site.test/a/c", False),
    ("its domain", HERE, "x=1; Domain=site.test", "https://site.test/a/c", True),
    ("its domain, with a dot", HERE, "x=1; Domain=.site.test", "https://site.test/a/c", True),
    ("a neighbour", HERE, "x=1; Domain=site.test", "https://api.site.test/a/c", True),
    ("a neighbour's port", HERE, "x=1; Domain=site.test", "https://api.site.test:8443/a/c", True),
    ("a domain that ends alike", HERE, "x=1; Domain=site.test", "https://notsite.test/a/c", False),
    ("a domain that begins alike", HERE, "x=1; Domain=site.test", "https://site.test.evil.test/a/c", False),
    ("a domain below", HERE, "x=1; Domain=a.www.site.test", "https://a.www.site.test/a/c", False),
    ("somebody else's domain", HERE, "x=1; Domain=other.test", "https://other.test/a/c", False),
    ("a neighbour that ends alike", HERE, "x=1; Domain=www.site.test", "https://notwww.site.test/a/c", False),
    ("half a label", HERE, "x=1; Domain=te.test", "https://te.test/a/c", False),
    ("a top-level domain", HERE, "x=1; Domain=test", "https://www.site.test/a/c", False),
    ("a public suffix", "https://a.co.uk/", "x=1; Domain=co.uk", "https://b.co.uk/", False),
    (
        "a private public suffix",
        "https://me.github.io/",
        "x=1; Domain=github.io",
        "https://you.github.io/",
        False,
    ),
    ("a suffix that names itself", "https://github.io/", "x=1; Domain=github.io", "https://github.io/", True),
    (
        "a suffix that names itself, below",
        "https://github.io/",
        "x=1; Domain=github.io",
        "https://me.github.io/",
        False,
    ),
    ("an address", "http://93.184.215.14/", "x=1", "http://93.184.215.14/", True),
    (
        "an address that names itself",
        "http://93.184.215.14/",
        "x=1; Domain=93.184.215.14",
        "http://93.184.215.14/",
        True,
    ),
    ("the end of an address", "http://93.184.215.14/", "x=1; Domain=215.14", "http://93.184.215.14/", False),
    ("the path", HERE, "x=1; Path=/a", "https://www.site.test/a", True),
    ("below the path", HERE, "x=1; Path=/a", "https://www.site.test/a/b/c?d", True),
    ("below a path with a slash", HERE, "x=1; Path=/a/", "https://www.site.test/a/b", True),
    ("a path with a slash, without it", HERE, "x=1; Path=/a/", "https://www.site.test/a", False),
    ("a path that begins alike", HERE, "x=1; Path=/a", "https://www.site.test/ab", False),
    ("a path in a query", HERE, "x=1; Path=/q", "https://www.site.test/?/q", False),
    ("the folder alone", HERE, "x=1", "https://www.site.test/", False),
    ("Secure over https", HERE, "x=1; Secure", "https://www.site.test/a/c", True),
    ("Secure over http", "http://www.site.test/", "x=1; Secure", "http://www.site.test/", False),
    ("Secure from http, over https", "http://www.site.test/", "x=1; Secure", "https://www.site.test/", False),
    ("__Host-", HERE, "__Host-x=1; Secure; Path=/", "https://www.site.test/", True),
    (
        "__Host- with a domain",
        HERE,
        "__Host-x=1; Secure; Path=/; Domain=www.site.test",
        "https://www.site.test/",
        False,
    ),
    (
        "__Host- without a path",
        "https://www.site.test/",
        "__Host-x=1; Secure",
        "https://www.site.test/",
        False,
    ),
    ("__Host- on a path", HERE, "__Host-x=1; Secure; Path=/a", HERE, False),
    ("__Host- not secure", HERE, "__Host-x=1; Path=/", HERE, False),
    ("__HOST- in another case", HERE, "__HOST-x=1; Path=/", HERE, False),
    ("__Host- smuggled as a value", HERE, "=__Host-x=1; Secure; Path=/", HERE, False),
    ("__Secure-", HERE, "__Secure-x=1; Secure; Domain=site.test", HERE, True),
    ("__Secure- not secure", HERE, "__secure-x=1", HERE, False),
    ("__Secure- over http", "http://www.site.test/", "__Secure-x=1; Secure", "http://www.site.test/", False),
]


@pytest.mark.parametrize(
    ("setting", "value", "asking", "is_sent"), [row[1:] for row in SENT], ids=[row[0] for row in SENT]
)
def test_who_gets_a_cookie_back(setting: str, value: str, asking: str, is_sent: bool) -> None:
    jar = CookieJar(FixedClock())
    jar.receive(url(setting), "", [value])
    assert jar.cookies_for(url(asking), "") == (value.partition(";")[0] if is_sent else "")


def test_partitions_share_nothing() -> None:
    jar = CookieJar(FixedClock())
    jar.receive(url("https://site.test/"), "one", ["x=1"])
    assert [jar.cookies_for(url("https://site.test/"), name) for name in ("one", "two", "")] == [
        "x=1",
        "",
        "",
    ]


def test_longer_paths_come_first_then_older_cookies() -> None:
    jar = CookieJar(FixedClock())
    jar.receive(url("https://site.test/"), "", ["b=1", "a=2", "c=3; Path=/long", "b=4", "lone"])
    assert jar.cookies_for(url("https://site.test/long/x"), "") == "c=3; b=4; a=2; lone"


def test_a_cookie_ends_in_its_second_and_can_be_taken_back() -> None:
    clock = FixedClock()
    jar, here = CookieJar(clock), url("https://site.test/")
    jar.receive(here, "", ["a=1; Max-Age=60", "b=2"])
    clock.advance(59.9)
    assert jar.cookies_for(here, "") == "a=1; b=2"
    clock.advance(0.1)
    assert jar.cookies_for(here, "") == "b=2"
    jar.receive(here, "", ["b=; Max-Age=0", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
    assert (jar.cookies_for(here, ""), len(jar)) == ("", 0)


def test_a_plain_site_cannot_replace_what_the_secure_one_set() -> None:
    jar = CookieJar(FixedClock())
    jar.receive(url("https://site.test/"), "", ["x=good; Secure; Domain=site.test"])
    jar.receive(
        url("http://www.site.test/"), "", ["x=bad; Domain=site.test", "x=; Domain=site.test; Max-Age=0"]
    )
    assert jar.cookies_for(url("https://site.test/"), "") == "x=good"


def test_a_site_that_sets_too_many_loses_its_own_only() -> None:
    clock = FixedClock()
    jar = CookieJar(clock, max_per_site=3)
    jar.receive(url("https://other.test/"), "", ["kept=1"])
    jar.receive(url("https://a.site.test/"), "", ["1=1", "2=2; Path=/x"])
    jar.receive(url("https://b.site.test/"), "", ["3=3"])
    assert jar.cookies_for(url("https://a.site.test/"), "") == "1=1"
    jar.receive(url("https://b.site.test/"), "", ["4=4"])  # "2" was used longest ago
    assert jar.cookies_for(url("https://a.site.test/x"), "") == "1=1"
    assert jar.cookies_for(url("https://b.site.test/"), "") == "3=3; 4=4"
    assert jar.cookies_for(url("https://other.test/"), "") == "kept=1"


def test_what_has_ended_makes_room_first() -> None:
    clock = FixedClock()
    jar, here = CookieJar(clock, max_per_site=2), url("https://site.test/")
    jar.receive(here, "", ["old=1", "short=2; Max-Age=1"])
    clock.advance(2)
    jar.receive(here, "", ["new=3"])
    assert jar.cookies_for(here, "") == "old=1; new=3"


def test_a_full_jar_loses_the_site_used_longest_ago() -> None:
    jar = CookieJar(FixedClock(), max_per_site=2, max_cookies=4)
    for host in ("a", "b"):
        jar.receive(url(f"https://{host}.test/"), "", ["1=1", "2=2"])
    assert jar.cookies_for(url("https://a.test/"), "")
    jar.receive(url("https://c.test/"), "", ["3=3"])
    sent = [jar.cookies_for(url(f"https://{host}.test/"), "") for host in "abc"]
    assert (sent, len(jar)) == (["1=1; 2=2", "", "3=3"], 3)


def test_what_is_sent_is_bounded() -> None:
    jar, here = CookieJar(FixedClock()), url("https://site.test/")
    jar.receive(here, "", [f"{number}={'x' * 4000}" for number in range(50)])
    assert 4000 < len(jar.cookies_for(here, "")) <= 8192


def test_an_emptied_jar_is_empty() -> None:
    jar = CookieJar(FixedClock())
    jar.receive(url("https://site.test/"), "", ["a=1"])
    jar.clear()
    assert (len(jar), jar.cookies_for(url("https://site.test/"), "")) == (0, "")


@pytest.mark.parametrize("limits", [{"max_per_site": 0}, {"max_per_site": 9, "max_cookies": 8}])
def test_a_jar_without_room_is_a_mistake(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_per_site"):
        CookieJar(FixedClock(), **limits)


# ---- beside a caller's own ----


def test_new_values_win_over_a_callers_own_and_the_rest_of_his_stay() -> None:
    names = read_cookie_names(["a=2; Path=/", " c = 3", "lone"])
    assert names == {"a", "c", "lone"}
    assert remove_cookies("a=1; b=1;c=1; lone", names) == "b=1"
    assert merge_cookies("b=1", "a=2; b=9") == "b=1; a=2"
    assert merge_cookies("", "a=2") == "a=2"
    assert merge_cookies("b=1", "") == "b=1"
