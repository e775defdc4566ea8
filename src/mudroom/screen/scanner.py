"""The scanner: everything exposed and everything a model could see, in; findings without text, out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from mudroom.errors import Code, MudroomError
from mudroom.model import Channel, ExposedForm, Finding, Hiding, ScanRequest, Severity
from mudroom.screen.context import Context, ContextReader
from mudroom.screen.layout import Layout, Spot
from mudroom.screen.limits import ScanLimits
from mudroom.screen.matcher import Expression, Match, Matcher, TooManyMatches
from mudroom.screen.rules import Place, Rule, RuleSet
from mudroom.screen.schema import Lane, Pattern
from mudroom.screen.text import LaneText
from mudroom.screen.views import TooMuchDecoded, View, build_views

__all__ = ["SCANNER_VERSION", "Hit", "Scanner"]

SCANNER_VERSION = "screen/1"

_MAX_MATCHES = 5_000
_WARNINGS_THAT_BLOCK = 2
_SCANNER_CATEGORY = "scanner"
_TEXT_LIMIT, _MATCH_LIMIT, _DECODE_LIMIT = "SCAN-001", "SCAN-002", "SCAN-003"
# Contexts in which visible words are shown rather than said.
_SHOWN = frozenset({Context.FENCED_CODE, Context.INLINE_CODE, Context.QUOTATION, Context.DISCUSSION})
_LOWERING = frozenset({Context.FENCED_CODE, Context.INLINE_CODE, Context.DISCUSSION})
# Addresses and names made from titles join their words with signs.
_JOINED_FORMS = frozenset({ExposedForm.URL, ExposedForm.SLUG})
_SEPARATORS = bytes.maketrans(b"-_+./=&?", b"        ")


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule and the span of the original buffer that it was found in."""

    rule: Rule
    start: int
    end: int
    is_decoded: bool
    is_capped: bool


