"""Callers who come, read slowly, give up and run out of time in every order: nobody loses a byte or waits for ever."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.address import EgressPolicy
from mudroom.errors import Code, FetchFailed, MudroomError
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest, Priority, Scheduler, SchedulerOptions
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

URL = "http://site.test/"
SIZES = (1, 100, 5119, 5120, 5121, 20_000)
TURNS = 40
"""How long a story is, in turns of the event loop."""


@dataclass(frozen=True)
class Plan:
    """One caller: when he comes, how he reads, when he gives up."""

    comes_at: int
    is_streaming: bool
    pause: int
    """Turns between two chunks; None of them for a reader who is quick."""
    gives_up_at: int | None


PLANS = st.lists(
    st.builds(
        Plan,
        comes_at=st.integers(0, TURNS // 2),
        is_streaming=st.booleans(),
        pause=st.sampled_from((0, 0, 1, 3, 20)),
        gives_up_at=st.none() | st.integers(0, TURNS),
    ),
    min_size=1,
    max_size=8,
)
BODIES = st.lists(st.sampled_from((*SIZES, None)), max_size=60)
"""Sizes of chunks; None for an event that is waited for."""


class Story:
    """One run: a site on paper, and what became of each caller."""

    def __init__(self, chunks: list[int | None], *, breaks_off: bool) -> None:
        self.events: list[asyncio.Event] = []
        self.body = b""
        steps: list[bytes | asyncio.Event] = []
        for number, size in enumerate(chunks):
            if size is None:
                self.events.append(asyncio.Event())
                steps.append(self.events[-1])
            else:
                steps.append(bytes([number % 256]) * size)
                self.body += steps[-1] if isinstance(steps[-1], bytes) else b""
        broken = FetchFailed(Code.CONNECTION_LOST, "site.test closed the connection") if breaks_off else None
        self.gate = asyncio.Event()
        self.breaks_off = breaks_off
        self.slots = Scheduler(SchedulerOptions(global_slots=2, origin_slots=2), FixedClock())
        self.transport = ScriptedTransport(
            {URL: PaperAnswer(body=tuple(steps), break_off=broken, gate=self.gate)}
        )
        self.fetcher = Fetcher(
            self.transport,
            ScriptedResolver({"site.test": "93.184.215.14"}),
            EgressPolicy(),
            FetchOptions(),
            FixedClock(),
            slots=self.slots,
        )

    async def call(self, plan: Plan) -> bytes:
        """What one caller gets."""
        for _ in range(plan.comes_at):
            await asyncio.sleep(0)
        reply = await self.fetcher.submit(FetchRequest("GET", URL, is_streaming=plan.is_streaming))
        async with reply:
            got = b""
            async for chunk in reply.chunks():
                got += chunk
                for _ in range(plan.pause):
                    await asyncio.sleep(0)
            return got

    async def tell(self, plans: list[Plan]) -> list[bytes | BaseException]:
        """Everybody's end."""
        tasks = [asyncio.create_task(self.call(plan)) for plan in plans]
        releases = [self.gate, *self.events]
        for turn in range(TURNS):
            for plan, task in zip(plans, tasks, strict=True):
                if plan.gives_up_at == turn:
                    task.cancel()
            if turn % 3 == 0 and turn // 3 < len(releases):
                releases[turn // 3].set()
            await asyncio.sleep(0)
        for event in releases:
            event.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(10):
            await asyncio.sleep(0)
        return ends


async def run(plans: list[Plan], chunks: list[int | None], *, breaks_off: bool) -> None:
    before = asyncio.all_tasks()
    story = Story(chunks, breaks_off=breaks_off)
    for plan, end in zip(plans, await story.tell(plans), strict=True):
        if isinstance(end, bytes):
            assert end == story.body
            assert not breaks_off
        elif isinstance(end, asyncio.CancelledError):
            assert plan.gives_up_at is not None
        else:
            assert isinstance(end, MudroomError), repr(end)
            lags = end.code is Code.CONSUMER_LAGGED and plan.is_streaming and len(plans) > 1
            assert lags or (breaks_off and end.code is Code.CONNECTION_LOST)
    assert len(story.transport.dials) <= len(plans)
    assert story.fetcher.in_flight == 0
    assert story.transport.open_exchanges == 0
    assert asyncio.all_tasks() == before
    async with (
        story.slots.hold("http://site.test", "site.test", Priority.NORMAL),
        story.slots.hold("http://site.test", "site.test", Priority.NORMAL),
    ):
        """Both slots are free again."""


@settings(max_examples=400, deadline=None)
@given(plans=PLANS, chunks=BODIES, breaks_off=st.booleans())
def test_whatever_callers_do_each_gets_every_byte_or_a_named_end(
    plans: list[Plan], chunks: list[int | None], *, breaks_off: bool
) -> None:
    asyncio.run(run(plans, chunks, breaks_off=breaks_off))


@pytest.mark.soak
@pytest.mark.timeout(900)
@settings(max_examples=10_000, deadline=None)
@given(plans=PLANS, chunks=BODIES, breaks_off=st.booleans())
def test_ten_thousand_stories_lose_nothing(
    plans: list[Plan], chunks: list[int | None], *, breaks_off: bool
) -> None:
    asyncio.run(run(plans, chunks, breaks_off=breaks_off))
