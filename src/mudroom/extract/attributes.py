"""Attributes read: what they do to visibility, and the words that stand in them."""

from __future__ import annotations

from itertools import islice

from mudroom.extract.colours import parse_colour
from mudroom.extract.declarations import StyleVerdict, judge_declarations
from mudroom.extract.security import SecurityCollector
from mudroom.extract.tree import Element
from mudroom.model import Channel, Hiding

__all__ = ["HIDING_ATTRIBUTES", "AttributeReader"]

HIDING_ATTRIBUTES = frozenset({"style", "hidden", "popover", "color"})
"""Without these an element is hidden by style sheets or not at all."""

_NONE, _NOT_RENDERED = Hiding.NONE, Hiding.NOT_RENDERED
_WORDY = {
    **dict.fromkeys(("title", "aria-label", "aria-description", "summary"), Channel.ATTRIBUTE),
    **dict.fromkeys(("placeholder", "value", "label"), Channel.FORM),
    "alt": Channel.ALT,
    "content": Channel.META,
}
"""Attributes whose every value is words; of others, what is long or has a blank."""
_SEEN = frozenset({"alt", "title", "placeholder", "value", "label"})
_QUIET = frozenset({"style", "hidden", "inert", "bgcolor", "color", "popover", "srcdoc"})
_REVIVABLE = frozenset({Hiding.VISIBILITY_HIDDEN, Hiding.FONT_SIZE, Hiding.COLOUR})
_MAX_ANCESTORS = 64
_MIN_WORD = 24  # a single token shorter than this holds no instruction


class AttributeReader:
    """Reads the attributes of each element once: their words to the collector, their effect to the caller."""

    __slots__ = ("_has_sheets", "_security", "_sheet_verdicts", "has_verdicts", "seen")

    def __init__(
        self, security: SecurityCollector, sheet_verdicts: dict[Element, StyleVerdict], *, has_sheets: bool
    ) -> None:
        self._security = security
        self._sheet_verdicts = sheet_verdicts
        self._has_sheets = has_sheets
        self.has_verdicts = bool(sheet_verdicts)
        """Whether style sheets hide anything, so that every element must be asked."""
        self.seen: set[str] = set()
        """Values that were collected, so that they are not collected again as merely long."""

    def verdict(self, element: Element, inherited: Hiding) -> Hiding:
        """How the element's own content is hidden, given how its surroundings are."""
        style = element.attr("style")
        inline = judge_declarations(style) if style else None
        own = self._own_hiding(element, inline)
        if own:
            return own
        sheet = self._sheet_verdicts.get(element) if self._sheet_verdicts else None
        if sheet and not (inline and sheet.hiding in inline.shows and not sheet.is_important):
            return sheet.hiding
        is_shown_again = inline is not None and inherited in _REVIVABLE and inherited in inline.shows
        return Hiding.NONE if is_shown_again else inherited

    def collect(self, element: Element, names: list[str], hiding: Hiding) -> None:
        """The words in an element's attributes; `names` are those not boring by name."""
        for name in names:
            if name in _QUIET:
                continue
            value = element.attr(name) or ""
            channel = _WORDY.get(name)
            if channel is None:
                if len(value) < _MIN_WORD and " " not in value:
                    continue
                channel = Channel.SCRIPT if name.startswith("on") else Channel.ATTRIBUTE
            elif name == "value" and not any(map(str.isalpha, value)):
                continue
            self.seen.add(value)
            own = hiding or (_NONE if name in _SEEN else _NOT_RENDERED)
            self._security.add(channel, own, element.source_line or 0, value)

    def _own_hiding(self, element: Element, inline: StyleVerdict | None) -> Hiding:
        if inline and inline.hiding:
            return inline.hiding
        attrs = element.attrs
        is_overridden = inline is not None and Hiding.DISPLAY_NONE in inline.shows
        if not is_overridden and ("hidden" in attrs or "popover" in attrs):
            return Hiding.HIDDEN_ATTRIBUTE
        colour = inline.colour if inline else None
        if colour is None and element.tag == "font":
            colour = parse_colour(element.attr("color") or "")
        if colour is not None and colour == self._background_of(element, inline):
            return Hiding.COLOUR
        return Hiding.NONE

    def _background_of(self, element: Element, inline: StyleVerdict | None) -> int | None:
        """The colour behind an element as far as inline declarations tell it; white where nothing else can be."""
        if inline and inline.background is not None:
            return inline.background
        for ancestor in islice(element.ancestors, _MAX_ANCESTORS):
            if not isinstance(ancestor, Element):
                break
            style = ancestor.attr("style")
            found = judge_declarations(style).background if style else None
            if found is None and (bgcolor := ancestor.attr("bgcolor")):
                found = parse_colour(bgcolor)
            if found is not None:
                return found
            if style and "background" in style:
                return None
        return None if self._has_sheets else parse_colour("white")
