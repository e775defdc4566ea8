"""Which elements the document's own style sheets hide: simple rules, read as a desktop screen reads them.

External sheets are unknown, and so are their effects. Rules behind a hover, a script or print do not count.
The work is budgeted before it is done: selectors times elements, siblings counting as fifty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mudroom.extract.declarations import StyleVerdict, judge_declarations
from mudroom.extract.limits import limit_passed
from mudroom.extract.tree import Document, Element, select
from mudroom.model import Limit

__all__ = ["hidden_by_sheets"]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_BRACE = re.compile(r"([{}])")
_DYNAMIC_NOT = re.compile(r":not\(\s*:(?:focus|active|hover|focus-within|focus-visible|target)\s*\)")
_DYNAMIC = re.compile(
    r":(?:hover|focus|active|target|visited|checked|focus-within|focus-visible|popover-open|modal)|::"
)
_FUNCTION = re.compile(r":(?:not|is|where|has)\([^()]*\)")
_NAME = re.compile(r"[.#]((?:[\w-]|[^\x00-\x7f])+)")
_COSTLY = re.compile(r"[~+]|:has|:nth|:is|:where")
_WIDTH = re.compile(r"\(\s*(min|max)-width\s*:\s*([\d.]{1,9})(px|em|rem)\s*\)")
_VIEWPORT = 1280.0
_COSTLY_FACTOR = 50
_HIDES = re.compile(
    r"none|hidden|collapse|opacity|font|indent|clip|left|top|right|bottom|margin|transform|scale|transparent",
    re.IGNORECASE,
)

Specificity = tuple[bool, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Rule:
    selector: str
    key: Specificity
    verdict: StyleVerdict


def hidden_by_sheets(
    document: Document, untrusted_sheets: Sequence[str], max_steps: int
) -> dict[Element, StyleVerdict]:
    """The elements that style rules hide, each with the verdict that wins.

    Raises ContentRefused EXTRACTION_LIMIT when trying the selectors would take more than `max_steps`.
    """
    sheets = [sheet for sheet in untrusted_sheets if _HIDES.search(sheet)]
    rules = [rule for sheet in sheets for rule in _parse_rules(sheet)]
    hiding = [rule for rule in rules if rule.verdict.hiding]
    if not hiding:
        return {}
    names = _names_in(document)
    budget = _Budget(max_steps, sum(1 for _ in document.iter_elements()))
    found: dict[Element, _Rule] = {}
    for rule in hiding:
        if _may_match(rule.selector, names):
            budget.spend(rule.selector)
            for element in select(document, rule.selector):
                winner = found.get(element)
                if winner is None or winner.key <= rule.key:
                    found[element] = rule
    if found:
        showing = [rule for rule in rules if rule.verdict.shows and not rule.verdict.hiding]
        _drop_overridden(
            document, found, [rule for rule in showing if _may_match(rule.selector, names)], budget
        )
    return {element: rule.verdict for element, rule in found.items()}


class _Budget:
    """Steps that matching may still take."""

    __slots__ = ("_elements", "_left")

    def __init__(self, max_steps: int, elements: int) -> None:
        self._left = max_steps
        self._elements = elements

    def spend(self, selector: str, elements: int | None = None) -> None:
        factor = _COSTLY_FACTOR if _COSTLY.search(selector) else 1
        self._left -= (self._elements if elements is None else elements) * factor
        if self._left < 0:
            raise limit_passed(Limit.STYLE)


def _drop_overridden(
    document: Document, found: dict[Element, _Rule], showing: list[_Rule], budget: _Budget
) -> None:
    """Forget elements that a stronger rule shows again."""
    weakest = min(rule.key for rule in found.values())
    ways = {rule.verdict.hiding for rule in found.values()}
    for rule in showing:
        if rule.key < weakest or rule.verdict.shows.isdisjoint(ways):
            continue
        budget.spend(rule.selector)
        for element in select(document, rule.selector):
            winner = found.get(element)
            if winner and winner.key < rule.key and winner.verdict.hiding in rule.verdict.shows:
                del found[element]
                if not found:
                    return


def _parse_rules(untrusted_sheet: str) -> Iterator[_Rule]:
    text = _STRING.sub(_without_braces, _COMMENT.sub(" ", untrusted_sheet))
    contexts: list[str | None] = []
    order = 0
    chunks = _BRACE.split(text)
    for words, brace in zip(chunks[::2], chunks[1::2], strict=False):
        if brace == "{":
            contexts.append(_enter(words.rpartition(";")[2].strip(), contexts))
            continue
        selectors = contexts.pop() if contexts else None
        if not selectors or selectors == "@":
            continue
        verdict = judge_declarations(words.strip())
        if verdict.hiding or verdict.shows:
            for selector in _split_selectors(selectors):
                order += 1
                yield _Rule(selector, _specificity(selector, order, verdict), verdict)


def _without_braces(match: re.Match[str]) -> str:
    return '""' if "{" in match[0] or "}" in match[0] else match[0]


def _enter(prelude: str, contexts: list[str | None]) -> str | None:
    """What a block is: "@" for an at-rule that holds now, the selectors of a rule, None for what does not count."""
    if contexts and contexts[-1] != "@":
        return None
    if not prelude.startswith("@"):
        return prelude
    name, _, condition = prelude[1:].partition(" ")
    if name.lower() in {"layer", "supports"} and "not" not in condition:
        return "@"
    return "@" if name.lower() == "media" and any(map(_holds, condition.lower().split(","))) else None


def _holds(query: str) -> bool:
    """Whether a media query holds on a desktop screen; one that asks for anything else does not."""
    for match in _WIDTH.finditer(query):
        width = float(match[2].strip(".") or 0) * (1 if match[3] == "px" else 16)
        if (match[1] == "min") != (width <= _VIEWPORT):
            return False
    rest = (
        _WIDTH.sub("", query)
        .replace("prefers-color-scheme: light", "")
        .replace("prefers-color-scheme:light", "")
    )
    return set(re.findall(r"[\w-]+", rest)) <= {"all", "screen", "only", "and"}


def _split_selectors(selectors: str) -> Iterator[str]:
    depth = start = 0
    for index, char in enumerate(selectors):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth <= 0:
            yield from _usable(selectors[start:index])
            start = index + 1
    yield from _usable(selectors[start:])


def _usable(selector: str) -> Iterator[str]:
    selector = _DYNAMIC_NOT.sub("", selector.strip())
    if selector and "&" not in selector and not _DYNAMIC.search(selector):
        yield selector


def _specificity(selector: str, order: int, verdict: StyleVerdict) -> Specificity:
    ids = selector.count("#")
    classes = selector.count(".") + selector.count("[") + selector.count(":")
    types = len(re.findall(r"(?:^|[\s>+~])[a-zA-Z]", selector))
    return verdict.is_important, ids, classes, types, order


def _names_in(document: Document) -> set[str]:
    names = set[str]()
    for value in document.xpath("//@class | //@id"):  # type: ignore[union-attr]  # a node set, by its form
        names.update(str(value).split())
    return names


def _may_match(selector: str, names: set[str]) -> bool:
    """Whether the document has every class and id that the selector asks for."""
    if "\\" in selector:
        return True
    return all(name in names for name in _NAME.findall(_FUNCTION.sub("", selector)))
