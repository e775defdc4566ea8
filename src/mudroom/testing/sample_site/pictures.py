"""The pictures of the sample site, drawn by code: a PNG of the tide, and a few SVGs."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["DRAWINGS", "draw_tide_curve"]

_WIDTH, _HEIGHT = 640, 220
_SKY, _SEA, _LINE, _GRID = (251, 250, 246), (216, 236, 238), (11, 79, 99), (221, 227, 226)


def draw_tide_curve() -> bytes:
    """A PNG of two days of the tide, 640 by 220 pixels, RGB."""
    levels = [_level(48 * x / _WIDTH) for x in range(_WIDTH)]
    tops = [round((5.6 - level) / 5.6 * _HEIGHT) for level in levels]
    rows = bytearray()
    for y in range(_HEIGHT):
        rows.append(0)  # no filter
        for x, top in enumerate(tops):
            rows += bytes(_colour(x, y, top))
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = (
        _chunk(b"IHDR", header),
        _chunk(b"IDAT", zlib.compress(bytes(rows), 9)),
        _chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _level(hour: float) -> float:
    return (
        2.8 + 1.9 * math.cos(math.tau * (hour - 6) / 12.42) + 0.35 * math.cos(math.tau * (hour - 4) / 24.84)
    )


def _colour(x: int, y: int, top: int) -> tuple[int, int, int]:
    if abs(y - top) <= 1:
        return _LINE
    if x % 160 == 0 or y % 55 == 0:
        return _GRID
    return _SEA if y > top else _SKY


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _svg(width: int, height: int, *shapes: str) -> bytes:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join((head, *shapes, "</svg>", "")).encode()


_WAVES = '<path d="M0 {y} q20 -14 40 0 t40 0 t40 0 t40 0 t40 0 t40 0 t40 0 t40 0 V240 H0 Z" fill="{fill}"/>'

DRAWINGS: Mapping[str, bytes] = MappingProxyType(
    {
        "icon.svg": _svg(
            32,
            32,
            '<rect width="32" height="32" rx="7" fill="#07303f"/>',
            '<path d="M3 19 q6.5 -8 13 0 t13 0" fill="none" stroke="#ffe1b0" stroke-width="3"/>',
        ),
        "buoy.svg": _svg(
            320,
            240,
            '<rect width="320" height="240" fill="#e9f1f2"/>',
            '<circle cx="250" cy="54" r="22" fill="#ffe1b0"/>',
            _WAVES.format(y=170, fill="#2c8a97"),
            '<g transform="rotate(9 160 150)"><path d="M128 176 h64 l-10 22 h-44 z" fill="#a3312a"/>'
            '<path d="M138 176 l14 -92 h16 l14 92" fill="none" stroke="#a3312a" stroke-width="6"/>'
            '<path d="M146 112 q14 -34 28 0 z" fill="#b5792b"/><circle cx="160" cy="76" r="7" fill="#ffe1b0"/></g>',
            _WAVES.format(y=196, fill="#0b4f63"),
        ),
        "clock.svg": _svg(
            320,
            240,
            '<circle cx="160" cy="120" r="104" fill="#b5792b"/><circle cx="160" cy="120" r="90" fill="#fbfaf6"/>',
            *(
                f'<line x1="160" y1="38" x2="160" y2="48" stroke="#16232e" stroke-width="3" '
                f'transform="rotate({angle} 160 120)"/>'
                for angle in range(0, 360, 30)
            ),
            '<line x1="160" y1="130" x2="228" y2="132" stroke="#0b4f63" stroke-width="6" stroke-linecap="round"/>',
            '<circle cx="160" cy="130" r="7" fill="#16232e"/>',
            '<text x="160" y="70" font-size="15" text-anchor="middle" font-family="Georgia">HIGH</text>',
            '<text x="160" y="184" font-size="15" text-anchor="middle" font-family="Georgia">LOW</text>',
        ),
        "chart.svg": _svg(
            320,
            240,
            '<rect x="30" y="24" width="260" height="192" fill="#f3ecd8" stroke="#b5792b"/>',
            '<path d="M30 150 q60 -60 120 -20 t140 -50 V216 H30 Z" fill="#d8c9a0"/>',
            '<path d="M117 24 V216 M203 24 V216" stroke="#dcd0ae"/>',
            '<path d="M80 60 l50 30 l70 -16" fill="none" stroke="#0b4f63" stroke-dasharray="5 4" stroke-width="2"/>',
        ),
        "jumper.svg": _svg(
            320,
            240,
            '<path d="M110 50 q50 26 100 0 l52 40 l-24 34 l-24 -14 v100 H106 V110 l-24 14 l-24 -34 z" fill="#16324a"/>',
            '<path d="M106 196 h108 M106 188 h108" stroke="#2c5476" stroke-width="3"/>',
        ),
        "soup.svg": _svg(
            320,
            180,
            '<path d="M60 92 h200 q-8 70 -100 70 t-100 -70 z" fill="#0b4f63"/>',
            '<ellipse cx="160" cy="92" rx="100" ry="16" fill="#f0b85a"/>',
            '<path d="M120 66 q-12 -16 0 -30 M160 62 q-12 -18 0 -36 M200 66 q-12 -16 0 -30" fill="none" '
            'stroke="#9db3b8" stroke-width="5" stroke-linecap="round"/>',
        ),
    }
)
