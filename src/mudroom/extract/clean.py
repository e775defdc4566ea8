"""Exposed text without characters that hide, reorder or control: removed before the scan, and counted.

A joiner stays where its script needs it, a variation selector where it makes an emoji; nowhere else. What is
kept stands directly between characters that are kept, so that cleaning twice changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CleanText", "clean_exposed", "has_suspects", "is_clean"]

_JOINER_SCRIPTS = (
    "\u0600-\u06ef\u06fa-\u08ff"  # Arabic, Syriac, Thaana, N'Ko and their supplements
    "\u0900-\u0dff"  # the Indic scripts, Devanagari to Sinhala
    "\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"  # Myanmar, Khmer, Mongolian
    "\ua840-\ua8ff\ua980-\ua9df\uaa60-\uaa7f\ufb50-\ufdcf\ufe70-\ufefc"
)
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_BREAKS = "\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_REMOVED = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # controls, all but TAB and LF
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # soft hyphen, fillers, Mongolian selectors
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero width, bidi, annotation
    "\ufe00-\ufe0d\U000e0000-\U000e0fff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # selectors, tags, formats
    "\ufdd0-\ufdef\ufffe\uffff"  # noncharacters
)
_SUSPECT = re.compile(f"[\r{_BREAKS}{_REMOVED}\u200c\u200d\ufe0e\ufe0f\ud800-\udfff]")
_ASCII_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # the same within ASCII, four times as fast
_STRAY = re.compile(
    f"[{_REMOVED}]"
    f"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
    f"|(?<![0-9#*{_EMOJI}])[\ufe0e\ufe0f]"
    f"|(?<![{_JOINER_SCRIPTS}])\u200c|\u200c(?![{_JOINER_SCRIPTS}])"
    f"|(?<![{_JOINER_SCRIPTS}{_EMOJI}])(?<![{_EMOJI}]\ufe0f)\u200d"
    f"|(?<=[{_JOINER_SCRIPTS}])\u200d(?![{_JOINER_SCRIPTS}])"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?![{_EMOJI}])"
)
_BREAK = re.compile(f"\r\n?|[{_BREAKS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_ASCII = bytes((*b"\t\n", *range(0x20, 0x7F)))
_CONDITIONAL = "\u200c\u200d\ufe0e\ufe0f"  # kept where their neighbours want them
_RUNS = re.compile(f"[{_CONDITIONAL}]+")
_ALWAYS_UNCLEAN = re.compile(f"[\r{_BREAKS}{_REMOVED}\ud800-\udfff]")
_MAX_CONDITIONAL = 300_000  # ten megabytes of Persian have about half of that


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanText:
    """Text fit to be exposed, and how many characters it lost on the way."""

    text: str
    removed: int


def has_suspects(text: str) -> bool:
    """Whether cleaning could change the text."""
    if not text.isascii():
        return _SUSPECT.search(text) is not None
    return not text.isprintable() and _ASCII_SUSPECT.search(text) is not None


def clean_exposed(untrusted_text: str) -> CleanText:
    """Text by the rules for all that is exposed (decision 13); idempotent.

    Line breaks of other systems become LF, break characters of other kinds a space, lone surrogates U+FFFD.
    """
    if not has_suspects(untrusted_text):
        return CleanText(text=untrusted_text, removed=0)
    text, breaks = _BREAK.subn(_plain_break, untrusted_text)
    text, surrogates = _SURROGATE.subn("\ufffd", text)
    cleaned = _STRAY.sub("", text)
    odd = sum(untrusted_text.count(char) for char in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029") if breaks else 0
    return CleanText(text=cleaned, removed=len(text) - len(cleaned) + surrogates + odd)


def is_clean(untrusted_text: str) -> bool:
    """Whether cleaning would change nothing; found out without cleaning, at the first character that tells.

    Why: this is asked outside the jail of what a guest says is clean, on the loop that serves every other
    page. Text with more joiners and selectors than any page has is not looked through: it counts as unclean.
    """
    rest = untrusted_text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_ASCII)
    if not rest:
        return True
    odd = rest.decode("utf-8", "surrogatepass")
    if not has_suspects(odd):
        return True
    if _ALWAYS_UNCLEAN.search(odd) or sum(map(odd.count, _CONDITIONAL)) > _MAX_CONDITIONAL:
        return False
    # Whether such a character may stay is settled by its neighbours alone.
    runs = _RUNS.finditer(untrusted_text)
    near = "\n".join(untrusted_text[max(0, run.start() - 1) : run.end() + 1] for run in runs)
    return _STRAY.search(near) is None


def _plain_break(match: re.Match[str]) -> str:
    return "\n" if match[0][0] == "\r" else " "
