"""Why a URL would be in a crawl or not, and how a crawl would begin: nothing is asked for but robots.txt.

The checks are those of a crawl, in its order: the address, the reach (scope and globs), the form (traps),
robots.txt. What only the pages can tell is said to be so: whether any of them links to it, and how far away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from mudroom.address import (
    AllowedUrl,
    EgressSource,
    ExceptionScope,
    ParsedUrl,
    judge_url,
    parse_url,
    strip_credentials,
)
from mudroom.clock import Clock
from mudroom.crawl.keys import page_key
from mudroom.crawl.policy import CrawlPolicy, CrawlScope, Discovery
from mudroom.crawl.ports import RobotsOpener
from mudroom.crawl.reach import Reach, ReachVerdict
from mudroom.crawl.traps import TrapWatch
from mudroom.errors import Code, EgressRefused
from mudroom.intake import RobotsMode, RobotsReader

__all__ = ["Explainer", "Explanation", "Step"]

_DRY_RUN = "crawl_00000000000000000000000000"
"""The id of no run: what is asked of robots.txt for a preview belongs to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One check."""

    name: str
    """address, scope, trap, robots, depth."""
    passes: bool | None
    """None: only the pages can tell."""
    code: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a crawl would do about one URL."""

    url: str
    key: str | None
    """Under which the crawl knows it, together with its twins."""
    steps: tuple[Step, ...]

    @property
    def would_fetch(self) -> bool:
        """Whether nothing speaks against it."""
        return all(step.passes is not False for step in self.steps)

    def describe(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "url": self.url,
            "would_fetch": self.would_fetch,
            "key": self.key,
            "steps": [
                {"check": step.name, "passes": step.passes, "code": step.code, "message": step.message}
                for step in self.steps
            ],
        }


class Explainer:
    """Explains URLs with what a crawl is made with, and makes none."""

    def __init__(self, robots: RobotsOpener, egress: EgressSource, clock: Clock) -> None:
        self._robots = robots
        self._egress = egress
        self._clock = clock

    async def explain(self, seed: ParsedUrl, policy: CrawlPolicy, untrusted_url: str) -> Explanation:
        """Each check of a URL up to the first that speaks against it; robots.txt is read if it comes to that."""
        robots = self._robots.open_gate(_DRY_RUN, policy.robots, None)
        try:
            return await self._explain(seed, policy, untrusted_url, robots)
        finally:
            await robots.aclose()

    async def preview(self, seed: ParsedUrl, policy: CrawlPolicy) -> Mapping[str, Any]:
        """How a crawl of this seed would begin, as JSON holds it."""
        robots = self._robots.open_gate(_DRY_RUN, policy.robots, None)
        try:
            explanation = await self._explain(seed, policy, seed.normalized, robots)
            sitemaps: Sequence[str] = ()
            if explanation.would_fetch and policy.discovery is not Discovery.LINKS:
                sitemaps = await robots.list_sitemaps(seed, ExceptionScope.operator())
            return {
                "seed": strip_credentials(seed.normalized),
                **{name: value for name, value in explanation.describe().items() if name != "url"},
                "crawl_delay_seconds": robots.crawl_delay_seconds(seed.origin),
                "sitemaps_named": len(sitemaps),
                "options": dict(policy.describe()),
            }
        finally:
            await robots.aclose()

    async def _explain(
        self, seed: ParsedUrl, policy: CrawlPolicy, untrusted_url: str, robots: RobotsReader
    ) -> Explanation:
        await self._egress.refresh()
        verdict = judge_url(untrusted_url, self._egress.current(), ExceptionScope.operator(), base=seed)
        if not isinstance(verdict, AllowedUrl):
            step = Step(name="address", passes=False, code=verdict.code.value, message=verdict.message)
            shown = parse_url(untrusted_url, base=seed)
            name = strip_credentials(shown.normalized) if shown is not None else ""
            return Explanation(url=name, key=None, steps=(step,))
        url = verdict.url
        steps = [_pass("address", f"{url.host} may be asked, if its addresses may")]
        if page_key(url) == page_key(seed):
            steps.append(_pass("scope", "it is the seed"))
        else:
            today = self._clock.now().date()
            steps.append(_judge_reach(Reach.around(seed, policy), url))
            if steps[-1].passes:
                steps.append(_judge_trap(policy, url, today))
            if steps[-1].passes:
                steps.append(_judge_depth(policy))
        if steps[-1].passes is not False:
            steps.append(await _judge_robots(robots, url, policy))
        return Explanation(url=url.normalized, key=page_key(url), steps=tuple(steps))


def _pass(name: str, message: str) -> Step:
    return Step(name=name, passes=True, code=None, message=message)


def _judge_reach(reach: Reach, url: ParsedUrl) -> Step:
    verdict = reach.judge(url)
    scope = reach.policy.scope
    if verdict is ReachVerdict.INSIDE:
        return _pass("scope", f"it is within scope {scope} of the seed")
    told = {
        ReachVerdict.OFF_HOST: f"it is on {url.host}, and scope {scope} of {reach.root.host} does not cover it",
        ReachVerdict.OUT_OF_SCOPE: _tell_out_of_scope(reach),
        ReachVerdict.EXCLUDED: "an --exclude matches it, or no --include does",
    }
    code = "OFF_HOST" if verdict is ReachVerdict.OFF_HOST else Code.OUT_OF_SCOPE.value
    return Step(name="scope", passes=False, code=code, message=told[verdict])


def _tell_out_of_scope(reach: Reach) -> str:
    if reach.policy.scope is CrawlScope.PAGE:
        return "scope page is the seed alone"
    return "it is outside the seed's folder, which is all that scope prefix covers"


def _judge_trap(policy: CrawlPolicy, url: ParsedUrl, today: date) -> Step:
    traps = TrapWatch(policy, today, _forget)
    kind = traps.judge(url)
    if kind is None:
        return _pass("trap", "its form is no trap's, as far as one URL can tell")
    return Step(name="trap", passes=False, code="TRAP_SKIPPED", message=f"its form has no end: {kind}")


def _forget(_name: str, _value: str) -> None:
    """Keep nothing: there is no next sitting."""


def _judge_depth(policy: CrawlPolicy) -> Step:
    message = f"whether a page links to it, at most {policy.max_depth} links from the seed, the pages tell"
    passes = None if policy.max_depth else False
    return Step(name="depth", passes=passes, code=None, message=message)


async def _judge_robots(robots: RobotsReader, url: ParsedUrl, policy: CrawlPolicy) -> Step:
    if policy.robots is RobotsMode.IGNORE:
        return _pass("robots", "robots.txt is not asked")
    try:
        await robots.check(url, ExceptionScope.operator())
    except EgressRefused as error:
        return Step(name="robots", passes=False, code=error.code.value, message=error.message)
    return _pass("robots", f"robots.txt of {url.host} allows it")
