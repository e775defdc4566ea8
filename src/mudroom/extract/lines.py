"""Lines that stand as they are written: in code that is broken by hand, and where a style says so."""

from __future__ import annotations

import re

from mudroom.extract.display import BREAK, Inline

__all__ = ["break_lines", "is_aligned", "keeps_lines", "lines_of_code"]

_ALIGNED = re.compile(r"^[ \t]+\S|\S(?: {3,}|\t+)\S|[│┌└├─═║┐┘┤┬┴┼]{2}", re.MULTILINE)
_WHITE_SPACE = re.compile(r"white-space\s*:\s*(?:pre\b|break-spaces)", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_MAX_STYLE = 2000  # characters of declarations that are read


def is_aligned(text: str) -> bool:
    """Whether the text's own columns or indentation mean something."""
    return _ALIGNED.search(text) is not None


def keeps_lines(untrusted_style: str) -> bool:
    """Whether declarations keep the lines of a text as they are written."""
    return "hite-space" in untrusted_style and bool(_WHITE_SPACE.search(untrusted_style[:_MAX_STYLE]))


def break_lines(inline: Inline) -> list[str]:
    """Inline content whose line feeds are breaks; blank lines are not kept."""
    out: list[str] = []
    is_begun = is_owed = False
    for part in inline:
        if type(part) is not str:
            out.append(part)
            continue
        for index, line in enumerate(part.split("\n")):
            is_owed = is_owed or (index > 0 and is_begun)
            if line and not line.isspace():
                if is_owed:
                    out.append(BREAK)
                is_begun, is_owed = True, False
            out.append(line)
    return out


def lines_of_code(inline: Inline) -> str:
    """Code whose lines end at breaks, and whose indentation is written with spaces that do not collapse."""
    lines: list[list[str]] = [[]]
    for part in inline:
        if part is BREAK:
            lines.append([])
        elif type(part) is str:
            lines[-1].append(part)
    return "\n".join([_BLANKS.sub(" ", "".join(line)).strip(" ") for line in lines])