class Scanner:
    """Rules compiled, and proved to work before the first text is judged."""

    def __init__(self, rules: RuleSet, limits: ScanLimits) -> None:
        """Raises: MudroomError (SCANNER_FAILURE) when a rule does not find its own example."""
        self._limits = limits
        self._rules = tuple(rules.all_rules())
        self._expressions = tuple(_list_expressions(rules))
        self._matcher = self._build(self._expressions)
        self._tight: Matcher | None = None
        self._test_gate()

    def scan(self, request: ScanRequest) -> tuple[Finding, ...]:
        """What was found, worst first, each rule once a channel, hiding and line.

        A bound that is passed is itself a finding, and one that blocks.
        Raises: MudroomError (SCANNER_FAILURE) for text that is not Unicode.
        """
        text = request.security_text
        size = len(text.blob) + sum(len(item.text) for item in request.exposed)
        if size > self._limits.max_text_bytes or len(text) > self._limits.max_pieces:
            return (_fail(_TEXT_LIMIT),)
        findings: list[Finding] = []
        said: set[Finding] = set()
        try:
            layout = Layout(request)
            contexts = ContextReader(layout.buffer)
            for hit in self.find(layout.buffer, layout):
                judged = _judge(hit, layout.locate(hit.start), contexts)
                if judged is not None:
                    findings.append(judged[0])
                    if judged[1]:
                        said.add(judged[0])
        except UnicodeError as error:
            raise MudroomError(Code.SCANNER_FAILURE, "the text to be scanned is not valid Unicode") from error
        except TooManyMatches:
            findings.append(_fail(_MATCH_LIMIT))
        except TooMuchDecoded:
            findings.append(_fail(_DECODE_LIMIT))
        return _reduce(_raise_together(findings, said), self._limits.max_findings)

    def encode(self, untrusted_text: str) -> bytes:
        """The text as `find_all` takes it.

        Raises: MudroomError (SCANNER_FAILURE) when it is too long or holds a lone surrogate.
        """
        try:
            encoded = untrusted_text.encode()
        except UnicodeEncodeError as error:
            raise MudroomError(Code.SCANNER_FAILURE, "the text to be scanned is not valid Unicode") from error
        if len(encoded) > self._limits.max_text_bytes:
            raise MudroomError(Code.SCANNER_FAILURE, "the text is longer than screen.max_text_bytes")
        return encoded

    def find_all(self, buffer: bytes) -> tuple[Hit, ...]:
        """Each rule where it stands in one visible text; rules for hidden text only where it was decoded.

        Raises: MudroomError (SCANNER_FAILURE) where a bound is passed.
        """
        try:
            hits = tuple(self.find(buffer))
        except (TooManyMatches, TooMuchDecoded) as error:
            raise MudroomError(Code.SCANNER_FAILURE, "the text holds more matches than are listed") from error
        return tuple(hit for hit in hits if hit.is_decoded or hit.rule.where is not Place.HIDDEN)

    def find(self, buffer: bytes, layout: Layout | None = None) -> Iterator[Hit]:
        """Each rule where it stands in the buffer, in the text as written first, then in its other forms.

        Raises: TooManyMatches, TooMuchDecoded.
        """
        written = [
            self._hit(match, match.start, match.end, is_decoded=False)
            for match in self._matcher.find(LaneText(buffer))
        ]
        yield from written
        known = _Known(written)
        for view in build_views(buffer, self._limits):
            yield from known.drop(self._find_in(view))
        if layout is not None:
            yield from self._find_in_names(layout)

    def _find_in(self, view: View) -> Iterator[Hit]:
        matcher = self._tight_matcher() if view.is_tight else self._matcher
        for match in matcher.find(LaneText(view.text)):
            yield self._hit(match, *view.locate(match.start, match.end), is_decoded=True)

    def _find_in_names(self, layout: Layout) -> Iterator[Hit]:
        """Exposed addresses and slugs read as sentences."""
        position = 0
        while position < layout.security_start:
            spot = layout.locate(position)
            if spot.form in _JOINED_FORMS:
                words = layout.buffer[spot.start : spot.end].translate(_SEPARATORS)
                for match in self._matcher.find(LaneText(words)):
                    yield self._hit(match, spot.start + match.start, spot.start + match.end, is_decoded=False)
            position = spot.end + 1

    def _hit(self, match: Match, start: int, end: int, *, is_decoded: bool) -> Hit:
        return Hit(self._rules[match.owner], start, end, is_decoded, match.is_capped)

    def _build(self, expressions: Sequence[Expression]) -> Matcher:
        return Matcher(expressions, max_per_line=self._limits.max_matches_per_line, max_matches=_MAX_MATCHES)

    def _tight_matcher(self) -> Matcher:
        """The rules for text whose words run together; made when such text is first met."""
        if self._tight is None:
            self._tight = self._build(
                [_tighten(item) for item in self._expressions if item.lane is Lane.PROSE]
            )
        return self._tight

    def _test_gate(self) -> None:
        """Each rule on an example of its own; only what the sets do not tell is searched for in full."""
        with_example = [(owner, rule) for owner, rule in enumerate(self._rules) if rule.positive]
        sample = "\n\n".join(rule.positive[0] for _, rule in with_example)
        passed = self._matcher.name_owners(LaneText(sample.encode()))
        rest = [rule for owner, rule in with_example if owner not in passed]
        missed = [
            rule.id for rule in rest if rule not in {hit.rule for hit in self.find(rule.positive[0].encode())}
        ]
        if missed:
            names = ", ".join(missed)
            raise MudroomError(Code.SCANNER_FAILURE, f"the scanner does not find its own examples: {names}")


