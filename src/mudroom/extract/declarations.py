"""What a handful of CSS declarations does to the text they apply to: hides it, and how, or shows it again.

First form: the declarations of one style attribute or one rule are judged together, without layout. What cannot
be told is visible: it is displayed, and scanned as displayed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mudroom.extract.colours import is_transparent, parse_colour
from mudroom.model import Hiding

__all__ = ["StyleVerdict", "judge_declarations", "parse_declarations"]

_INTERESTING = re.compile(
    r"display|visibility|opacity|font|indent|clip|left|top|right|bottom|margin|width|height|colou?r|background"
    r"|transform|scale|\\",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"""([-\w]{1,64})\s{0,16}:((?:[^;"'(]|"[^"]*"|'[^']*'|\([^)]*\)){1,4096})""")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_EMPTY_PATH = re.compile(
    r"inset\((?:50|100)%|(?:circle|ellipse)\((?:0(?:px|%)?)+(?:at|\))|polygon\((?:0(?:px|%)?,?)+\)"
)
_NO_SCALE = re.compile(r"scale[xy3]?d?\(0[,)]")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_LENGTH = re.compile(
    r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(px|pt|em|rem|ex|ch|vw|vh|%|cm|mm|in|pc|q)?(?![\w.%])"
)
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 12.8, "vh": 8.0, "%": 8.0,
           "cm": 37.8, "mm": 3.78, "in": 96.0, "pc": 16.0, "q": 0.945, None: 1.0}  # fmt: skip
_ABSOLUTE_UNITS = frozenset({"px", "pt", "rem", "vw", "vh", "cm", "mm", "in", "pc", "q"})
_FAR_AWAY = -400.0  # pixels; less than the width of any phone is not off the screen
_UNREADABLE = 2.5  # pixels of font size
_MAX_STYLE_CHARS = 20_000
_NOTHING = frozenset[Hiding]()


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleVerdict:
    """What declarations do to visibility."""

    hiding: Hiding = Hiding.NONE
    shows: frozenset[Hiding] = _NOTHING
    """Ways of hiding that these declarations undo, on the element or below one that is hidden so."""
    colour: int | None = None
    """0xRRGGBB; None where it is not set or not known."""
    background: int | None = None
    is_important: bool = False


_NEUTRAL = StyleVerdict()


@lru_cache(maxsize=1024)
def judge_declarations(untrusted_style: str) -> StyleVerdict:
    """The verdict on the text of a style attribute, or of a rule's body."""
    if not _INTERESTING.search(untrusted_style):
        return _NEUTRAL
    found = parse_declarations(untrusted_style)
    colour, background = parse_colour(found.get("color", "")), _background(found)
    return StyleVerdict(
        hiding=_hiding(found, colour, background),
        shows=_shown(found),
        colour=colour,
        background=background,
        is_important="!important" in untrusted_style.lower().replace(" ", ""),
    )


def parse_declarations(untrusted_style: str) -> dict[str, str]:
    """Properties and values in lower case, comments and escapes undone; the last of a name wins."""
    text = _COMMENT.sub(" ", untrusted_style[:_MAX_STYLE_CHARS])
    if "\\" in text:
        text = _ESCAPE.sub(_unescape, text)
    return {
        match[1].lower(): match[2].lower().replace("!important", "").replace("! important", "").strip()
        for match in _DECLARATION.finditer(text)
    }


def _unescape(match: re.Match[str]) -> str:
    if not match[1]:
        return match[2]
    number = int(match[1], 16)
    is_text = 0 < number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF  # noqa: PLR2004 - Unicode's own bounds
    return chr(number) if is_text else "\ufffd"


def _hiding(found: dict[str, str], colour: int | None, background: int | None) -> Hiding:
    """The first way in which these declarations hide, surest first."""
    is_still = "animation" not in found and "animation-name" not in found
    is_on_paper = colour is not None and colour == background and "background-image" not in found
    ways = (
        (Hiding.DISPLAY_NONE, found.get("display") == "none"),
        (Hiding.VISIBILITY_HIDDEN, is_still and _is_invisible(found)),
        (Hiding.OPACITY, is_still and _is_see_through(found)),
        (Hiding.FONT_SIZE, _is_tiny_font(found)),
        (Hiding.OFF_SCREEN, _is_off_screen(found)),
        (Hiding.CLIPPED, _is_clipped(found)),
        (Hiding.ZERO_SIZE, _is_zero_size(found)),
        (Hiding.COLOUR, is_on_paper or _is_invisible_ink(found)),
    )
    return next((hiding for hiding, holds in ways if holds), Hiding.NONE)


def _is_invisible(found: dict[str, str]) -> bool:
    return found.get("visibility") in {"hidden", "collapse"} or found.get("content-visibility") == "hidden"


def _shown(found: dict[str, str]) -> frozenset[Hiding]:
    shows = set[Hiding]()
    if found.get("display", "none") not in {"none", "inherit", "initial", "unset", ""}:
        shows.add(Hiding.DISPLAY_NONE)
    if found.get("visibility") == "visible":
        shows.add(Hiding.VISIBILITY_HIDDEN)
    if (opacity := _number(found.get("opacity", ""))) is not None and opacity > 0.05:  # noqa: PLR2004
        shows.add(Hiding.OPACITY)
    size = _font_size(found)
    if (
        size and (match := _LENGTH.match(size)) and match[2] in _ABSOLUTE_UNITS and not _is_tiny_font(found)
    ) or (size and size[:1].isalpha() and size not in {"inherit", "unset", "smaller", "larger"}):
        shows.add(Hiding.FONT_SIZE)
    if "color" in found and not is_transparent(found["color"]):
        shows.add(Hiding.COLOUR)
    sizes = [found[name] for name in ("width", "height", "max-height", "max-width") if name in found]
    if "visible" in found.get("overflow", "") or any(_is_more_than(size, 1) for size in sizes):
        shows.add(Hiding.ZERO_SIZE)
    places = [found[name] for name in ("left", "top", "right", "text-indent", "margin-left") if name in found]
    if found.get("position") == "static" or any(_is_more_than(place, _FAR_AWAY) for place in places):
        shows.add(Hiding.OFF_SCREEN)
    if found.get("clip") == "auto" or found.get("clip-path") == "none":
        shows.add(Hiding.CLIPPED)
    return frozenset(shows)


def _is_more_than(value: str, bound: float) -> bool:
    pixels = _pixels(value)
    return pixels > bound if pixels is not None else value in {"auto", "none", "fit-content", "max-content"}


def _pixels(value: str) -> float | None:
    match = _LENGTH.match(value.strip())
    return float(match[1]) * _PIXELS[match[2]] if match else None


def _number(value: str) -> float | None:
    match = _LENGTH.match(value)
    if not match:
        return None
    return float(match[1]) / 100 if match[2] == "%" else float(match[1])


def _is_see_through(found: dict[str, str]) -> bool:
    opacity = _number(found.get("opacity", ""))
    if opacity is not None and opacity <= 0.05:  # noqa: PLR2004 - a twentieth of ink cannot be read
        return True
    return "opacity(0" in found.get("filter", "").replace(" ", "") and "opacity(0." not in found.get(
        "filter", ""
    )


def _font_size(found: dict[str, str]) -> str:
    if "font-size" in found:
        return found["font-size"]
    match = _LENGTH.search(found.get("font", ""))
    return match[0] if match and match[2] else ("0" if found.get("font", "").startswith(("0/", "0 ")) else "")


def _is_tiny_font(found: dict[str, str]) -> bool:
    size = _font_size(found)
    match = _LENGTH.match(size)
    if match and match[2] in {"em", "rem", "%", "ex", "ch"}:
        return float(match[1]) * _PIXELS[match[2]] * (2 if match[2] == "%" else 1) < _UNREADABLE
    pixels = _pixels(size)
    return pixels is not None and pixels < _UNREADABLE


def _is_off_screen(found: dict[str, str]) -> bool:
    names = ["text-indent", "margin-left", "margin-top"]
    if found.get("position") in {"absolute", "fixed", "relative"}:
        names += ["left", "top", "right", "bottom", "inset-inline-start"]
    values = [_pixels(found[name]) for name in names if name in found]
    if any(value is not None and value <= _FAR_AWAY for value in values):
        return True
    transform = found.get("transform", "") + found.get("translate", "")
    moves = (
        [float(m[1]) * _PIXELS[m[2]] for m in _LENGTH.finditer(transform)] if "translate" in transform else []
    )
    return any(abs(move) >= 2 * -_FAR_AWAY for move in moves)


def _is_clipped(found: dict[str, str]) -> bool:
    if found.get("position") in {"absolute", "fixed"} and found.get("clip", "").startswith("rect"):
        sides = [float(m[1]) * _PIXELS[m[2]] for m in _LENGTH.finditer(found["clip"])]
        if sides and all(side <= 1 for side in sides):
            return True
    path = (found.get("clip-path") or found.get("-webkit-clip-path") or "").replace(" ", "")
    return bool(_EMPTY_PATH.match(path))


def _is_zero_size(found: dict[str, str]) -> bool:
    transform = (found.get("transform", "") + found.get("scale", "")).replace(" ", "")
    if _NO_SCALE.search(transform) or found.get("scale") == "0":
        return True
    overflow = found.get("overflow", "") + found.get("overflow-x", "") + found.get("overflow-y", "")
    if "hidden" not in overflow and "clip" not in overflow:
        return False
    sizes = (_pixels(found[name]) for name in ("height", "width", "max-height", "max-width") if name in found)
    return any(size is not None and size <= 1 for size in sizes)


def _is_invisible_ink(found: dict[str, str]) -> bool:
    ink = found.get("-webkit-text-fill-color") or found.get("color", "")
    clip = found.get("background-clip", "") + found.get("-webkit-background-clip", "")
    return bool(ink) and is_transparent(ink) and "text" not in clip and "text-shadow" not in found


def _background(found: dict[str, str]) -> int | None:
    value = found.get("background-color") or found.get("background", "")
    return parse_colour(value if "(" in value else value.split(" ")[0])
