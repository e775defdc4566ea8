"""The rules as values, read from the YAML that ships with the package, every fault named.

A pattern is RE2 syntax with three shorthands: a space stands for any run of blanks and light markup (so
that wrapping, quoting and emphasis change nothing), an apostrophe for any of its forms or none, and
`%name%` for a group of `words.yaml`. Inside square brackets nothing is replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from importlib import resources

from mudroom.errors import InvalidConfig
from mudroom.model import Severity
from mudroom.screen.schema import FileReader, Lane, Pattern, check_pattern, expand_pattern

__all__ = ["Combination", "Place", "Rule", "RuleSet", "Signal", "digest_rules", "load_rules", "parse_rules"]

_WORDS = "words.yaml"
_COMBINATIONS = "combinations.yaml"

Check = Callable[[Pattern], None]
"""Raises ValueError for a pattern that cannot be used."""


@unique
class Place(StrEnum):
    """Where a rule applies."""

    ANY = "any"
    HIDDEN = "hidden"
    """Only in text that people do not see, and in decoded text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One sign of instruction.

    `hidden` is the severity where people do not see the text, `told` where the words are told of somebody
    or named rather than said to the reader.
    """

    id: str
    name: str
    category: str
    severity: Severity
    hidden: Severity
    told: Severity
    where: Place
    lane: Lane
    message: str
    remediation: str
    patterns: tuple[Pattern, ...]
    is_case_sensitive: bool
    positive: tuple[str, ...]
    negative: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A group of patterns that are no finding by themselves."""

    group: str
    patterns: tuple[Pattern, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A finding where one of each of `needs` stands within `window_bytes`."""

    rule: Rule
    needs: tuple[str, ...]
    window_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """All rules of one version, in the order of their ids, and the digest that names them."""

    rules: tuple[Rule, ...]
    signals: tuple[Signal, ...]
    combinations: tuple[Combination, ...]
    digest: str
    """SHA-256 over names and bytes of the files, 64 hex digits."""

    def all_rules(self) -> Iterator[Rule]:
        """Every rule that can give a finding, combinations included."""
        yield from self.rules
        yield from (combination.rule for combination in self.combinations)


def load_rules() -> RuleSet:
    """The rules that ship with the package. Raises InvalidConfig when they are damaged."""
    return parse_rules(_read_packaged(), are_packaged=True)


def digest_rules() -> str:
    """The digest of the rules that ship with the package, which are not parsed for it."""
    return _digest(_read_packaged())


def _read_packaged() -> dict[str, bytes]:
    folder = resources.files("mudroom.screen").joinpath("data")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith(".yaml")}


def parse_rules(files: Mapping[str, bytes], *, are_packaged: bool = False) -> RuleSet:
    """Rules from the bytes of YAML files by name.

    Patterns of packaged files are not compiled one by one: a test does that, and each start would pay for it.

    Raises: InvalidConfig with every fault (file, key, what was expected): unreadable YAML, unknown or
    missing keys, duplicate ids, severities and patterns that cannot be used.
    """
    check = _trust if are_packaged else _check
    faults: list[str] = []
    readers = {
        name: FileReader(name, _read_yaml(name, files[name], faults), faults) for name in sorted(files)
    }
    words = readers.pop(_WORDS).read_words() if _WORDS in readers else {}
    combined = readers.pop(_COMBINATIONS, None)
    rules = [rule for reader in readers.values() for rule in _read_rules(reader, words, check)]
    signals = tuple(_read_signals(combined, words, check)) if combined else ()
    combinations = tuple(_read_combinations(combined, signals)) if combined else ()
    _refuse_duplicates([*rules, *(item.rule for item in combinations)], faults)
    if faults:
        raise InvalidConfig(tuple(faults))
    return RuleSet(
        rules=tuple(sorted(rules, key=lambda rule: rule.id)),
        signals=signals,
        combinations=combinations,
        digest=_digest(files),
    )


def _read_yaml(name: str, content: bytes, faults: list[str]) -> object:
    import yaml  # noqa: PLC0415 - whoever only names the rules parses none

    try:
        return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe loaders
    except yaml.YAMLError as error:
        faults.append(f"{name}: not readable as YAML ({type(error).__name__})")
        return {}


def _digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return total.hexdigest()


def _read_rules(reader: FileReader, words: Mapping[str, str], check: Check) -> Iterator[Rule]:
    category = reader.read_category()
    for entry in reader.entries("rules", allowed=frozenset({"category", "rules"})):
        entry.refuse_unknown(
            [
                "id",
                "name",
                "severity",
                "hidden",
                "told",
                "where",
                "lane",
                "message",
                "remediation",
                "patterns",
                "case_sensitive",
                "tests",
            ]
        )
        severity = entry.severity("severity")
        positive, negative = entry.tests()
        lane = Lane(entry.choice("lane", tuple(Lane), default=Lane.PROSE))
        is_case_sensitive = entry.flag("case_sensitive")
        if is_case_sensitive and lane is Lane.PROSE:
            entry.fault("case_sensitive", "prose is matched in lower case, expected lane: raw beside it")
        yield Rule(
            id=entry.identifier("id"),
            name=entry.text("name"),
            category=category,
            severity=severity,
            hidden=entry.severity("hidden", default=_raise_severity(severity)),
            told=entry.severity("told", default=severity),
            where=Place(entry.choice("where", tuple(Place), default=Place.ANY)),
            lane=lane,
            message=entry.text("message"),
            remediation=entry.text("remediation"),
            patterns=_read_patterns(entry, words, lane, check),
            is_case_sensitive=is_case_sensitive,
            positive=positive,
            negative=negative,
        )


def _raise_severity(severity: Severity) -> Severity:
    """One level up where the text is hidden; what is only recorded stays so (hiddenness alone is no alarm)."""
    return severity if severity in (Severity.LOW, Severity.CRITICAL) else Severity(severity + 1)


def _check(pattern: Pattern) -> None:
    check_pattern(pattern.source)
    check_pattern(pattern.gate or pattern.source)


def _trust(_: Pattern) -> None:
    """Nothing: the pattern was checked before it was shipped."""


def _read_patterns(
    entry: FileReader, words: Mapping[str, str], lane: Lane, check: Check
) -> tuple[Pattern, ...]:
    expanded: list[Pattern] = []
    for number, pattern in enumerate(entry.texts("patterns")):
        try:
            expanded.append(expand_pattern(pattern, words, lane))
            check(expanded[-1])
        except ValueError as error:
            entry.fault(f"patterns[{number}]", str(error))
    return tuple(expanded)


def _read_signals(reader: FileReader, words: Mapping[str, str], check: Check) -> Iterator[Signal]:
    for entry in reader.entries("signals", allowed=frozenset({"signals", "combinations"})):
        entry.refuse_unknown(["group", "patterns", "tests"])
        positive, negative = entry.tests()
        yield Signal(
            group=entry.text("group"),
            patterns=_read_patterns(entry, words, Lane.PROSE, check),
            positive=positive,
            negative=negative,
        )


def _read_combinations(reader: FileReader, signals: tuple[Signal, ...]) -> Iterator[Combination]:
    groups = {signal.group for signal in signals}
    for entry in reader.entries("combinations", allowed=frozenset({"signals", "combinations"})):
        entry.refuse_unknown(
            [
                "id",
                "name",
                "category",
                "severity",
                "hidden",
                "message",
                "remediation",
                "needs",
                "window_bytes",
            ]
        )
        severity = entry.severity("severity")
        needs = entry.texts("needs")
        if not set(needs) <= groups:
            entry.fault("needs", f"expected groups of signals: {', '.join(sorted(groups))}")
        yield Combination(
            rule=Rule(
                id=entry.identifier("id"),
                name=entry.text("name"),
                category=entry.text("category"),
                severity=severity,
                hidden=entry.severity("hidden", default=_raise_severity(severity)),
                told=severity,
                where=Place.ANY,
                lane=Lane.PROSE,
                message=entry.text("message"),
                remediation=entry.text("remediation"),
                patterns=(),
                is_case_sensitive=False,
                positive=(),
                negative=(),
            ),
            needs=needs,
            window_bytes=entry.number("window_bytes"),
        )


def _refuse_duplicates(rules: list[Rule], faults: list[str]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            faults.append(f"{rule.category}: id {rule.id} is given twice")
        seen.add(rule.id)
