"""Whether visible words are said or only shown: in code, in quotation marks, in a text about attacks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

import re2

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


def _is_quoted(before: bytes, after: bytes) -> bool:
    if before.count(b'"') % 2 and b'"' in after:
        return True
    if max(before.rfind(b" '"), before.rfind(b"('"), 0 if before.startswith(b"'") else -1) > before.rfind(
        b"' "
    ) and (b"'" in after):
        return True
    return any(
        before.rfind(opening) > before.rfind(closing) and closing in after
        for opening, closing in _ENCODED_PAIRS
    )


def _read_line_kind(line: bytes) -> Context:
    stripped = line.lstrip()
    if stripped.startswith(b">"):
        return Context.BLOCKQUOTE
    if stripped.startswith(b"|"):
        return Context.TABLE_CELL
    return Context.HTML_COMMENT if stripped.startswith(b"<!--") else Context.PROSE
