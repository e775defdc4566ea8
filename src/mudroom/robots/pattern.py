"""One rule of a robots.txt, and whether it matches: in time linear in pattern and URL."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.robots.spelling import decode_pattern, spell_pattern

__all__ = ["Pattern", "Rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A path pattern, cut at its wildcards.

    Why: the leftmost place for each piece leaves the most room for the next, so one pass decides;
    nothing is ever tried twice, however many `*` there are.
    """

    prefix: str
    pieces: tuple[str, ...] = ()
    """What must follow, in order, anywhere after the prefix; runs of `*` count as one."""
    tail: str | None = None
    """What the URL must end with, after all pieces; None: it may go on."""
    has_wildcard: bool = False

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern that a rule's path in one of the two spellings means."""
        is_anchored = text.endswith("$")
        prefix, *rest = (text[:-1] if is_anchored else text).split("*")
        tail = (rest.pop() if rest else "") if is_anchored else None
        return cls(prefix=prefix, pieces=tuple(filter(None, rest)), tail=tail, has_wildcard="*" in text)

    def matches(self, target: str) -> bool:
        """Whether it matches a path and query in the same spelling."""
        if not target.startswith(self.prefix):
            return False
        place = len(self.prefix)
        if self.tail is not None and not self.has_wildcard:
            return len(target) == place
        for piece in self.pieces:
            found = target.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        return self.tail is None or (len(target) - len(self.tail) >= place and target.endswith(self.tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An Allow or a Disallow line of the group that holds for us."""

    is_allow: bool
    text: str
    """The pattern in the plain spelling: printable ASCII."""
    plain: Pattern
    decoded: Pattern | None
    """The pattern in the decoded spelling, for a Disallow that has escapes."""

    @classmethod
    def parse(cls, untrusted_pattern: str, *, is_allow: bool) -> Rule:
        """The rule that a line means."""
        text = spell_pattern(untrusted_pattern)
        decoded = text if is_allow else decode_pattern(text)
        return cls(
            is_allow=is_allow,
            text=text,
            plain=Pattern.parse(text),
            decoded=None if decoded == text else Pattern.parse(decoded),
        )

    @property
    def precedence(self) -> tuple[int, bool]:
        """Greater wins: the longer pattern in octets, and Allow among equals (RFC 9309 section 2.2.2)."""
        return len(self.text), self.is_allow

    def matches(self, target: str, decoded_target: str) -> bool:
        """Whether it holds for a URL, given in both spellings."""
        if self.plain.matches(target):
            return True
        if self.is_allow or (self.decoded is None and target == decoded_target):
            return False
        return (self.decoded or self.plain).matches(decoded_target)
