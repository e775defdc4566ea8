import asyncio
import traceback
from typing import Any

import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.fetch.shared_body import QUEUE_CHUNKS, BodyReader, SharedBody

LOST = FetchFailed(Code.CONNECTION_LOST, "site.test closed the connection")


async def rest_of(reader: BodyReader) -> list[bytes]:
    return [chunk async for chunk in reader]


async def ended_by(reader: BodyReader) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await rest_of(reader)
    return caught.value


async def fill(body: SharedBody, chunks: int = QUEUE_CHUNKS) -> None:
    for number in range(chunks):
        await body.push(b"%d" % number)


async def turn(rounds: int = 5) -> None:
    """Let everything run that can run."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def test_every_reader_gets_every_chunk_in_order() -> None:
    body = SharedBody("site.test")
    readers = [asyncio.create_task(rest_of(body.subscribe())) for _ in range(3)]
    await turn()
    await fill(body, 100)
    body.finish()
    for chunks in await asyncio.gather(*readers):
        assert chunks == [b"%d" % number for number in range(100)]


async def test_a_reader_that_is_alone_makes_the_producer_wait_and_loses_nothing() -> None:
    body = SharedBody("site.test")
    reader = body.subscribe()
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS * 3))
    await turn()
    assert not pushing.done()
    assert reader.waiting_chunks == QUEUE_CHUNKS
    chunks = [await anext(reader) for _ in range(QUEUE_CHUNKS * 3)]
    await pushing
    body.finish()
    assert chunks == [b"%d" % number for number in range(QUEUE_CHUNKS * 3)]
    assert await rest_of(reader) == []


async def test_a_producer_that_waits_lets_the_loop_rest() -> None:
    body = SharedBody("site.test")
    readers = [body.subscribe() for _ in range(2)]
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn()
    loop: Any = asyncio.get_running_loop()
    assert not pushing.done()
    assert not loop._ready  # nothing is to be done until a reader moves
    for reader in readers:
        await anext(reader)
    await pushing


async def test_several_that_are_all_slow_wait_for_each_other() -> None:
    body = SharedBody("site.test")
    readers = [body.subscribe() for _ in range(3)]
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn()
    for reader in readers[:2]:
        await anext(reader)
    await turn()
    assert not pushing.done()
    await anext(readers[2])
    await pushing
    assert [reader.waiting_chunks for reader in readers] == [QUEUE_CHUNKS] * 3


async def test_who_holds_up_one_that_asks_for_more_lags_and_is_told_so_with_a_full_queue() -> None:
    body = SharedBody("the answer of site.test")
    dropped: list[FetchFailed] = []
    slow = body.subscribe(on_lag=dropped.append)
    quick = asyncio.create_task(rest_of(body.subscribe()))
    await turn()
    await fill(body, QUEUE_CHUNKS * 2)
    body.finish()
    assert len(await quick) == QUEUE_CHUNKS * 2
    error = await ended_by(slow)
    assert error.code is Code.CONSUMER_LAGGED
    assert "site.test" in error.message
    assert [each.code for each in dropped] == [Code.CONSUMER_LAGGED]
    assert slow.waiting_chunks == 0


async def test_an_urgent_taker_waits_for_no_reader() -> None:
    body = SharedBody("site.test")
    slow = body.subscribe()
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn()
    assert not pushing.done()
    body.set_urgent(is_urgent=True)
    await pushing
    assert (await ended_by(slow)).code is Code.CONSUMER_LAGGED


async def test_a_reader_that_holds_up_the_others_never_lags() -> None:
    body = SharedBody("site.test")
    patient = body.subscribe(holds_up=True)
    quick = asyncio.create_task(rest_of(body.subscribe()))
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS * 2))
    await turn()
    assert not pushing.done()
    for _ in range(QUEUE_CHUNKS * 2):
        await anext(patient)
    await pushing
    body.finish()
    assert len(await quick) == QUEUE_CHUNKS * 2


async def test_a_failure_comes_behind_what_was_received_even_where_a_queue_is_full() -> None:
    body = SharedBody("site.test")
    reader = body.subscribe()
    await fill(body)
    body.fail(LOST)
    assert [await anext(reader) for _ in range(QUEUE_CHUNKS)] == [b"%d" % n for n in range(QUEUE_CHUNKS)]
    assert (await ended_by(reader)).code is Code.CONNECTION_LOST


async def test_each_reader_raises_an_error_of_its_own_that_does_not_grow() -> None:
    body = SharedBody("site.test")
    readers = [body.subscribe() for _ in range(3)]
    body.fail(LOST)
    errors = [await ended_by(reader) for reader in readers for _ in range(10)]
    assert len({id(error) for error in errors}) == len(errors)
    depths = {len(traceback.extract_tb(error.__traceback__)) for error in errors}
    assert len(depths) == 1
    assert LOST.__traceback__ is None
    assert all(error.__cause__ is LOST for error in errors)


async def test_who_comes_after_a_failure_gets_that_failure() -> None:
    body = SharedBody("site.test")
    await fill(body, 1)
    body.fail(LOST)
    assert (await ended_by(body.subscribe())).code is Code.CONNECTION_LOST


async def test_who_comes_after_the_first_byte_is_refused_rather_than_given_a_part() -> None:
    body = SharedBody("site.test")
    await fill(body, 1)
    with pytest.raises(RuntimeError, match="too late"):
        body.subscribe()
    body.finish()
    with pytest.raises(RuntimeError, match="too late"):
        body.subscribe()


async def test_who_comes_after_an_empty_body_gets_its_clean_end() -> None:
    body = SharedBody("site.test")
    body.finish()
    assert await rest_of(body.subscribe()) == []


async def test_nothing_changes_after_an_end() -> None:
    body = SharedBody("site.test")
    reader = body.subscribe()
    body.finish()
    body.fail(LOST)
    await body.push(b"more")
    assert await rest_of(reader) == []


async def test_a_reader_that_is_closed_ends_at_once_and_not_cleanly() -> None:
    body = SharedBody("site.test")
    reader, other = body.subscribe(), body.subscribe()
    reading = asyncio.create_task(rest_of(reader))
    await turn()
    reader.close()
    reader.close()
    with pytest.raises(FetchFailed) as caught:
        await reading
    assert caught.value.code is Code.CANCELLED
    assert body.reader_count == 1
    await fill(body, 3)
    body.finish()
    assert len(await rest_of(other)) == 3


async def test_closing_the_slow_one_lets_the_producer_go_on() -> None:
    body = SharedBody("site.test")
    reader = body.subscribe()
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn()
    reader.close()
    await pushing


async def test_a_reader_is_for_one_task_at_a_time() -> None:
    reader = SharedBody("site.test").subscribe()
    first = asyncio.create_task(anext(reader))
    await turn()
    with pytest.raises(RuntimeError, match="one task"):
        await anext(reader)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_producer_that_never_pauses_gives_those_who_read_their_turn() -> None:
    body = SharedBody("site.test")
    body.set_urgent(is_urgent=True)
    readers = [asyncio.create_task(rest_of(body.subscribe())) for _ in range(3)]
    await fill(body, QUEUE_CHUNKS * 20)
    body.finish()
    assert [len(chunks) for chunks in await asyncio.gather(*readers)] == [QUEUE_CHUNKS * 20] * 3


async def test_a_reader_that_is_closed_in_its_last_turns_is_not_dropped_as_well() -> None:
    body = SharedBody("site.test")
    body.set_urgent(is_urgent=True)
    dropped: list[FetchFailed] = []
    slow = body.subscribe(on_lag=dropped.append)
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn(2)
    slow.close()
    await pushing
    assert dropped == []
    assert (await ended_by(slow)).code is Code.CANCELLED


async def test_a_failure_in_the_last_turns_of_a_reader_is_what_ends_it() -> None:
    body = SharedBody("site.test")
    body.set_urgent(is_urgent=True)
    slow = body.subscribe()
    pushing = asyncio.create_task(fill(body, QUEUE_CHUNKS + 1))
    await turn(3)
    body.fail(LOST)
    await pushing
    assert (await ended_by(slow)).code is Code.CONNECTION_LOST
