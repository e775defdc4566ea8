"""Text as a model would read it: compatibility forms, lookalikes and invisible characters undone.

Line breaks stay where they are, so that a line of the folded text is a line of the original.
"""

from __future__ import annotations

import re
import unicodedata

import re2

__all__ = ["NEEDS_FOLD", "find_fold", "fold_text"]


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    return re2.compile(pattern, options)


def _span(first: int, last: int) -> range:
    return range(first, last + 1)


# Characters that take no place: default ignorables, bidi controls, joiners, selectors, tags.
_INVISIBLE = (
    _span(0xAD, 0xAD), _span(0x34F, 0x34F), _span(0x61C, 0x61C), _span(0x115F, 0x1160), _span(0x17B4, 0x17B5),
    _span(0x180B, 0x180F), _span(0x200B, 0x200F), _span(0x202A, 0x202E), _span(0x2060, 0x206F),
    _span(0x3164, 0x3164), _span(0xFE00, 0xFE0F), _span(0xFEFF, 0xFEFF), _span(0xFFA0, 0xFFA0),
    _span(0xFFF9, 0xFFFB), _span(0xE0000, 0xE0FFF),
)  # fmt: skip
_MARKS = dict.fromkeys(_span(0x300, 0x36F))
_INVISIBLE_CLASS = "".join(f"\\x{{{codes[0]:x}}}-\\x{{{codes[-1]:x}}}" for codes in _INVISIBLE)

# Letters in other clothes: full width, mathematical, enclosed, letterlike, raised and small capitals.
_DRESSED_CLASS = (
    r"\x{300}-\x{36f}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{1d400}-\x{1d7ff}\x{249c}-\x{24e9}\x{1f110}-\x{1f189}"
    r"\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2128}-\x{2131}\x{2133}-\x{2134}\x{2145}-\x{2149}"
    r"\x{1d00}-\x{1d7f}\x{250}-\x{2af}\x{2b0}-\x{2b8}\x{2090}-\x{209c}\x{fb00}-\x{fb06}"
)
# Lookalikes of Latin letters; only undone inside words that also hold Latin letters.
_LOOKALIKES = str.maketrans(
    "аеорсухікјѕһԁԛԝьВЕКМНОРСТАХУІЈЅԌвмнтгпёїѵѡαβγεηικνορτυχωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡɩʏʋƽօոսզհցՏՍԼꓐꓑᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏏᏔᏙᏢᏚᏞᏟᏦӏӀ",
    "aeopcyxikjshdqwbBEKMHOPCTAXYIJSGvmhtrneivwaByenikvoptuxwcjABEZHIKMNOPTYXiagiyvsonuqhgSULBPDRTiAJEWMHGZbWVPSLCKlI",
)
_SMALL_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz")
_SQUARED = {0x1F130 + n: 65 + n for n in range(26)} | {0x1F150 + n: 65 + n for n in range(26)}
_SQUARED |= {0x1F170 + n: 65 + n for n in range(26)}
_UNDRESS = _SQUARED | _SMALL_CAPITALS
_FOREIGN = "".join(chr(code) for code in sorted(_LOOKALIKES))
_ANSI = r"\x1b\[[0-9;?]{0,40}[A-Za-z]"

_MIXED_WORD = f"[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]"
NEEDS_FOLD = f"[{_INVISIBLE_CLASS}{_DRESSED_CLASS}]|{_MIXED_WORD}|\\x1b"
_NEEDS = _compile(NEEDS_FOLD)
_MIXED = _compile(_MIXED_WORD)
# Of one class each, so linear in any engine. A word of lookalikes alone is honest: it is one script.
_STRIP = re.compile(f"[{''.join(f'{chr(codes[0])}-{chr(codes[-1])}' for codes in _INVISIBLE)}]+")
_HONEST_WORD = re.compile(f"((?<![A-Za-z{_FOREIGN}])[{_FOREIGN}]+(?![A-Za-z{_FOREIGN}]))")
_DRESSED = _compile(f"[{_DRESSED_CLASS}]|[A-Za-z][\\x{{a730}}\\x{{a731}}]")
_ANSI_SEQUENCE = re.compile(_ANSI)


def find_fold(text: bytes, start: int) -> int | None:
    """Where folding first changes a letter or drops a character; None for plain text of any script."""
    match = _NEEDS.search(text, start)
    return None if match is None else match.start()


def fold_text(text: bytes) -> bytes:
    """The text without dress, invisible characters, terminal sequences and lookalikes in Latin words.

    Raises: UnicodeDecodeError when `text` is not UTF-8.
    """
    if find_fold(text, 0) is None:
        return text
    folded = _STRIP.sub("", text.decode())
    if "\x1b" in folded:
        folded = _ANSI_SEQUENCE.sub("", folded)
    if _DRESSED.search(text) is not None:
        folded = unicodedata.normalize("NFKC", folded.translate(_UNDRESS)).translate(_MARKS)
    encoded = folded.encode()
    return _undo_lookalikes(folded).encode() if _MIXED.search(encoded) is not None else encoded


def _undo_lookalikes(text: str) -> str:
    """The text with lookalikes undone in words that also hold Latin letters."""
    parts = _HONEST_WORD.split(text)
    parts[::2] = [part.translate(_LOOKALIKES) for part in parts[::2]]
    return "".join(parts)
