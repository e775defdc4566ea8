"""What one site's robots.txt says to us.

Source: RFC 9309; decision 6. Neither robotspy (140 of Google's 142 facts) nor protego (132) is wrapped:
both decode escapes that must stay, and the first is not linear in hostile patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mudroom.robots.lines import Field, is_truncated, read_lines
from mudroom.robots.pattern import Rule
from mudroom.robots.spelling import decode_target, spell_target

__all__ = [
    "ALLOW_ALL",
    "MAX_CRAWL_DELAY_SECONDS",
    "RobotsRules",
    "RobotsVerdict",
    "parse_robots",
]

MAX_CRAWL_DELAY_SECONDS = 60.0
"""A longer delay is cut to this: a crawl lasts half an hour by default."""
MAX_SITEMAPS = 1000
MAX_SITEMAP_CHARS = 8192
_MAX_COMPARED_CHARS = 50_000_000
"""Rules with wildcards times characters of the URL; beyond it the URL counts as disallowed."""
_SHOWN_CHARS = 200
_AGENT_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-")


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsVerdict:
    """Whether a URL may be requested, and the rule that says so.

    Shapes: `rule` is one line of printable ASCII, at most 200 characters of the site's own words; None
    when no rule matched.
    """

    is_allowed: bool
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """The rules of one site for one agent.

    Shapes: `rules` in order of precedence, the first that matches decides. `crawl_delay_seconds` is
    None when the site asks for none. `sitemaps` are as written, in order, each once, unjudged.
    `is_truncated` tells that the file was longer than is read.
    """

    rules: tuple[Rule, ...] = ()
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    is_truncated: bool = False

    def may_fetch(self, untrusted_url: str) -> RobotsVerdict:
        """Whether a URL, or its path and query, may be requested.

        Raises: nothing.
        """
        target = spell_target(_find_target(untrusted_url))
        decoded = decode_target(target)
        if self._is_too_costly(len(target)):
            return RobotsVerdict(is_allowed=False, rule="too many rules for a URL of this length")
        for rule in self.rules:
            if rule.matches(target, decoded):
                name = "Allow" if rule.is_allow else "Disallow"
                return RobotsVerdict(is_allowed=rule.is_allow, rule=f"{name}: {rule.text}"[:_SHOWN_CHARS])
        return RobotsVerdict(is_allowed=True)

    def _is_too_costly(self, target_chars: int) -> bool:
        if len(self.rules) * target_chars <= _MAX_COMPARED_CHARS:
            return False
        return sum(rule.plain.has_wildcard for rule in self.rules) * target_chars > _MAX_COMPARED_CHARS


ALLOW_ALL = RobotsRules()
"""No robots.txt (4xx): everything may be requested."""


class _Reader:
    """The state between lines: whose group we are in, and what was found so far."""

    def __init__(self, agent_token: str) -> None:
        self._agent = agent_token.lower()
        self._is_in_agents = False
        self._holds_for_us = False
        self._holds_for_all = False
        self._has_own_group = False
        self._own: list[Rule] = []
        self._common: list[Rule] = []
        self._own_delay: float | None = None
        self._common_delay: float | None = None
        self._sitemaps: dict[str, None] = {}

    def read(self, lines: Iterable[tuple[Field, str]]) -> None:
        for field, value in lines:
            if field is Field.AGENT:
                self._read_agent(value)
            elif field is Field.SITEMAP:
                if value and len(value) <= MAX_SITEMAP_CHARS and len(self._sitemaps) < MAX_SITEMAPS:
                    self._sitemaps[value] = None
            elif field is Field.DELAY:
                self._read_delay(value)
            else:
                self._is_in_agents = False
                if value:
                    self._add_rule(value, is_allow=field is Field.ALLOW)

    def finish(self, *, is_truncated: bool) -> RobotsRules:
        rules = self._own if self._has_own_group else self._common
        distinct = {(rule.text, rule.is_allow): rule for rule in rules}.values()
        return RobotsRules(
            rules=tuple(sorted(distinct, key=lambda rule: rule.precedence, reverse=True)),
            crawl_delay_seconds=self._own_delay if self._has_own_group else self._common_delay,
            sitemaps=tuple(self._sitemaps),
            is_truncated=is_truncated,
        )

    def _read_agent(self, value: str) -> None:
        if not self._is_in_agents:
            self._is_in_agents = True
            self._holds_for_us = self._holds_for_all = False
        if value == "*" or (value[:1] == "*" and value[1:2].isspace()):
            self._holds_for_all = True
        elif _read_token(value).lower() == self._agent != "":
            self._holds_for_us = self._has_own_group = True

    def _read_delay(self, value: str) -> None:
        delay = _read_seconds(value)
        if delay is None:
            return
        if self._holds_for_us:
            self._own_delay = max(delay, self._own_delay or 0.0)
        if self._holds_for_all:
            self._common_delay = max(delay, self._common_delay or 0.0)

    def _add_rule(self, value: str, *, is_allow: bool) -> None:
        if not (self._holds_for_us or self._holds_for_all):
            return
        rules = [Rule.parse(value, is_allow=is_allow)]
        folder, slash, page = value.rpartition("/")
        if is_allow and slash and page.startswith("index.htm"):
            # Who allows the index page allows the folder that shows it.
            rules.append(Rule.parse(f"{folder}/$", is_allow=True))
        if self._holds_for_us:
            self._own.extend(rules)
        if self._holds_for_all:
            self._common.extend(rules)


def parse_robots(untrusted_body: bytes, agent_token: str) -> RobotsRules:
    """The rules of a robots.txt for one agent.

    Why: all groups that name the agent count as one; the groups for `*` count only when none does.
    Shapes: `agent_token` is the product token alone, such as `mudroom`, compared without case. Only
    the first 512 KiB are read.
    Raises: nothing; any bytes are a robots.txt, at worst an empty one.
    Source: RFC 9309 sections 2.2 and 2.5; rows in tests/robots/test_rules.py.
    """
    reader = _Reader(agent_token)
    reader.read(read_lines(untrusted_body))
    return reader.finish(is_truncated=is_truncated(untrusted_body))


def _read_token(value: str) -> str:
    """The product token at the start of a value: `mudroom` of `mudroom/1.0 (crawler)`."""
    for place, char in enumerate(value):
        if char not in _AGENT_CHARS:
            return value[:place]
    return value


def _read_seconds(value: str) -> float | None:
    """A delay in seconds within bounds, or None when the value is no plain number."""
    digits = value.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(float(value), MAX_CRAWL_DELAY_SECONDS)


def _find_target(untrusted_url: str) -> str:
    """Path and query of a URL, without fragment; a text that starts with a slash is one already."""
    text = untrusted_url.partition("#")[0]
    if not text.startswith("/"):
        _, mark, rest = text.partition("://")
        ends = [place for place in (rest.find("/"), rest.find("?")) if place >= 0] if mark else []
        text = rest[min(ends) :] if ends else ""
    return text if text.startswith("/") else f"/{text}"
