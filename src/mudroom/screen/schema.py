"""A rule file read key by key, each fault with the file and key that it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique

import re2

from mudroom.model import Severity

__all__ = ["FileReader", "Lane", "Pattern", "check_pattern", "expand_pattern"]

# What may stand between two words of a phrase as it was written: blanks, emphasis, quotes, quote markers.
_BLANKS = r"(?:[\s\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}*~`>\"“”«»„‘’']+)"  # noqa: RUF001 - these very marks
_APOSTROPHE = "(?:['’‘ʼ`´]?)"  # noqa: RUF001 - its forms
_WORD = re.compile(r"%([a-z_]+)%")
_IDENTIFIER = re.compile(r"[A-Z]{2,12}-[0-9]{3}")
_MAX_WORDS = 100
_GATE_MARK = "@@"
# What must be taken whole: an escape, a character class.
_TAKEN = r"\\.|\[\^?(?:\\.|[^\]\\])*\]"
# "Up to so many words" or "up to so many characters"; both begin with what is taken whole elsewhere.
_GAP = r"(?P<gap>\(\?:(?:\\S\+|\[\^\\s\.!\?\]\+) \)\{\d+,\d+\}\??|\.\{\d+,\d+\}\??)"
_PIECE = re.compile(f"{_GAP}|{_TAKEN}|[()]", re.DOTALL)
_BLANK_OR_TAKEN = re.compile(f"{_TAKEN}|[ '\\[\\\\]", re.DOTALL)
_LEFT_OPEN = ("[", "\\")


@unique
class Lane(StrEnum):
    """Which form of a text a pattern is matched against."""

    PROSE = "prose"
    """Flattened: lower case, blanks, quotes and light markup are spaces."""
    RAW = "raw"
    """As written, for what is told by its punctuation or line breaks."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """RE2 syntax, and for a phrase with gaps the part of it that is rare in honest text.

    Why: gaps ("up to five words") of many patterns at once multiply the states of an automaton; looked for
    only around their rare part, they cost next to nothing (benchmarks/screening.py).
    """

    source: str
    gate: str | None
    """None where the pattern has no gap. Whatever `source` matches holds a match of `gate`."""


def expand_pattern(pattern: str, words: Mapping[str, str], lane: Lane) -> Pattern:
    """The RE2 pattern that a written one stands for; `@@` marks the rare part, else it is the first.

    Raises: ValueError for an unknown word, words that lead back to themselves, and unbalanced brackets.
    """
    expanded = pattern
    for _ in range(_MAX_WORDS):
        match = _WORD.search(expanded)
        if match is None:
            break
        if match[1] not in words:
            raise ValueError(f"unknown word %{match[1]}%")
        expanded = expanded[: match.start()] + words[match[1]] + expanded[match.end() :]
    else:
        raise ValueError(f"more than {_MAX_WORDS} words, or one that leads back to itself")
    parts = _split_gaps(expanded)
    source = _spread_blanks(expanded.replace(_GATE_MARK, ""), lane)
    if len(parts) == 1:
        return Pattern(source, None)
    marked = [part for part in parts if part.startswith(_GATE_MARK)] or parts
    gate = _spread_blanks(marked[0].removeprefix(_GATE_MARK).strip(), lane)
    # A part that follows a gap of words begins a word; saying so spares the automaton most of its states.
    follows_gap = marked[0] is not parts[0] and (gate.startswith("(?:") or gate[0].isalpha())
    return Pattern(source, f"\\b{gate}" if follows_gap else gate)


def _split_gaps(pattern: str) -> list[str]:
    """The parts of a pattern between its outermost gaps."""
    parts: list[str] = []
    depth = start = 0
    for piece in _PIECE.finditer(pattern):
        if piece.lastgroup != "gap":
            depth += (piece[0] == "(") - (piece[0] == ")")
        elif depth == 0:
            parts.append(pattern[start : piece.start()])
            start = piece.end()
    return [*parts, pattern[start:]]


def _spread_blanks(pattern: str, lane: Lane) -> str:
    """The pattern with its blanks and apostrophes as they are in the text of its lane."""
    blank, apostrophe = (" +", "(?: *)") if lane is Lane.PROSE else (_BLANKS, _APOSTROPHE)
    spread = {" ": f"(?:{blank})", "'": apostrophe}
    pieces = list(_BLANK_OR_TAKEN.finditer(pattern))
    if any(piece[0] in _LEFT_OPEN for piece in pieces):
        raise ValueError("a bracket or a backslash is left open")
    return _BLANK_OR_TAKEN.sub(lambda piece: spread.get(piece[0], piece[0]), pattern)


def check_pattern(pattern: str) -> None:
    """Nothing, or ValueError when RE2 cannot take the pattern or it matches the empty text."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"not a pattern for RE2 ({error})") from error
    if compiled.search("") is not None:
        raise ValueError("matches the empty text")


