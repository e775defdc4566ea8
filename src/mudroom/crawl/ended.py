"""What is kept of a page that has ended until its turn to be taken in: its links, not its text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from mudroom.address import ExceptionScope, ParsedUrl, parse_url
from mudroom.model import Hop, Link, LinkRelation

__all__ = ["EndedPage", "decode_scope", "encode_scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPage:
    """A page that has ended, whatever became of it."""

    number: int
    depth: int
    url: str = ""
    """As it was asked for."""
    retries: tuple[str, ...] = ()
    """The codes of the tries that failed before the last."""
    wire_bytes: int = 0
    """What it cost, all tries together."""
    final_url: str | None = None
    """Where redirects led."""
    sha256: str | None = None
    """Of the body of an accepted page."""
    hops: tuple[Hop, ...] = ()
    """The requests that led there, of the seed alone."""
    links: tuple[Link, ...] = ()
    """None of them unless the page was accepted."""
    base: ParsedUrl | None = None
    link_scope: ExceptionScope = field(default_factory=ExceptionScope.none)

    @property
    def weight(self) -> int:
        """How much room it takes: its links."""
        return len(self.links) + 1

    def encode(self) -> str:
        """As one line of JSON."""
        return json.dumps(
            {
                "number": self.number,
                "depth": self.depth,
                "url": self.url,
                "retries": self.retries,
                "wire_bytes": self.wire_bytes,
                "final_url": self.final_url,
                "sha256": self.sha256,
                "links": self.links,
                "base": self.base.href if self.base else None,
                "link_scope": encode_scope(self.link_scope),
                "hops": [(hop.url, hop.exception) for hop in self.hops],
            },
            separators=(",", ":"),
        )

    @classmethod
    def decode(cls, line: str) -> EndedPage:
        """From `encode`. Raises: ValueError, KeyError, TypeError for anything else."""
        try:
            fields = json.loads(line)
        except RecursionError as fault:
            raise ValueError("it is nested too deep") from fault
        base, link_scope = fields["base"], decode_scope(fields["link_scope"])
        if link_scope.is_operator:
            raise ValueError("no page has the exceptions of who named the seed")
        return cls(
            number=_whole(fields["number"]),
            depth=_whole(fields["depth"]),
            url=_text(fields["url"]),
            retries=tuple(_text(code) for code in fields["retries"]),
            wire_bytes=_whole(fields["wire_bytes"]),
            final_url=_text_or_none(fields["final_url"]),
            sha256=_text_or_none(fields["sha256"]),
            links=tuple(
                Link(_text(href), bool(is_nofollow), LinkRelation(relation))
                for href, is_nofollow, relation in fields["links"]
            ),
            base=None if base is None else parse_url(_text(base)),
            link_scope=link_scope,
            hops=tuple(
                Hop(url=_text(url), address="", status=0, protocol="", exception=_text_or_none(exception))
                for url, exception in fields["hops"]
            ),
        )


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("it is no number of ours")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it is no text")
    value.encode()  # UnicodeEncodeError is a ValueError
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def encode_scope(scope: ExceptionScope) -> str:
    """A scope as text: a star for the operator's, else its names."""
    return "*" if scope.is_operator else " ".join(sorted(scope.names))


def decode_scope(text: str) -> ExceptionScope:
    """From `encode_scope`. Raises: TypeError for what is no text."""
    if not isinstance(text, str):
        raise TypeError("a scope is text")
    if text == "*":
        return ExceptionScope.operator()
    return ExceptionScope.of(*text.split()) if text else ExceptionScope.none()
