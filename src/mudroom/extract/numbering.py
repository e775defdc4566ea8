"""How items of a list are numbered where Markdown would number them otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Numbering", "declared_style"]

_TYPES = {"a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_CLASSES = {
    "loweralpha": "lower-alpha", "upperalpha": "upper-alpha", "lowerroman": "lower-roman", "upperroman": "upper-roman",
}  # fmt: skip
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?\s*:[^;]{0,80}?\b((?:lower|upper)-(?:alpha|latin|roman))", re.IGNORECASE
)
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_MAX_ROMAN = 3999
_LETTERS = 26
_MAX_DECLARED = 400  # characters of classes and declarations that are read


@dataclass(slots=True)
class Numbering:
    """The numbers of one list, one after the other."""

    number: int
    step: int = 1
    style: str = ""
    """Letters or Roman numerals as CSS names them; "" for digits."""
    is_written: bool = False
    """Whether numbers are written as text, because a list of Markdown has no such."""

    def take(self, own_number: int | None) -> tuple[int, str]:
        """The number of the next item, and its text where it is written."""
        number = self.number if own_number is None else own_number
        self.number = number + self.step
        return number, f"{_written(number, self.style)}." if self.is_written else ""


def declared_style(untrusted_type: str, untrusted_classes: str, untrusted_style: str) -> str:
    """The style of numbers that attributes declare, if it is not digits; "" otherwise."""
    if untrusted_type in _TYPES:
        return _TYPES[untrusted_type]
    if "list-style" in untrusted_style and (match := _LIST_STYLE.search(untrusted_style[:_MAX_DECLARED])):
        return match[1].lower().replace("latin", "alpha")
    names = untrusted_classes[:_MAX_DECLARED].split() if untrusted_classes else ()
    return next((_CLASSES[name] for name in names if name in _CLASSES), "")


def _written(number: int, style: str) -> str:
    text = str(number)
    if style.endswith("alpha") and number > 0:
        text = ""
        while number > 0:
            number, letter = divmod(number - 1, _LETTERS)
            text = chr(ord("a") + letter) + text
    elif style.endswith("roman") and 0 < number <= _MAX_ROMAN:
        text = ""
        for value, letters in _ROMAN:
            count, number = divmod(number, value)
            text += letters * count
    return text.upper() if style.startswith("upper") else text
