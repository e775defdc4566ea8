"""Whether visible words are said or only shown: in code, in quotation marks, in a text about attacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum, unique

import re2

from mudroom.screen.text import flatten

__all__ = ["CONFIDENCE", "Context", "ContextReader"]


@unique
class Context(StrEnum):
    """What surrounds a match, as the classic report names it."""

    PROSE = "prose"
    HTML_COMMENT = "html_comment"
    FRONT_MATTER = "frontmatter"
    BLOCKQUOTE = "blockquote"
    TABLE_CELL = "table_cell"
    INLINE_CODE = "inline_code"
    FENCED_CODE = "fenced_code"
    QUOTATION = "quotation"
    DISCUSSION = "discussion"


# Facts of the classic scanner; the last two are ours.
CONFIDENCE = {
    Context.PROSE: 1.0,
    Context.HTML_COMMENT: 1.0,
    Context.FRONT_MATTER: 0.9,
    Context.BLOCKQUOTE: 0.9,
    Context.TABLE_CELL: 0.3,
    Context.INLINE_CODE: 0.3,
    Context.FENCED_CODE: 0.2,
    Context.QUOTATION: 0.6,
    Context.DISCUSSION: 0.6,
}


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.never_capture = True
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern, options)


_FENCE = _compile(r"(?m)^[ >\t]{0,12}(?:```+|~~~+)")
_DISCUSSION = _compile(
    r"\b(?:prompt[- ]injections?|jail ?break(?:s|ing|ers?)?|red[- ]team(?:s|ing|ers?)?|adversarial (?:prompts?|attacks?|inputs?|examples?)"
    r"|(?:llm|ai|genai|agent|model) (?:security|safety|guardrails?|vulnerabilit(?:y|ies)|attacks?)|attackers?|malicious (?:prompts?|inputs?|instructions?|users?|actors?)"
    r"|owasp|guardrails?|injection attacks?|prompt leak(?:ing|age|s)?|system prompt (?:leak|extraction)\w*|exfiltration|exploit(?:s|ation)?|mitigations?|threat model)\b"
    r"|提示词?注入|越狱|промпт-инъекци|プロンプトインジェクション"
)
_PAIRS = (("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("「", "」"), ("『", "』"), ("‹", "›"))  # noqa: RUF001 - these very marks
_ENCODED_PAIRS = tuple((opening.encode(), closing.encode()) for opening, closing in _PAIRS)
# What stands right before a verb that is told of somebody rather than said to the reader, in the languages
# of the rules: infinitive markers, modals, prepositions, a third person, a negation.
_TOLD = _compile(
    r"(?:\b(?:to|will|would|could|can|can.?t|cannot|might|may|shall|won.?t|doesn.?t|don.?t|didn.?t|not|never|by|of|for|from|into|about|via|than"
    r"|attackers?|users?|hackers?|adversar(?:y|ies)|applications?|they|we|who|that|which|this|it|them|him|her|and then|or"
    r"|(?:the|an?|any|this|that|its|your) (?:\S+ )?(?:models?|llms?|ai|agents?|(?:chat ?)?bots?|assistants?|systems?|gpt)"
    r"|de|à|pour|peut|peuvent|pouvez|permet|zu|können|kann|para|por|al|a|puede|pueden|pode|podem|per|di|può)"
    r"(?: (?:\w+ly|also|even|just|then|either|always|try to|help|help to|not|not to))?"
    r"|\b(?:его|её|их|модель|модели|чтобы|может|могут)) $"  # noqa: RUF001 - Russian words
)
# The reader is spoken to all the same.
_SPOKEN = _compile(
    r"\b(?:you|your|please|kindly|must|shall|i|remember|make sure|be sure|begin|start|let.?s|vous|tu|usted|você|tú|ты|вы)\b"
)
# Said or not, what is forbidden is no order to do it.
_NEGATED = _compile(
    r"\b(?:(?:does|do|did|must|should|could|would|ca|wo)n.?t|(?:do|does|did|must|should|could|would|will|can)? ?not(?: to)?|never|cannot) $"
)
_SENTENCE_END = re.compile(rb"[.!?:;\n]\s")
_TOLD_REACH = 64
_SPOKEN_WORDS = 4
_QUOTES = tuple(
    mark.encode()
    for mark in ('"', "'", "`", "“", "”", "„", "‘", "’", "«", "»", "「", "」", "『", "』")  # noqa: RUF001
)
_REACH = 240
_MIN_DISCUSSION = 3
_DISCUSSION_REACH = 4_000


@dataclass(slots=True)
class ContextReader:
    """The contexts of one text; what is costly is found once, when it is first asked for."""

    text: bytes
    _fences: list[int] | None = None
    _mentions: list[int] | None = None

    def read(self, start: int, end: int, piece_start: int, piece_end: int) -> Context:
        """What surrounds the span; `piece_start` and `piece_end` bound the string that it stands in."""
        line_start = max(piece_start, self.text.rfind(b"\n", piece_start, start) + 1)
        line_end = self.text.find(b"\n", end, piece_end)
        line_end = piece_end if line_end < 0 else line_end
        before, after = (
            self.text[max(line_start, start - _REACH) : start],
            self.text[end : min(line_end, end + _REACH)],
        )
        if self._is_fenced(start, piece_start):
            return Context.FENCED_CODE
        if before.count(b"`") % 2 and b"`" in after:
            return Context.INLINE_CODE
        if _is_quoted(before, after):
            return Context.QUOTATION
        if self._is_discussed(start):
            return Context.DISCUSSION
        return _read_line_kind(self.text[line_start : line_start + 8])

    def is_told(self, start: int, end: int) -> bool:
        """Whether the words are told of or named, not said: "makes it ignore X", the phrase "ignore X"."""
        if self._is_named(start, end):
            return True
        before = flatten(self.text[max(0, start - _TOLD_REACH) : start])
        sentence = _SENTENCE_END.split(before)[-1]
        if _NEGATED.search(sentence) is not None:
            return True
        is_told = _TOLD.search(sentence) is not None or _is_gerund(self.text[start:end])
        near = b" ".join(sentence.split()[-_SPOKEN_WORDS:])
        return is_told and _SPOKEN.search(near) is None

    def _is_named(self, start: int, end: int) -> bool:
        """Whether quotation marks or backquotes hold these words and no others."""
        return self.text[max(0, start - 3) : start].endswith(_QUOTES) and self.text[end : end + 6].lstrip(
            b".,!?"
        ).startswith(_QUOTES)

    def _is_fenced(self, start: int, piece_start: int) -> bool:
        if self._fences is None:
            self._fences = [match.start() for match in _FENCE.finditer(self.text)]
        return sum(piece_start <= fence < start for fence in self._fences) % 2 == 1

    def _is_discussed(self, start: int) -> bool:
        """Whether the text speaks of attacks often, and near the span: once is no discussion."""
        if self._mentions is None:
            self._mentions = [match.start() for match in _DISCUSSION.finditer(self.text)]
        near = sum(abs(mention - start) <= _DISCUSSION_REACH for mention in self._mentions)
        return near >= _MIN_DISCUSSION


def _is_gerund(words: bytes) -> bool:
    return words.split(maxsplit=1)[0].lower().endswith(b"ing") if words.strip() else False


def _is_quoted(before: bytes, after: bytes) -> bool:
    if before.count(b'"') % 2 and b'"' in after:
        return not _is_syntax(before, after)
    if max(before.rfind(b" '"), before.rfind(b"('"), 0 if before.startswith(b"'") else -1) > before.rfind(
        b"' "
    ) and (b"'" in after):
        return True
    return any(
        before.rfind(opening) > before.rfind(closing) and closing in after
        for opening, closing in _ENCODED_PAIRS
    )


def _is_syntax(before: bytes, after: bytes) -> bool:
    """Whether the quotation marks are those of a value in JSON or its like, which quote nobody."""
    opening = before[: before.rfind(b'"')].rstrip()
    closing = after[after.find(b'"') + 1 :].lstrip()
    is_value = opening.endswith((b'":', b'" :', b"[", b"{", b'",', b"},", b"],"))
    return is_value and closing.startswith((b",", b"}", b"]"))


def _read_line_kind(line: bytes) -> Context:
    stripped = line.lstrip()
    if stripped.startswith(b">"):
        return Context.BLOCKQUOTE
    if stripped.startswith(b"|"):
        return Context.TABLE_CELL
    return Context.HTML_COMMENT if stripped.startswith(b"<!--") else Context.PROSE