class FileReader:
    """A mapping of a rule file: the file itself, or one entry of it."""

    def __init__(self, where: str, value: object, faults: list[str], *, tries_patterns: bool = True) -> None:
        self._where = where
        self._faults = faults
        self._tries_patterns = tries_patterns
        self._values: Mapping[object, object] = value if isinstance(value, Mapping) else {}
        if not isinstance(value, Mapping):
            faults.append(f"{where}: expected a mapping of keys")

    def fault(self, key: str, expected: str) -> None:
        """Record that a key cannot be used."""
        self._faults.append(f"{self._where}: {key}: {expected}")

    def refuse_unknown(self, allowed: Sequence[str]) -> None:
        """Record each key that is not one of `allowed`."""
        for key in self._values:
            if key not in allowed:
                self.fault(str(key), f"unknown key, expected one of {', '.join(allowed)}")

    def entries(self, key: str, *, allowed: frozenset[str]) -> Iterator[FileReader]:
        """Each mapping of the list at `key`, named by its id or place."""
        self.refuse_unknown(sorted(allowed))
        items = self._values.get(key)
        if not isinstance(items, list) or not items:
            self.fault(key, "expected a list with at least one entry")
            return
        for number, item in enumerate(items):
            name = item.get("id", item.get("group", number)) if isinstance(item, Mapping) else number
            where = f"{self._where}: {key}[{name}]"
            yield FileReader(where, item, self._faults, tries_patterns=self._tries_patterns)

    def try_pattern(self, pattern: Pattern) -> None:
        """Nothing, or ValueError when RE2 cannot take the pattern; nothing at all where none is tried."""
        if self._tries_patterns:
            check_pattern(pattern.source)
            if pattern.gate is not None:
                check_pattern(pattern.gate)

    def read_words(self) -> dict[str, str]:
        """The shared words of `words.yaml`."""
        self.refuse_unknown(["words"])
        words = self._values.get("words")
        if not isinstance(words, Mapping) or not all(
            isinstance(item, str) for pair in words.items() for item in pair
        ):
            self.fault("words", "expected names with patterns")
            return {}
        return {str(name): str(pattern) for name, pattern in words.items()}

    def read_category(self) -> str:
        """The category that all rules of this file share."""
        return self.text("category")

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self._values.get(key)
        if isinstance(value, str) and value.strip():
            return value
        self.fault(key, "expected a text")
        return ""

    def identifier(self, key: str) -> str:
        """An id such as ROLE-004."""
        value = self.text(key)
        if value and _IDENTIFIER.fullmatch(value) is None:
            self.fault(key, "expected capitals, a hyphen and three digits, such as ROLE-004")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings with at least one."""
        value = self._values.get(key)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.fault(key, "expected a list of texts with at least one")
        return ()

    def tests(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts that a rule must find, and those that it must leave alone."""
        value = self._values.get("tests")
        if value is None:
            self.fault("tests", "expected positive and negative texts")
            return (), ()
        reader = FileReader(f"{self._where}: tests", value, self._faults)
        reader.refuse_unknown(["positive", "negative"])
        return reader.texts("positive"), reader.texts("negative")

    def choice(self, key: str, allowed: Sequence[str], *, default: str) -> str:
        """One of `allowed`, or the default where the key is absent."""
        value = self._values.get(key, default)
        if isinstance(value, str) and value in allowed:
            return value
        self.fault(key, f"expected one of {', '.join(allowed)}")
        return default

    def severity(self, key: str, *, default: Severity | None = None) -> Severity:
        """A severity by name; without a default the key must be there."""
        value = self._values.get(key, default.name if default else None)
        if isinstance(value, str) and value in Severity.__members__:
            return Severity[value]
        self.fault(key, f"expected one of {', '.join(Severity.__members__)}")
        return Severity.CRITICAL

    def flag(self, key: str) -> bool:
        """True or false; false where the key is absent."""
        value = self._values.get(key, False)
        if isinstance(value, bool):
            return value
        self.fault(key, "expected true or false")
        return False

    def number(self, key: str) -> int:
        """A whole number from 1."""
        value = self._values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        self.fault(key, "expected a whole number from 1")
        return 1
