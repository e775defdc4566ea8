import asyncio
import threading
from collections.abc import Callable, Iterable
from ipaddress import ip_address

import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.net import ResolverOptions, SystemResolver
from mudroom.net.resolver import look_up


def fixed(*answers: str) -> Callable[[str], Iterable[str]]:
    return lambda _name: answers


async def failure(resolver: SystemResolver, host: str) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await resolver.resolve(host)
    return caught.value


async def test_names_are_asked_absolutely_so_that_no_search_list_applies() -> None:
    asked: list[str] = []

    def lookup(name: str) -> list[str]:
        asked.append(name)
        return ["192.0.2.1"]

    resolver = SystemResolver(lookup=lookup)
    await resolver.resolve("intranet")
    assert asked == ["intranet."]
    resolver.close()


async def test_answers_keep_their_order_and_lose_duplicates_and_scopes() -> None:
    resolver = SystemResolver(lookup=fixed("2001:db8::1", "192.0.2.1", "192.0.2.1", "fe80::1%eth0"))
    expected = tuple(map(ip_address, ("2001:db8::1", "192.0.2.1", "fe80::1")))
    assert await resolver.resolve("site.test") == expected
    resolver.close()


def refuse(_name: str) -> list[str]:
    raise OSError(-2, "Name or service not known")


def choke(_name: str) -> list[str]:
    raise UnicodeError("label too long")


@pytest.mark.parametrize(
    ("environ", "end"),
    [
        (
            {"HTTPS_PROXY": "http://p", "http_proxy": ""},
            " (the environment's proxy was ignored: HTTPS_PROXY)",
        ),
        ({"no_proxy": "x"}, "known"),
    ],
)
async def test_a_name_that_does_not_resolve_says_that_a_proxy_was_not_asked(
    environ: dict[str, str], end: str
) -> None:
    resolver = SystemResolver(lookup=refuse, environ=environ)
    assert (await failure(resolver, "site.test")).message.endswith(end)
    resolver.close()


FAILURES = [
    ("no answer", fixed()),
    ("no such name", refuse),
    ("a name that cannot be asked", choke),
    ("an answer that is no address", fixed("not an address")),
    ("more answers than are judged", fixed(*(f"192.0.2.{n}" for n in range(5)))),
]


@pytest.mark.parametrize("lookup", [row[1] for row in FAILURES], ids=[row[0] for row in FAILURES])
async def test_a_name_without_a_usable_answer_is_a_dns_failure(
    lookup: Callable[[str], Iterable[str]],
) -> None:
    resolver = SystemResolver(ResolverOptions(max_answers=4), lookup=lookup)
    error = await failure(resolver, "site.test")
    assert error.code is Code.DNS_FAILURE
    assert "site.test" in error.message
    resolver.close()


class Held:
    """Look-ups that hang until released, for names that say so."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.asked: list[str] = []
        self._started = threading.Semaphore(0)

    async def wait_for_start(self) -> None:
        await asyncio.to_thread(self._started.acquire, timeout=10)

    def __call__(self, name: str) -> list[str]:
        self.asked.append(name)
        self._started.release()
        if name.startswith("slow"):
            self.release.wait(timeout=30)
        return ["192.0.2.1"]


async def test_a_look_up_that_hangs_ends_at_the_deadline() -> None:
    held = Held()
    resolver = SystemResolver(ResolverOptions(timeout_seconds=0.05), lookup=held)
    assert (await failure(resolver, "slow.test")).code is Code.DNS_TIMEOUT
    held.release.set()
    resolver.close()


async def test_two_hundred_names_that_hang_do_not_hold_up_another() -> None:
    held = Held()
    resolver = SystemResolver(lookup=held)
    stuck = [asyncio.create_task(resolver.resolve(f"slow{n}.test")) for n in range(200)]
    for _ in range(200):
        await held.wait_for_start()
    assert await resolver.resolve("quick.test") == (ip_address("192.0.2.1"),)
    assert not any(task.done() for task in stuck)
    held.release.set()
    await asyncio.gather(*stuck)
    resolver.close()


async def test_simultaneous_callers_of_one_name_share_one_look_up() -> None:
    held = Held()
    resolver = SystemResolver(lookup=held)
    callers = [asyncio.create_task(resolver.resolve("slow.test")) for _ in range(20)]
    await held.wait_for_start()
    held.release.set()
    assert len(set(await asyncio.gather(*callers))) == 1
    assert held.asked == ["slow.test."]
    resolver.close()


async def test_cancelling_one_caller_leaves_the_others_their_answer() -> None:
    held = Held()
    resolver = SystemResolver(lookup=held)
    first, second = (asyncio.create_task(resolver.resolve("slow.test")) for _ in range(2))
    await held.wait_for_start()
    first.cancel()
    held.release.set()
    assert await second == (ip_address("192.0.2.1"),)
    assert first.cancelled()
    resolver.close()


@pytest.mark.parametrize(("cache_seconds", "look_ups"), [(30.0, 1), (0.0, 2)])
async def test_an_answer_is_used_again_for_as_long_as_it_is_kept(cache_seconds: float, look_ups: int) -> None:
    held = Held()
    resolver = SystemResolver(ResolverOptions(cache_seconds=cache_seconds), lookup=held)
    assert await resolver.resolve("site.test") == await resolver.resolve("site.test")
    assert len(held.asked) == look_ups
    resolver.close()


async def test_the_kept_answers_are_bounded_and_the_oldest_goes_first() -> None:
    held = Held()
    resolver = SystemResolver(ResolverOptions(max_cached=2), lookup=held)
    for host in ("a.test", "b.test", "c.test", "c.test", "b.test", "a.test"):
        await resolver.resolve(host)
    assert held.asked == ["a.test.", "b.test.", "c.test.", "a.test."]
    resolver.close()


async def test_a_failure_is_not_kept() -> None:
    answers = iter([[], ["192.0.2.1"]])
    resolver = SystemResolver(lookup=lambda _name: next(answers))
    assert (await failure(resolver, "site.test")).code is Code.DNS_FAILURE
    assert await resolver.resolve("site.test") == (ip_address("192.0.2.1"),)
    resolver.close()


async def test_a_look_up_that_nobody_waits_for_never_starts() -> None:
    held = Held()
    resolver = SystemResolver(ResolverOptions(max_threads=1, timeout_seconds=0.05), lookup=held)
    for host in ("slow.test", "given-up.test"):
        assert (await failure(resolver, host)).code is Code.DNS_TIMEOUT
    held.release.set()
    assert await resolver.resolve("after.test") == (ip_address("192.0.2.1"),)
    assert "given-up.test." not in held.asked
    resolver.close()


def test_the_systems_resolver_knows_literals() -> None:
    assert set(look_up("127.0.0.1")) == {"127.0.0.1"}
