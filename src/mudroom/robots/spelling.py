"""Two spellings in which a rule and a URL are compared.

RFC 9309 and the parser that most sites test against disagree on escapes of letters: by the RFC, a rule
for `/%62az` holds for `/baz`; by Google's parser it does not. Where they differ, mudroom takes what
either refuses as refused: an Allow is compared in the plain spelling, a Disallow in both.

plain    non-ASCII and control bytes are escaped, escapes are in capitals, and punctuation that means
         nothing to a path or a query (`:`, `~`, `(` and the like) is never escaped. `*` and `$` in a
         URL are escaped, so that a rule that means the very character writes `%2A` or `%24`.
decoded  the same, and escaped letters and digits are decoded, as is a slash inside a query.

Source: RFC 9309 sections 2.2.2 and 2.2.3; scrapy/protego issues 28 and 29 (wildcards, queries).
"""

from __future__ import annotations

import re

__all__ = ["decode_pattern", "decode_target", "spell_pattern", "spell_target"]

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_SOFT = frozenset("-._~!'(),:;@[]|^`{}\"<>")
"""Characters that compare equal whether they were escaped or not."""
_ENCODED = frozenset(range(0x21)) | frozenset(range(0x7F, 0x100))
_BYTES = tuple(f"%{byte:02X}" if byte in _ENCODED else chr(byte) for byte in range(256))
_TARGET_BYTES = tuple("%2A" if c == "*" else "%24" if c == "$" else c for c in _BYTES)


def spell_pattern(untrusted_pattern: str) -> str:
    """A rule's path in the plain spelling; `*`, and `$` at the end, keep their meaning."""
    is_anchored = untrusted_pattern.endswith("$")
    body = untrusted_pattern[:-1] if is_anchored else untrusted_pattern
    return _spell(body, _BYTES).replace("$", "%24") + ("$" if is_anchored else "")


def spell_target(untrusted_target: str) -> str:
    """The path and query of a URL in the plain spelling."""
    return _spell(untrusted_target, _TARGET_BYTES)


def decode_pattern(pattern: str) -> str:
    """A rule's path in the decoded spelling, from the plain one."""
    if "%" not in pattern:
        return pattern
    wildcard, query = pattern.find("*"), pattern.find("?")
    starts = [place for place in (wildcard, query) if place >= 0]  # a wildcard may stand for the `?`
    return _decode(pattern, min(starts, default=len(pattern)))


def decode_target(target: str) -> str:
    """The path and query of a URL in the decoded spelling, from the plain one."""
    if "%" not in target:
        return target
    query = target.find("?")
    return _decode(target, query if query >= 0 else len(target))


def _spell(text: str, table: tuple[str, ...]) -> str:
    # Bytes that are not UTF-8 were read as surrogates and are given back; other surrogates, which no
    # robots.txt can hold, become question marks.
    try:
        octets = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        octets = text.encode("utf-8", "replace")
    spelled = "".join([table[octet] for octet in octets])
    return _ESCAPE.sub(_soften, spelled) if "%" in spelled else spelled


def _soften(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _SOFT else match[0].upper()


def _decode(text: str, query_start: int) -> str:
    path, query = text[:query_start], text[query_start:]
    return _ESCAPE.sub(_decode_letter, path) + _ESCAPE.sub(_decode_letter, query).replace("%2F", "/")


def _decode_letter(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _LETTERS else match[0]
