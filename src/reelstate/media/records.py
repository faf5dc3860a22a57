"""Frozen records as JSON and back: what crosses a stage is a document, and rationals are strings, "30000/1001".

A document may come from another machine, so nothing in it is believed. `record_of` checks every field against its
annotation: the type exactly, numbers within `Between`, texts by `OneOf` or `Matching`, lists and mappings by their
length. What an annotation leaves open has the bounds below. Numbers are bounded before anything is computed with them.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from reelstate.core.errors import InvalidRequest

Record = TypeVar("Record")
MAX_TEXT: Final = 4096
MAX_ITEMS: Final = 1000
MAX_NUMBER: Final = 2**63 - 1
_RATIO: Final = re.compile(r"-?[0-9]{1,20}(?:/[0-9]{1,20})?", re.ASCII)


class MalformedRecord(InvalidRequest):
    """A document is not the record that it should be."""


@dataclass(frozen=True, slots=True)
class Between:
    """The smallest and the largest number, or the least and the most items or characters."""

    least: int | Fraction
    most: int | Fraction


class OneOf:
    """The words that a text may be."""

    def __init__(self, *words: str) -> None:
        self.words: Final = frozenset(words)


class Matching:
    """What a text, or each key of a mapping, looks like: a pattern for all of it, in ASCII."""

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = re.compile(pattern, re.ASCII)


Index = Annotated[int, Between(0, 10_000)]
"""The number of a stream, a track or a chunk's place in a list."""
Count = Annotated[int, Between(0, MAX_NUMBER)]
Word = Annotated[str, Matching(r"[A-Za-z0-9_.,+-]{0,100}")]
"""A name that ffmpeg gives to a container, a codec or a colour."""
RungName = Annotated[str, Matching(r"[a-z0-9][a-z0-9-]{0,31}")]
Sha256 = Annotated[str, Matching(r"[0-9a-f]{64}")]


def document_of(value: Any) -> Any:
    """A record, or a part of one, as JSON."""
    if is_dataclass(value):
        return {field.name: document_of(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | list):
        return [document_of(item) for item in value]
    if isinstance(value, Mapping):
        return {name: document_of(item) for name, item in value.items()}
    return value


def record_of(kind: type[Record], document: Any, *, place: str = "", exact: bool = False) -> Record:
    """The record that `document_of` wrote; `MalformedRecord` names the field that can't be.

    A field that is missing takes its default. A field that the record does not have is left out, or refused where the
    document must be `exact`.
    """
    known: Any = kind
    hints = _hints(known)
    if not isinstance(document, Mapping):
        raise _malformed(place, "is not an object")
    if exact and (unknown := document.keys() - hints.keys()):
        raise _malformed(_inside(place, min(map(str, unknown))), "there is no such field")
    for name in sorted(_required(known) - document.keys()):
        raise _malformed(_inside(place, name), "is missing")
    given = {name: hint for name, hint in hints.items() if name in document}
    return kind(**{name: _value(hint, document[name], _inside(place, name), exact) for name, hint in given.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _required(kind: Any) -> frozenset[str]:
    return frozenset(
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    )


def _value(hint: Any, value: Any, place: str, exact: bool, *limits: Any) -> Any:
    """A value of the type that a hint names, within the limits that stand around it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _value(inner[0], value, place, exact, *inner[1:], *limits)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        return _value(next(each for each in inner if each is not type(None)), value, place, exact, *limits)
    if origin is tuple:
        return _items(inner, value, place, exact, limits)
    if origin is not None and issubclass(origin, Mapping):
        return _entries(inner, value, place, exact, limits)
    if is_dataclass(hint):
        known: Any = hint
        return record_of(known, value, place=place, exact=exact)
    return _plain(hint, value, place, limits)


def _items(kinds: tuple[Any, ...], value: Any, place: str, exact: bool, limits: Collection[Any]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _malformed(place, "is not a list")
    if kinds[-1] is Ellipsis:
        _require_size(value, place, limits)
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise _malformed(place, f"has {len(value)} items, not {len(kinds)}")
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(_value(each, item, f"{place}[{number}]", exact) for number, (each, item) in pairs)


def _entries(kinds: tuple[Any, ...], value: Any, place: str, exact: bool, limits: Collection[Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _malformed(place, "is not an object")
    _require_size(value, place, limits)
    return {
        _value(kinds[0], name, _inside(place, "key"), exact): _value(kinds[1], item, _inside(place, str(name)), exact)
        for name, item in value.items()
    }


def _plain(kind: Any, value: Any, place: str, limits: Collection[Any]) -> Any:
    if kind is Fraction:
        return _within(_ratio(value, place), place, limits)
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return _within(value, place, limits)
    if type(value) is not kind:
        raise _malformed(place, f"is not of type {getattr(kind, '__name__', kind)}")
    if kind is int:
        return _within(value, place, limits)
    if kind is str:
        return _text(value, place, limits)
    if kind is bool:
        return value
    raise _malformed(place, "can't be in a record")


def _ratio(value: Any, place: str) -> Fraction:
    """A rational whose length is known before it is computed: "1e3000000" would take minutes."""
    if not isinstance(value, str) or _RATIO.fullmatch(value) is None:
        raise _malformed(place, "is not a fraction of whole numbers")
    numerator, _, denominator = value.partition("/")
    if denominator and not int(denominator):
        raise _malformed(place, "is a fraction of nothing")
    return Fraction(int(numerator), int(denominator or 1))


def _within(number: Any, place: str, limits: Collection[Any]) -> Any:
    between = _between(limits, Between(-MAX_NUMBER, MAX_NUMBER))
    if not between.least <= number <= between.most:
        raise _malformed(place, f"is out of range, from {between.least} to {between.most}")
    return number


def _text(text: str, place: str, limits: Collection[Any]) -> str:
    most = _between(limits, Between(0, MAX_TEXT)).most
    if len(text) > most:
        raise _malformed(place, f"has {len(text):,} characters, more than {most}")
    if any("\ud800" <= sign <= "\udfff" or sign == "\x00" for sign in text):
        raise _malformed(place, "holds a character that can't be stored")
    for limit in limits:
        if isinstance(limit, OneOf) and text not in limit.words:
            raise _malformed(place, f"{text[:50]!r} is none of {', '.join(map(repr, sorted(limit.words)))}")
        if isinstance(limit, Matching) and limit.pattern.fullmatch(text) is None:
            raise _malformed(place, f"{text[:50]!r} does not match {limit.pattern.pattern}")
    return text


def _require_size(value: Collection[Any], place: str, limits: Collection[Any]) -> None:
    between = _between(limits, Between(0, MAX_ITEMS))
    if not between.least <= len(value) <= between.most:
        raise _malformed(place, f"has {len(value):,} items, not {between.least} to {between.most}")


def _between(limits: Collection[Any], otherwise: Between) -> Between:
    return next((limit for limit in limits if isinstance(limit, Between)), otherwise)


def _inside(place: str, name: str) -> str:
    return f"{place}.{name[:60]}" if place else name[:60]


def _malformed(place: str, message: str) -> MalformedRecord:
    return MalformedRecord(place or "record", message, hint="it was made by another release, or by nobody of ours")
