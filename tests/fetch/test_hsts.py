import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.fetch import Hsts, HstsEntry, MemoryHstsStore
from mudroom.fetch.hsts import HstsDirectives, parse_hsts
from mudroom.testing.clocks import FixedClock

YEAR = 31_536_000
CENTURY = 100 * 365 * 86_400


def url(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    assert parsed is not None
    return parsed


def says(value: str, *more: str) -> tuple[tuple[str, str], ...]:
    return tuple(("Strict-Transport-Security", one) for one in (value, *more))


# ---- the header ----


PARSE = [
    ("an age", "max-age=31536000", (YEAR, False)),
    ("an age in quotes", 'max-age="31536000"', (YEAR, False)),
    ("an age of nothing", "max-age=0", (0, False)),
    ("an age beyond a hundred years", f"max-age={YEAR * 1000}", (CENTURY, False)),
    ("an age of a thousand digits", f"max-age={'9' * 1000}", (CENTURY, False)),
    ("subdomains", "max-age=1; includeSubDomains", (1, True)),
    ("the other order", "includeSubDomains;max-age=1", (1, True)),
    ("any case", "MAX-AGE=1; INCLUDESUBDOMAINS", (1, True)),
    ("white space everywhere", " max-age =\t1 ;  includeSubDomains ", (1, True)),
    ("an unknown directive", "max-age=1; preload; x-later=2", (1, False)),
    ("an unknown directive with quoted signs", 'max-age=1; note="a;\\"b"; includeSubDomains', (1, True)),
    ("empty directives", ";;max-age=1;;; includeSubDomains;", (1, True)),
    ("nothing", "", None),
    ("no age", "includeSubDomains", None),
    ("an age without a value", "max-age", None),
    ("an age with an empty value", "max-age=", None),
    ("an age with an empty quoted value", 'max-age=""', None),
    ("an age that is a word", "max-age=long", None),
    ("a negative age", "max-age=-1", None),
    ("a broken age", "max-age=1.5", None),
    ("an age in other digits", "max-age=\u0661", None),
    ("the age twice", "max-age=1; max-age=2", None),
    ("the age twice, in two cases", "max-age=1; Max-Age=1", None),
    ("subdomains twice", "max-age=1; includeSubDomains; includesubdomains", None),
    ("an unknown directive twice", "max-age=1; x; x=1", None),
    ("subdomains with a value", "max-age=1; includeSubDomains=no", None),
    ("quotes that do not end", 'max-age="1', None),
    ("commas", "max-age=1, includeSubDomains", None),
    ("signs that no name may hold", "max-age=1; a b", None),
    ("a header without end", "max-age=1;" + " " * 5000, None),
]


@pytest.mark.parametrize(("value", "said"), [row[1:] for row in PARSE], ids=[row[0] for row in PARSE])
def test_what_a_header_says(value: str, said: tuple[int, bool] | None) -> None:
    expected = None if said is None else HstsDirectives(max_age_seconds=said[0], include_subdomains=said[1])
    assert parse_hsts(value) == expected


# ---- who learns, and what ----


LEARN = [
    ("an answer over https", "https://site.test/", says("max-age=60"), True),
    ("an answer over http", "http://site.test/", says("max-age=60"), False),
    ("an address", "https://93.184.215.14/", says("max-age=60"), False),
    ("an address of six", "https://[2606:4700::1111]/", says("max-age=60"), False),
    ("a name with its last dot", "https://site.test./", says("max-age=60"), True),
    ("another port", "https://site.test:8443/", says("max-age=60"), True),
    ("the first of two headers", "https://site.test/", says("max-age=60", "max-age=0"), True),
    ("a void header before a good one", "https://site.test/", says("max-age", "max-age=60"), False),
    ("a name in another case", "https://site.test/", (("STRICT-TRANSPORT-SECURITY", "max-age=60"),), True),
    ("no header", "https://site.test/", (("X-Transport-Security1234567", "max-age=60"),), False),
]


@pytest.mark.parametrize(
    ("answering", "headers", "is_armed"), [row[1:] for row in LEARN], ids=[row[0] for row in LEARN]
)
def test_who_is_armed_by_what(answering: str, headers: tuple[tuple[str, str], ...], is_armed: bool) -> None:
    hsts = Hsts(MemoryHstsStore(), FixedClock())
    hsts.learn(url(answering), headers, "")
    asked = answering.replace("https:", "http:").replace(":8443", "")
    assert (hsts.upgrade_url(url(asked), "") is not None) is is_armed


def test_a_word_taken_back_is_forgotten_and_a_void_one_changes_nothing() -> None:
    hsts = Hsts(MemoryHstsStore(), FixedClock())
    here = url("https://site.test/")
    assert hsts.learn(here, says("max-age=60"), "")
    assert not hsts.learn(here, says("max-age=0; max-age=0"), "")
    assert hsts.upgrade_url(url("http://site.test/"), "") == "https://site.test/"
    assert hsts.learn(here, says("max-age=0"), "")
    assert hsts.upgrade_url(url("http://site.test/"), "") is None


def test_a_later_answer_renews_narrows_and_widens() -> None:
    clock = FixedClock()
    hsts = Hsts(MemoryHstsStore(), clock)
    here, below = url("https://site.test/"), url("http://a.site.test/")
    hsts.learn(here, says("max-age=100; includeSubDomains"), "")
    assert hsts.upgrade_url(below, "")
    clock.advance(50)
    hsts.learn(here, says("max-age=100"), "")
    assert hsts.upgrade_url(below, "") is None
    clock.advance(99)
    assert hsts.upgrade_url(url("http://site.test/"), "")
    clock.advance(1)
    assert hsts.upgrade_url(url("http://site.test/"), "") is None


def test_a_busy_host_costs_the_store_nothing() -> None:
    clock, store = FixedClock(), MemoryHstsStore()
    hsts = Hsts(store, clock)
    hsts.learn(url("https://site.test/"), says("max-age=1000"), "")
    first = store.load("", "site.test")
    clock.advance(9)
    hsts.learn(url("https://site.test/"), says("max-age=1000"), "")
    assert store.load("", "site.test") is first
    clock.advance(2)
    hsts.learn(url("https://site.test/"), says("max-age=1000"), "")
    assert store.load("", "site.test") is not first


# ---- whom it holds for ----


ARMED = {
    "exact.test": False,
    "wide.test": True,
    "near.wide.test": False,
    "test": True,
}
MATCH = [
    ("the host itself", "exact.test", True),
    ("the host itself, with its last dot", "exact.test.", True),
    ("the host itself, in another case", "EXACT.test", True),
    ("a host below one that speaks for itself", "a.exact.test", False),
    ("the host itself, which speaks for those below", "wide.test", True),
    ("a host below one that speaks for it", "a.wide.test", True),
    ("a host three below", "a.b.c.wide.test", True),
    ("a near entry that speaks for itself alone", "near.wide.test", True),
    ("a near entry does not hide one further up", "a.near.wide.test", True),
    ("a name that ends alike", "notwide.test", False),
    ("a name that begins alike", "wide.test.other", False),
    ("a top-level domain speaks for nobody", "other.test", False),
]


@pytest.mark.parametrize(("host", "is_armed"), [row[1:] for row in MATCH], ids=[row[0] for row in MATCH])
def test_whom_an_entry_holds_for(host: str, is_armed: bool) -> None:
    clock, store = FixedClock(), MemoryHstsStore()
    for name, include_subdomains in ARMED.items():
        entry = HstsEntry(expires_at=clock.now().timestamp() + 60, include_subdomains=include_subdomains)
        store.store("", name, entry)
    assert (Hsts(store, clock).upgrade_url(url(f"http://{host}/"), "") is not None) is is_armed


@pytest.mark.parametrize(("seconds", "is_armed"), [(59.999, True), (60, False), (61, False)])
def test_an_entry_ends_in_its_second(seconds: float, is_armed: bool) -> None:
    clock, store = FixedClock(), MemoryHstsStore()
    hsts = Hsts(store, clock)
    hsts.learn(url("https://site.test/"), says("max-age=60; includeSubDomains"), "")
    clock.advance(seconds)
    for host in ("a.site.test", "site.test"):
        assert (hsts.upgrade_url(url(f"http://{host}/"), "") is not None) is is_armed
    assert len(store) == (1 if is_armed else 0)


def test_what_one_partition_learned_another_does_not_know() -> None:
    hsts = Hsts(MemoryHstsStore(), FixedClock())
    hsts.learn(url("https://site.test/"), says("max-age=60"), "one")
    assert hsts.upgrade_url(url("http://site.test/"), "one")
    assert hsts.upgrade_url(url("http://site.test/"), "two") is None
    assert hsts.upgrade_url(url("http://site.test/"), "") is None


# ---- the upgrade ----


UPGRADE = [
    ("the usual port", "http://site.test/a", "https://site.test/a"),
    ("the usual port, written", "http://site.test:80/a", "https://site.test/a"),
    ("another port", "http://site.test:8080/a", "https://site.test:8080/a"),
    ("the port of https", "http://site.test:443/a", "https://site.test/a"),
    (
        "all that a URL can hold",
        "http://u:p@site.test:81/a?b=http://c#d",
        "https://u:p@site.test:81/a?b=http://c#d",
    ),
    ("https already", "https://site.test/", None),
]


@pytest.mark.parametrize(("asked", "upgraded"), [row[1:] for row in UPGRADE], ids=[row[0] for row in UPGRADE])
def test_what_is_asked_instead(asked: str, upgraded: str | None) -> None:
    hsts = Hsts(MemoryHstsStore(), FixedClock())
    hsts.learn(url("https://site.test/"), says("max-age=60"), "")
    href = hsts.upgrade_url(url(asked), "")
    assert (None if href is None else url(href).href) == upgraded


def test_no_more_hosts_are_known_than_may_be_and_the_ones_asked_for_stay() -> None:
    clock, store = FixedClock(), MemoryHstsStore(max_hosts=2)
    hsts = Hsts(store, clock)
    for host in ("a.test", "b.test"):
        hsts.learn(url(f"https://{host}/"), says("max-age=60"), "")
    assert hsts.upgrade_url(url("http://a.test/"), "")
    hsts.learn(url("https://c.test/"), says("max-age=60"), "")
    armed = [host for host in "abc" if hsts.upgrade_url(url(f"http://{host}.test/"), "")]
    assert (armed, len(store)) == (["a", "c"], 2)


def test_a_store_without_room_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="max_hosts"):
        MemoryHstsStore(max_hosts=0)
