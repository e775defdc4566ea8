"""The links of an accepted page: which of them enter the frontier.

Each link is judged as its page wrote it, before anything canonicalises it. Pages of one folder share most
of their links, so what a href led to is remembered per folder: within one folder and one set of exceptions
the same text leads to the same URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto, unique

from mudroom.address import EgressSource, ExceptionScope, ParsedUrl, RefusedUrl, judge_url
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry
from mudroom.crawl.keys import page_key
from mudroom.crawl.notices import Notices
from mudroom.crawl.policy import LinkContext
from mudroom.crawl.reach import Reach, ReachVerdict
from mudroom.crawl.scoring import score_link
from mudroom.crawl.traps import TrapKind, TrapWatch
from mudroom.errors import Code
from mudroom.model import Initiator, WarningCode

__all__ = ["LinkSieve", "make_entry"]

_MEMO_CAP = 20_000
"""Hrefs remembered; at 200 bytes each, 4 MB. When full, all are forgotten."""
_NO_LINK = frozenset({Code.INVALID_SCHEME, Code.INVALID_URL})
"""mailto:, javascript: and the like, and what no browser could follow: nothing to warn of."""


@unique
class _Settled(Enum):
    """What became of a href, where that will not change in this crawl."""

    KNOWN = auto()
    IGNORED = auto()


_KNOWN, _IGNORED = _Settled.KNOWN, _Settled.IGNORED


@dataclass(frozen=True, slots=True)
class _OffHost:
    host: str


_Outcome = _Settled | Code | WarningCode | TrapKind | _OffHost
"""Settled, or what is counted each time that the link is met."""


def make_entry(
    url: ParsedUrl,
    scope: ExceptionScope,
    *,
    initiator: Initiator,
    rank: tuple[int, int, int],
    score: float = 0.0,
    key: str | None = None,
) -> FrontierEntry:
    """A judged URL as it waits in the frontier."""
    depth, parent, place = rank
    return FrontierEntry(
        url=url.normalized,
        key=key or page_key(url),
        host=url.authority,
        origin=url.origin,
        depth=depth,
        parent=parent,
        place=place,
        initiator=initiator,
        scope=scope,
        score=score,
    )


class LinkSieve:
    """Sifts the links of one crawl's pages into its frontier."""

    def __init__(
        self,
        reach: Reach,
        egress: EgressSource,
        frontier: Frontier,
        notices: Notices,
        traps: TrapWatch,
        on_queued: Callable[[FrontierEntry], None],
    ) -> None:
        self.reach = reach
        self._egress = egress
        self._frontier = frontier
        self._notices = notices
        self._traps = traps
        self._on_queued = on_queued
        self._memo: dict[tuple[str, ExceptionScope], dict[str, _Outcome]] = {}
        self.remembered = 0
        """Hrefs and folders remembered now."""
        self.discovered = 0

    def restore(self, notes: Mapping[str, str]) -> None:
        """Know of what an earlier sitting kept. Raises: ValueError."""
        self._traps.restore(notes.items())

    def sift(self, page: EndedPage) -> None:
        """Queue what the page links to and the crawl covers, one deeper; count the rest."""
        base = page.base
        if base is None:
            return
        follows_all = self.reach.policy.follow_nofollow
        memo = self._open_memo(base, page.link_scope)
        relations = self.reach.policy.followed_relations
        for place, link in enumerate(page.links):
            if (link.is_nofollow and not follows_all) or link.relation not in relations:
                continue
            href = link.untrusted_href.partition("#")[0]
            outcome = memo.get(href)
            if outcome is _KNOWN or outcome is _IGNORED or not href:
                continue
            if outcome is None:
                context = LinkContext(
                    page_url=page.url, page_number=page.number, depth=page.depth + 1, place=place
                )
                outcome = self._judge(href, base, page.link_scope, context)
                if outcome is not None and _is_of_folder(href):
                    memo[href] = outcome
                    self.remembered += 1
            if outcome is not None:
                self._count(outcome)

    def _judge(
        self, untrusted_href: str, base: ParsedUrl, scope: ExceptionScope, context: LinkContext
    ) -> _Outcome | None:
        """What became of a link; None where another time it may become something else."""
        verdict = judge_url(untrusted_href, self._egress.current(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            return _IGNORED if verdict.code in _NO_LINK else verdict.code
        url = verdict.url
        reached = self.reach.judge(url)
        if reached is ReachVerdict.OFF_HOST:
            return _OffHost(url.host)
        if reached is not ReachVerdict.INSIDE:
            return _IGNORED
        return self._enter(url, scope, context)

    def admit(self, url: ParsedUrl, scope: ExceptionScope, place: int) -> bool:
        """Whether a URL that no page led to was queued, at depth 1; counted where it was not."""
        discovered = self.discovered
        context = LinkContext(page_url="", page_number=0, depth=1, place=place)
        outcome = self._enter(url, scope, context)
        if outcome is not None:
            self._count(outcome)
        return outcome is _KNOWN and self.discovered > discovered

    def _enter(self, url: ParsedUrl, scope: ExceptionScope, context: LinkContext) -> _Outcome | None:
        """Queue a URL that was judged and is within reach, unless it is known, looks endless, or is left out."""
        key = page_key(url)
        spelling = self._frontier.find_spelling(key)
        if spelling is not None:
            return _KNOWN if spelling == url.normalized else WarningCode.TWIN_MERGED
        trap = self._traps.judge(url)
        if trap is not None:
            return trap
        is_first = not self._notices.has_counted(WarningCode.FOLLOW_FAILED)
        score = score_link(self.reach.policy.should_follow, url.normalized, context, is_logged=is_first)
        if isinstance(score, WarningCode):
            self._notices.count(score)
            return None
        rank = (context.depth, context.page_number, context.place)
        entry = make_entry(url, scope, initiator=Initiator.PAGE, rank=rank, score=score, key=key)
        match self._frontier.add(entry):
            case Admission.QUEUED:
                self.discovered += 1
                self._traps.count(url)
                self._on_queued(entry)
            case Admission.FULL:
                self.discovered += 1
                self._notices.count(WarningCode.FRONTIER_FULL)
                return None
            case Admission.KNOWN:
                pass
        return _KNOWN

    def _count(self, outcome: _Outcome) -> None:
        match outcome:
            case _OffHost(host):
                self._notices.count_off_host(host)
            case Code():
                self._notices.count_refused(outcome)
            case TrapKind():
                self._notices.count_trap(outcome)
            case WarningCode():
                self._notices.count(outcome)

    def _open_memo(self, base: ParsedUrl, scope: ExceptionScope) -> dict[str, _Outcome]:
        """What is remembered of the base's folder."""
        if self.remembered > _MEMO_CAP:
            self._memo.clear()
            self.remembered = 0
        href = base.href
        end = min((at for at in (href.find("?"), href.find("#")) if at >= 0), default=len(href))
        key = (href[: href.rfind("/", 0, end) + 1], scope)
        memo = self._memo.get(key)
        if memo is None:
            memo = self._memo[key] = {}
            self.remembered += 1
        return memo


def _is_of_folder(untrusted_href: str) -> bool:
    """Whether a href means the same on every page of a folder: it begins with a name, dot or slash."""
    first = untrusted_href[:1]
    return first.isalnum() or first in {".", "/", "_", "~", "-"}
