"""One setting's value, read by the type of its field: the value, or a sentence that says what was expected."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin

from mudroom.address import AllowedOrigin, normalise_name

__all__ = ["Host", "Range", "Reader", "find_reader", "shorten"]

Host = NewType("Host", str)
"""A host in the form that URLs are judged in; as written it may be `*.Example.com.` too."""

Number = int | float
_MAX_SHOWN = 120
_MAX_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest number that a setting takes."""

    low: Number
    high: Number

    def __str__(self) -> str:
        """As people read it."""
        return f"from {self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How a value of one type is read."""

    expected: str
    """What is expected, as the end of a sentence."""
    read: Callable[[object], object]
    """A value as TOML holds it to the field's value. Raises ValueError, with a message of its own or none."""
    parse: Callable[[str], object]
    """The text of a variable to what TOML would have held."""


def find_reader(kind: Any, limits: Range | None, unit: str = "") -> Reader:
    """The reader for a field of this type, as `typing.get_type_hints` gives it.

    Raises: TypeError for a type that no setting has yet; a test asks for each.
    """
    arguments, origin = get_args(kind), get_origin(kind)
    if origin in {Union, UnionType} and NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return _optional(find_reader(inner, limits, unit))
    if origin in {tuple, frozenset}:
        return _several(find_reader(arguments[0], limits, unit), tuple if origin is tuple else frozenset)
    if kind is int or kind is float:
        return _number(kind, limits, unit)
    if kind in _PLAIN:
        return _PLAIN[kind]
    return _find_word_reader(kind)


def _find_word_reader(kind: Any) -> Reader:
    """The reader for one of a few words: an enum, or an enum and a literal."""
    arguments = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _word(kind, {})
    if any(get_origin(argument) is Literal for argument in arguments):
        (enum,) = (argument for argument in arguments if isinstance(argument, type))
        (literal,) = (argument for argument in arguments if get_origin(argument) is Literal)
        return _word(enum, {word: word for word in get_args(literal)})
    raise TypeError(f"no reader for settings of type {kind}")


def _number(kind: type[int | float], limits: Range | None, unit: str) -> Reader:
    name = "a whole number" if kind is int else "a number"
    name = f"{name} of {unit}" if unit else name

    def read(value: object) -> object:
        is_number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        if not is_number or not isinstance(value, int | float):
            raise ValueError
        if limits is not None and not limits.low <= value <= limits.high:  # no NaN is between them
            raise ValueError
        try:
            return kind(value)
        except OverflowError:
            raise ValueError from None

    return Reader(expected=f"{name} {limits}" if limits else name, read=read, parse=_parse_toml)


def _optional(inner: Reader) -> Reader:
    return Reader(
        expected=inner.expected,
        read=lambda value: None if value is None else inner.read(value),
        parse=lambda text: None if text == "" else inner.parse(text),
    )


def _several(inner: Reader, build: Callable[[list[object]], object]) -> Reader:
    def read(value: object) -> object:
        if not isinstance(value, list | tuple | set | frozenset):
            raise ValueError  # noqa: TRY004 - one kind of fault for every value
        read_items = []
        for item in value:
            try:
                read_items.append(inner.read(item))
            except ValueError as error:
                raise ValueError(str(error) or f"{shorten(item)}; expected {inner.expected}") from error
        return build(read_items)

    def parse(text: str) -> object:
        if text.lstrip().startswith("["):
            return _parse_toml(text)
        return [inner.parse(part.strip()) for part in text.split(",") if part.strip()]

    return Reader(expected=f"a list, each {inner.expected}", read=read, parse=parse)


def _word(enum: type[StrEnum], others: dict[str, str]) -> Reader:
    words: dict[str, object] = {**others, **{member.value: member for member in enum}}

    def read(value: object) -> object:
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return words[value]

    return Reader(expected=f"one of {', '.join(words)}", read=read, parse=str)


def _read_text(value: object) -> object:
    if not isinstance(value, str) or not value or len(value) > _MAX_TEXT or not value.isprintable():
        raise ValueError
    return value


def _read_flag(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - one kind of fault for every value
    return value


def _read_origin(value: object) -> object:
    if isinstance(value, AllowedOrigin):
        return value
    return AllowedOrigin.parse(str(_read_text(value)))


def _read_host(value: object) -> object:
    return normalise_name(str(_read_text(value)))


def _read_network(value: object) -> object:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    text = str(_read_text(value))
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is no network; write one such as 10.20.0.0/16, host bits zero") from None


def _parse_toml(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (ValueError, RecursionError):
        return text


_PLAIN: dict[Any, Reader] = {
    bool: Reader(expected="true or false", read=_read_flag, parse=_parse_toml),
    str: Reader(expected=f"a text of 1 to {_MAX_TEXT:,} characters on one line", read=_read_text, parse=str),
    Host: Reader(expected="a host such as ads.example.com", read=_read_host, parse=str),
    IPv4Network | IPv6Network: Reader(
        expected="a network such as 10.20.0.0/16", read=_read_network, parse=str
    ),
    AllowedOrigin: Reader(
        expected="an origin of scheme, IP address and port, such as http://127.0.0.1:8000",
        read=_read_origin,
        parse=str,
    ),
}


def shorten(value: object) -> str:
    """A value as a fault shows it."""
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "…"
