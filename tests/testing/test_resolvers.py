import asyncio
from ipaddress import ip_address

import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.testing.resolvers import Hang, ScriptedResolver


async def test_answers_come_in_turn_and_the_last_one_stays() -> None:
    resolver = ScriptedResolver({"rebind.test": ["192.0.2.1 2001:db8::1", "127.0.0.1"]})
    answers = [await resolver.resolve("rebind.test") for _ in range(3)]
    assert answers[0] == (ip_address("192.0.2.1"), ip_address("2001:db8::1"))
    assert answers[1] == answers[2] == (ip_address("127.0.0.1"),)
    assert (resolver.count("rebind.test"), resolver.lookups) == (3, ["rebind.test"] * 3)


@pytest.mark.parametrize(
    ("script", "expected"),
    [(Code.DNS_TIMEOUT, Code.DNS_TIMEOUT), (None, Code.DNS_FAILURE)],
    ids=["a scripted failure", "a name without script"],
)
async def test_a_failed_lookup_has_a_code(script: Code | None, expected: Code) -> None:
    resolver = ScriptedResolver({} if script is None else {"bad.test": script})
    with pytest.raises(FetchFailed) as failure:
        await resolver.resolve("bad.test")
    assert failure.value.code is expected


async def test_an_empty_answer_is_an_answer() -> None:
    assert await ScriptedResolver({"empty.test": ""}).resolve("empty.test") == ()


async def test_a_hanging_lookup_holds_nobody_else_up() -> None:
    event = asyncio.Event()
    resolver = ScriptedResolver({"slow.test": Hang(event, "192.0.2.7"), "fast.test": "192.0.2.8"})
    slow = asyncio.create_task(resolver.resolve("slow.test"))
    assert await resolver.resolve("fast.test") == (ip_address("192.0.2.8"),)
    assert not slow.done()
    event.set()
    assert await slow == (ip_address("192.0.2.7"),)
