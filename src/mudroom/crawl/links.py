"""The links of an accepted page: which of them enter the frontier.

Each link is judged as its page wrote it, before anything canonicalises it. Pages of one folder share most
of their links, so what a href led to is remembered per folder: within one folder and one set of exceptions
the same text leads to the same URL.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto, unique

from mudroom.address import EgressSource, ExceptionScope, ParsedUrl, RefusedUrl, judge_url
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Admission, Frontier, FrontierEntry
from mudroom.crawl.keys import page_key
from mudroom.crawl.notices import Notices
from mudroom.crawl.reach import Reach, ReachVerdict
from mudroom.errors import Code
from mudroom.model import Initiator

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
_Outcome = _Settled | Code | str
"""Settled, or refused with a code, or led to another host, by its name."""


def make_entry(
    url: ParsedUrl, scope: ExceptionScope, *, initiator: Initiator, rank: tuple[int, int, int]
) -> FrontierEntry:
    """A judged URL as it waits in the frontier."""
    depth, parent, place = rank
    return FrontierEntry(
        url=url.normalized,
        key=page_key(url),
        host=url.authority,
        origin=url.origin,
        depth=depth,
        parent=parent,
        place=place,
        initiator=initiator,
        scope=scope,
    )


class LinkSieve:
    """Sifts the links of one crawl's pages into its frontier."""

    def __init__(
        self,
        reach: Reach,
        egress: EgressSource,
        frontier: Frontier,
        notices: Notices,
        on_queued: Callable[[FrontierEntry], None],
    ) -> None:
        self.reach = reach
        self._egress = egress
        self._frontier = frontier
        self._notices = notices
        self._on_queued = on_queued
        self._memo: dict[tuple[str, ExceptionScope], dict[str, _Outcome]] = {}
        self.remembered = 0
        """Hrefs and folders remembered now."""
        self.discovered = 0

    def sift(self, page: EndedPage) -> None:
        """Queue what the page links to and the crawl covers, one deeper; count the rest."""
        base = page.base
        if base is None:
            return
        follows_all = self.reach.policy.follow_nofollow
        memo = self._open_memo(base, page.link_scope)
        for place, (untrusted_href, is_nofollow) in enumerate(page.links):
            if is_nofollow and not follows_all:
                continue
            href = untrusted_href.partition("#")[0]
            outcome = memo.get(href)
            if outcome is _KNOWN or outcome is _IGNORED or not href:
                continue
            if outcome is None:
                rank = (page.depth + 1, page.number, place)
                outcome = self._judge(href, base, page.link_scope, rank)
                if outcome is not None and _is_of_folder(href):
                    memo[href] = outcome
                    self.remembered += 1
            if outcome is not None and not isinstance(outcome, _Settled):
                self._count(outcome)

    def _judge(
        self, untrusted_href: str, base: ParsedUrl, scope: ExceptionScope, rank: tuple[int, int, int]
    ) -> _Outcome | None:
        """What became of a link; None where another time it may become something else."""
        verdict = judge_url(untrusted_href, self._egress.current(), scope, base=base)
        if isinstance(verdict, RefusedUrl):
            return _IGNORED if verdict.code in _NO_LINK else verdict.code
        reached = self.reach.judge(verdict.url)
        if reached is ReachVerdict.OFF_HOST:
            return verdict.url.host
        if reached is not ReachVerdict.INSIDE:
            return _IGNORED
        return None if self.admit(verdict.url, scope, rank) is Admission.FULL else _KNOWN

    def admit(self, url: ParsedUrl, scope: ExceptionScope, rank: tuple[int, int, int]) -> Admission:
        """What became of a URL that was judged and is within reach; counted, and told when it was queued."""
        entry = make_entry(url, scope, initiator=Initiator.PAGE, rank=rank)
        admission = self._frontier.add(entry)
        if admission is Admission.QUEUED:
            self.discovered += 1
            self._on_queued(entry)
        elif admission is Admission.FULL:
            self.discovered += 1
            self._notices.count_dropped()
        return admission

    def _count(self, outcome: Code | str) -> None:
        if isinstance(outcome, Code):
            self._notices.count_refused(outcome)
        else:
            self._notices.count_off_host(outcome)

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