class _Known:
    """What was found in the text as written: another form of the same words says nothing new."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._starts: dict[str, list[int]] = {}
        for hit in hits:
            self._starts.setdefault(hit.rule.id, []).append(hit.start)
        for starts in self._starts.values():
            starts.sort()

    def drop(self, hits: Iterator[Hit]) -> Iterator[Hit]:
        """The hits of which there are more than were found as written in the same span."""
        spans: dict[tuple[str, int, int], list[Hit]] = {}
        for hit in hits:
            spans.setdefault((hit.rule.id, hit.start, hit.end), []).append(hit)
        for (identifier, start, end), group in spans.items():
            starts = self._starts.get(identifier, [])
            if len(group) > bisect_right(starts, end) - bisect_left(starts, start):
                yield group[0]


def _list_expressions(rules: RuleSet) -> Iterator[Expression]:
    for number, rule in enumerate(rules.rules):
        for pattern in rule.patterns:
            yield Expression(
                owner=number, pattern=pattern, lane=rule.lane, is_case_sensitive=rule.is_case_sensitive
            )
    groups = {signal.group: signal.patterns[0] for signal in rules.signals}
    for number, combination in enumerate(rules.combinations, start=len(rules.rules)):
        first, *others = (groups[name] for name in combination.needs)
        yield Expression(
            owner=number,
            pattern=first,
            lane=Lane.PROSE,
            also=tuple(others),
            window_bytes=combination.window_bytes,
        )


def _tighten(expression: Expression) -> Expression:
    pattern = expression.pattern
    return Expression(
        owner=expression.owner,
        pattern=Pattern(_loosen(pattern.source), None if pattern.gate is None else _loosen(pattern.gate)),
        lane=expression.lane,
        also=tuple(Pattern(_loosen(item.source), None) for item in expression.also),
        window_bytes=expression.window_bytes,
    )


def _loosen(pattern: str) -> str:
    """A prose pattern for words that run together: blanks may be missing, words need no edges."""
    return pattern.replace("(?: +)", "(?: *)").replace(r"\b", "")


def _judge(hit: Hit, spot: Spot, contexts: ContextReader) -> tuple[Finding, bool] | None:
    """The finding that a hit is where it stands, and whether its words are plainly said to the reader.

    None where the rule does not apply.
    """
    is_hidden = spot.is_hidden or hit.is_decoded
    if hit.rule.where is Place.HIDDEN and not is_hidden:
        return None
    severity, is_said = hit.rule.hidden if is_hidden else hit.rule.severity, True
    if not is_hidden and not hit.is_capped and severity > Severity.LOW:
        severity, is_said = _weigh(hit, spot, contexts)
    finding = Finding(
        id=hit.rule.id,
        severity=severity,
        category=hit.rule.category,
        channel=spot.channel,
        hiding=spot.hiding,
        line=spot.line,
        is_decoded=hit.is_decoded,
    )
    return finding, is_said


def _weigh(hit: Hit, spot: Spot, contexts: ContextReader) -> tuple[Severity, bool]:
    """The severity of visible words where they stand, and whether they are said rather than shown or told.

    What is told of or named weighs less to begin with; what is shown weighs one level less, whatever else.
    """
    severity = hit.rule.severity
    is_told = hit.rule.told < severity and contexts.is_told(hit.start, hit.end)
    if is_told:
        severity = hit.rule.told
    context = (
        Context.FENCED_CODE if _is_code(spot) else contexts.read(hit.start, hit.end, spot.start, spot.end)
    )
    # A dictated answer and a forged turn stand in quotation marks by nature.
    lowering = _SHOWN if hit.rule.severity > Severity.MEDIUM and hit.rule.lane is Lane.PROSE else _LOWERING
    if context in lowering and severity > Severity.LOW:
        severity = Severity(severity - 1)
    return severity, not is_told and context not in _SHOWN


def _is_code(spot: Spot) -> bool:
    return spot.channel is Channel.CODE or spot.form is ExposedForm.SLUG


def _fail(identifier: str) -> Finding:
    return Finding(
        id=identifier,
        severity=Severity.CRITICAL,
        category=_SCANNER_CATEGORY,
        channel=Channel.EXPOSED,
        hiding=Hiding.NONE,
        line=0,
    )


def _raise_together(findings: Sequence[Finding], said: AbstractSet[Finding]) -> list[Finding]:
    """The findings, one level up where two rules warn of the same line and its words are plainly said."""
    warned: dict[tuple[Channel, Hiding, int], set[str]] = {}
    for finding in said:
        if finding.severity is Severity.MEDIUM:
            warned.setdefault((finding.channel, finding.hiding, finding.line), set()).add(finding.id)
    return [
        replace(finding, severity=Severity.HIGH)
        if finding in said
        and finding.severity is Severity.MEDIUM
        and len(warned[finding.channel, finding.hiding, finding.line]) >= _WARNINGS_THAT_BLOCK
        else finding
        for finding in findings
    ]


def _reduce(findings: Sequence[Finding], max_findings: int) -> tuple[Finding, ...]:
    """Each rule once a channel, hiding and line, as written rather than decoded; worst first."""
    kept: dict[tuple[str, Channel, Hiding, int], Finding] = {}
    for finding in findings:
        key = (finding.id, finding.channel, finding.hiding, finding.line)
        other = kept.get(key)
        if other is None or (other.is_decoded, -other.severity) > (finding.is_decoded, -finding.severity):
            kept[key] = finding
    seen = {
        (item.id, item.severity)
        for item in kept.values()
        if item.channel is not Channel.EXPOSED and item.hiding is Hiding.NONE
    }
    distinct = [
        item
        for item in kept.values()
        if item.channel is not Channel.EXPOSED or (item.id, item.severity) not in seen
    ]
    distinct.sort(key=lambda item: (-item.severity, item.id, item.channel, item.line))
    return tuple(distinct[:max_findings])
