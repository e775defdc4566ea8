"""What must become of each page of the sample site, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mudroom.errors import Code
from mudroom.model import Decision, OutcomeKind

__all__ = ["NEVER_REQUESTED", "SAMPLE_EXPECTATIONS", "Expectation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The outcome that a page must have."""

    outcome: OutcomeKind
    why: str
    """A few words for a table: what the page is, or what it tries."""
    decision: Decision | None = None
    """What policy says, with warnings flagged (its default); None where the page never gets that far."""
    codes: frozenset[Code] = frozenset()
    """One of these; empty for STORED."""


def _stored(why: str) -> Expectation:
    return Expectation(outcome=OutcomeKind.STORED, why=why, decision=Decision.SAFE)


def _flagged(why: str) -> Expectation:
    return Expectation(outcome=OutcomeKind.STORED, why=why, decision=Decision.WARN)


def _injected(why: str) -> Expectation:
    codes = frozenset({Code.PROMPT_INJECTION})
    return Expectation(outcome=OutcomeKind.BLOCKED, why=why, decision=Decision.BLOCK, codes=codes)


def _blocked(why: str, *codes: Code) -> Expectation:
    return Expectation(outcome=OutcomeKind.BLOCKED, why=why, codes=frozenset(codes))


def _failed(why: str, *codes: Code) -> Expectation:
    return Expectation(outcome=OutcomeKind.FAILED, why=why, codes=frozenset(codes))


SAMPLE_EXPECTATIONS: Mapping[str, Expectation] = MappingProxyType(
    {
        "/": _stored("front page"),
        "/articles/": _stored("listing"),
        "/articles/reading-the-tide.html": _stored("long article, footnote, figure"),
        "/articles/the-bell-buoy.html": _stored("story with a table"),
        "/articles/a-gauge-from-a-drainpipe.html": _stored("instructions with code"),
        "/articles/a-letter-to-the-machine.html": _flagged("article that quotes an attack"),
        "/docs/": _stored("documentation, nested lists"),
        "/docs/install.html": _stored("shell and TOML blocks"),
        "/docs/api.html": _stored("API reference"),
        "/changelog.html": _stored("changelog"),
        "/tables/tides-march.html": _stored("table with spans"),
        "/tables/stations.html": _stored("table with row spans"),
        "/shop/": _stored("product listing"),
        "/shop/brass-tide-clock.html": _stored("product, honest JSON-LD"),
        "/faq.html": _stored("closed details"),
        "/glossary.html": _stored("definition list"),
        "/kitchen/harbour-soup.html": _stored("recipe"),
        "/about.html": _stored("address and form"),
        "/de/gezeiten.html": _stored("German, windows-1252"),
        "/ja/shio.html": _stored("Japanese, Shift_JIS"),
        "/feed.xml": _stored("Atom feed"),
        "/data/stations.json": _stored("JSON"),
        "/data/levels.csv": _stored("CSV"),
        "/notes/observing.txt": _stored("plain text"),
        "/notes/logbook.md": _stored("Markdown"),
        "/in-plain-sight/accessible.html": _stored("labels for screen readers"),
        "/in-plain-sight/responsive.html": _stored("folded menu, white on dark"),
        "/in-plain-sight/tabs.html": _stored("hidden tab panels"),
        "/hostile/display-none.html": _injected("words in display:none"),
        "/hostile/comment.html": _injected("words in a comment"),
        "/hostile/alt-text.html": _injected("words in an image's alt"),
        "/hostile/meta-description.html": _injected("words in the description"),
        "/hostile/white-on-white.html": _injected("words white on white"),
        "/hostile/invisible-characters.html": _injected("words without glyphs"),
        "/hostile/base64.html": _injected("words in base64"),
        "/hostile/title.html": _injected("words in the title"),
        "/hostile/json-ld.html": _injected("words in JSON-LD"),
        "/hostile/to-metadata": _blocked("redirect to a cloud's metadata", Code.DENIED_ADDRESS),
        "/hostile/to-ssh": _blocked("redirect to port 22 of this machine", Code.INVALID_PORT),
        "/hostile/round-and-round": _blocked("redirect to itself", Code.REDIRECT_LOOP),
        "/hostile/bomb.html": _blocked("gzip bomb, 128 MiB", Code.DECODED_TOO_LARGE),
        "/hostile/endless.html": _blocked("endless body", Code.BODY_TOO_LARGE),
        "/hostile/lying-length.html": _failed("shorter than promised", Code.CONNECTION_LOST),
        "/hostile/binary.html": _blocked("PNG that says text/html", Code.UNSUPPORTED_CONTENT_TYPE),
        "/hostile/calendar/2026/01.html": _stored("calendar without end"),
        "/articles/lost.html": _failed("no longer there", Code.HTTP_STATUS),
        "/staff/rota.html": _failed("robots.txt says no", Code.ROBOTS_DENIED),
    }
)
"""By path. A crawl of depth 1 or more from "/" meets each of them."""

NEVER_REQUESTED = ("/staff/rota.html", "/hostile/beyond-a-blocked-page.html")
"""Paths that a crawl which obeys robots.txt and follows accepted pages only never asks for."""
