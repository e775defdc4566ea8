"""CSS colours as numbers, as far as telling ink from paper needs them."""

from __future__ import annotations

import re

__all__ = ["is_transparent", "parse_colour"]

_NAMES = {
    "black": 0x000000, "white": 0xFFFFFF, "red": 0xFF0000, "lime": 0x00FF00, "green": 0x008000, "blue": 0x0000FF,
    "yellow": 0xFFFF00, "gray": 0x808080, "grey": 0x808080, "silver": 0xC0C0C0, "navy": 0x000080, "ivory": 0xFFFFF0,
    "snow": 0xFFFAFA, "whitesmoke": 0xF5F5F5, "ghostwhite": 0xF8F8FF, "floralwhite": 0xFFFAF0, "azure": 0xF0FFFF,
    "mintcream": 0xF5FFFA, "aliceblue": 0xF0F8FF, "seashell": 0xFFF5EE, "beige": 0xF5F5DC, "linen": 0xFAF0E6,
    "lightgray": 0xD3D3D3, "lightgrey": 0xD3D3D3, "orange": 0xFFA500, "purple": 0x800080, "maroon": 0x800000,
}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{3,8})\b")
_RGB = re.compile(
    r"rgba?\(\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*[, ]\s*(\d{1,3})\s*(?:[,/]\s*([\d.]{1,6})(%?)\s*)?\)"
)
_HSL = re.compile(r"hsla?\(\s*[\d.]{1,6}(?:deg)?\s*[, ]\s*[\d.]{1,6}%\s*[, ]\s*([\d.]{1,6})%")
_NEAR = 0xF0F0F0  # the last four bits of a channel make no difference that an eye sees


def parse_colour(value: str) -> int | None:
    """A colour as 0xRRGGBB, coarse: shades that no eye tells apart are one. None where it is not known."""
    value = value.strip().lower()
    if value in _NAMES:
        return _NAMES[value] & _NEAR
    if match := _HEX.match(value):
        return _from_hex(match[1])
    if match := _RGB.match(value):
        red, green, blue = (min(int(channel), 255) for channel in match.group(1, 2, 3))
        return (red << 16 | green << 8 | blue) & _NEAR
    if match := _HSL.match(value):
        lightness = float(match[1])
        return 0xFFFFFF & _NEAR if lightness >= 99 else 0 if lightness <= 1 else None  # noqa: PLR2004 - percent
    return None


def is_transparent(value: str) -> bool:
    """Whether a colour leaves no ink."""
    value = value.strip().lower()
    if value == "transparent":
        return True
    if match := _RGB.match(value):
        return match[4] is not None and float(match[4].strip(".") or 0) * (0.01 if match[5] else 1) <= 0.05  # noqa: PLR2004
    if match := _HEX.match(value):
        digits = match[1]
        return (len(digits) == 4 and digits[3] == "0") or (len(digits) == 8 and digits[6:] == "00")  # noqa: PLR2004
    return False


def _from_hex(digits: str) -> int | None:
    if len(digits) in {3, 4}:
        digits = "".join(digit * 2 for digit in digits[:3])
    return int(digits[:6], 16) & _NEAR if len(digits) in {6, 8} else None
