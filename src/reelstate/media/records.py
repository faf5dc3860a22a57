"""Frozen dataclasses as JSON and back. Fractions are strings, "30000/1001".

A document may come from another machine. `record_of` checks every field against its annotation: the type exactly,
numbers within `Between`, texts by `OneOf` or `Matching`, lists and mappings by their length. Where an annotation sets
no limit, those below apply. Numbers are bounded before anything is computed with them.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Final, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from reelstate.core.errors import InvalidRequest

Record = TypeVar("Record")
Limit = TypeVar("Limit")
Reader = Callable[[Any], Any]
"""Returns a checked value, or raises `_Invalid`."""
MAX_TEXT: Final = 4096
MAX_ITEMS: Final = 1000
MAX_NUMBER: Final = 2**63 - 1
MAX_NAME: Final = 60
"""Characters of a field's name that an error shows."""
_RATIO: Final = re.compile(r"-?[0-9]{1,20}(?:/[0-9]{1,20})?", re.ASCII)
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_JSON_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PLAIN: Final = (str, int, float, types.NoneType)


class MalformedRecord(InvalidRequest):
    """A document does not match its record; `field` is the path to the wrong value."""


@dataclass(frozen=True, slots=True)
class Between:
    """Limits of a number, of the length of a text, or of the size of a list or mapping."""

    least: int | Fraction
    most: int | Fraction


class OneOf:
    """The values that a text or a whole number may have."""

    def __init__(self, *values: str | int) -> None:
        self.values: Final = values

    def check(self, value: Any) -> None:
        if value not in self.values:
            shown = value[:50] if isinstance(value, str) else value
            raise _Invalid(f"invalid value {shown!r} (expected {', '.join(map(repr, self.values))})")


@dataclass(frozen=True, slots=True)
class MultipleOf:
    """The number that a whole number is a multiple of."""

    step: int


class Matching:
    """An ASCII pattern that a whole text, or each key of a mapping, matches."""

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = re.compile(pattern, re.ASCII)


DEPENDS: Final = object()
"""Marks a field whose default depends on other fields; its schema has no default."""
Index = Annotated[int, Between(0, 10_000)]
"""The number of a stream or a track."""
Count = Annotated[int, Between(0, MAX_NUMBER)]
Word = Annotated[str, Matching(r"[A-Za-z0-9_.,+-]{0,100}")]
"""A name that ffmpeg gives to a container, a codec or a colour."""
RungName = Annotated[str, Matching(r"[a-z0-9][a-z0-9-]{0,31}")]
Sha256 = Annotated[str, Matching(r"[0-9a-f]{64}")]


class JsonRecord:
    """Base class of dataclasses that are stored as JSON."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document of this record."""
        document: dict[str, Any] = document_of(self)
        return document

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Return the record in a document; raise `MalformedRecord` if a field is missing or wrong."""
        return record_of(cls, document)


def document_of(value: Any) -> Any:
    """Return a record, or a value of one, as JSON."""
    if isinstance(value, _PLAIN):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: document_of(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | list):
        return [document_of(item) for item in value]
    if isinstance(value, Mapping):
        return {name: document_of(item) for name, item in value.items()}
    return value


def record_of(kind: type[Record], document: Any, *, path: str = "", exact: bool = False) -> Record:
    """Return the record in a document; raise `MalformedRecord`, which names the wrong field, below `path`.

    A missing field takes its default. An unknown field is ignored, or refused if the document must be `exact`.
    """
    known: Any = kind
    try:
        record: Record = _record_reader(known, exact)(document)
    except _Invalid as error:
        if path:
            error.add(path)
        hint = "it was written by another release, or changed after it was written"
        raise MalformedRecord(error.path or "record", error.message, hint=hint) from None
    return record


class _Invalid(Exception):
    """A value is wrong; readers add the path from the inside out, so that good documents cost no path."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path = ""

    def add(self, name: str) -> None:
        dot = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{name[:MAX_NAME]}{dot}{self.path}"


@cache
def _record_reader(kind: Any, exact: bool) -> Reader:
    readers = {name: _reader(hint, exact) for name, hint in get_type_hints(kind, include_extras=True).items()}
    required = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}

    def read(document: Any) -> Any:
        if not isinstance(document, Mapping):
            raise _Invalid("is not an object")
        if exact and (unknown := document.keys() - readers.keys()):
            raise _at(min(map(str, unknown)), "there is no such field")
        if missing := required - document.keys():
            raise _at(min(missing), "is missing")
        values = {}
        for name, read_field in readers.items():
            if name in document:
                try:
                    values[name] = read_field(document[name])
                except _Invalid as error:
                    error.add(name)
                    raise
        return kind(**values)

    return read


def _at(name: str, message: str) -> _Invalid:
    error = _Invalid(message)
    error.add(name)
    return error


def _reader(hint: Any, exact: bool, *limits: Any) -> Reader:
    """Return the reader of values of a type, within the limits that are annotated around it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reader(inner[0], exact, *inner[1:], *limits)
    if origin in (Union, types.UnionType):
        read = _reader(next(each for each in inner if each is not types.NoneType), exact, *limits)
        return lambda value: None if value is None else read(value)
    if origin is tuple and inner[-1] is Ellipsis:
        return _list_reader(_reader(inner[0], exact), _between(limits, Between(0, MAX_ITEMS)))
    if origin is tuple:
        return _tuple_reader([_reader(each, exact) for each in inner])
    if origin is not None and issubclass(origin, Mapping):
        keys, values = (_reader(each, exact) for each in inner)
        return _mapping_reader(keys, values, _between(limits, Between(0, MAX_ITEMS)))
    known: Any = hint
    if is_dataclass(hint):
        return _record_reader(known, exact)
    return _plain_reader(hint, limits)


def _list_reader(read_item: Reader, size: Between) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise _Invalid("is not a list")
        _require_size(value, size)
        items: list[Any] = []
        try:
            for item in value:
                items.append(read_item(item))  # noqa: PERF401 - an error names the index
        except _Invalid as error:
            error.add(f"[{len(items)}]")
            raise
        return tuple(items)

    return read


def _tuple_reader(readers: Sequence[Reader]) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise _Invalid("is not a list")
        if len(readers) != len(value):
            raise _Invalid(f"has {len(value)} items, not {len(readers)}")
        items: list[Any] = []
        try:
            for read_item, item in zip(readers, value, strict=True):
                items.append(read_item(item))
        except _Invalid as error:
            error.add(f"[{len(items)}]")
            raise
        return tuple(items)

    return read


def _mapping_reader(read_key: Reader, read_item: Reader, size: Between) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _Invalid("is not an object")
        _require_size(value, size)
        items = {}
        for name, item in value.items():
            try:
                items[read_key(name)] = read_item(item)
            except _Invalid as error:
                error.add(str(name))
                raise
        return items

    return read


def _require_size(value: Collection[Any], size: Between) -> None:
    if not size.least <= len(value) <= size.most:
        raise _Invalid(f"has {len(value):,} items (expected {size.least} to {size.most})")


def _plain_reader(kind: Any, limits: Collection[Any]) -> Reader:
    number = _between(limits, Between(-MAX_NUMBER, MAX_NUMBER))
    if kind is object:
        return lambda value: value
    if kind is str:
        return _text_reader(limits)
    if kind is Fraction:
        return lambda value: _within(_ratio(value), number)
    if kind is int:
        return _whole_number_reader(number, limits)
    if kind is float:
        return lambda value: _within(value if _is_finite(value) else _refuse_type(float), number)
    if kind is bool:
        return lambda value: value if type(value) is bool else _refuse_type(bool)
    raise TypeError(f"{kind!r} can't be the type of a field in a record")


def _whole_number_reader(number: Between, limits: Collection[Any]) -> Reader:
    values = _limit(OneOf, limits)

    def read(value: Any) -> Any:
        _within(value if type(value) is int else _refuse_type(int), number)
        if values:
            values.check(value)
        return value

    return read


def _refuse_type(kind: type) -> Any:
    raise _Invalid(f"is not of type {kind.__name__}")


def _is_finite(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _within(number: Any, limits: Between) -> Any:
    if not limits.least <= number <= limits.most:
        raise _Invalid(f"is out of range (expected {limits.least} to {limits.most})")
    return number


def _ratio(value: Any) -> Fraction:
    """Read a fraction whose length is checked before it is computed: "1e3000000" would take minutes."""
    if not isinstance(value, str) or _RATIO.fullmatch(value) is None:
        raise _Invalid("is not a fraction of whole numbers")
    numerator, _, denominator = value.partition("/")
    if denominator and not int(denominator):
        raise _Invalid("has the denominator zero")
    return Fraction(int(numerator), int(denominator or 1))


def _text_reader(limits: Collection[Any]) -> Reader:
    most = _between(limits, Between(0, MAX_TEXT)).most
    values, matching = _limit(OneOf, limits), _limit(Matching, limits)

    def read(text: Any) -> str:
        if type(text) is not str:
            raise _Invalid("is not of type str")
        if len(text) > most:
            raise _Invalid(f"has {len(text):,} characters (expected at most {most})")
        if _NOT_STORABLE.search(text):
            raise _Invalid("contains a character that can't be stored")
        if values:
            values.check(text)
        if matching and matching.pattern.fullmatch(text) is None:
            raise _Invalid(f"{text[:50]!r} does not match {matching.pattern.pattern}")
        return text

    return read


def _between(limits: Collection[Any], otherwise: Between) -> Between:
    return _limit(Between, limits) or otherwise


def _limit(kind: type[Limit], limits: Collection[Any]) -> Limit | None:
    return next((limit for limit in limits if isinstance(limit, kind)), None)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a record; a text in the annotation of a field is its description."""
    hints = get_type_hints(kind, include_extras=True)
    required = [each.name for each in fields(kind) if each.default is MISSING]
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": {each.name: _schema(hints[each.name], each.default) for each in fields(kind)},
    }


def _schema(hint: Any, default: Any = MISSING, *limits: Any) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _schema(inner[0], default, *inner[1:], *limits)
    between, values, matching = _limit(Between, limits), _limit(OneOf, limits), _limit(Matching, limits)
    step, description = _limit(MultipleOf, limits), _limit(str, limits)
    if origin in (Union, types.UnionType):
        schema = _schema(inner[0])
        schema["type"] = [schema["type"], "null"]
    elif origin is tuple and between:
        schema = {"type": "array", "minItems": between.least, "maxItems": between.most, "items": _schema(inner[0])}
    else:
        schema = schema_of(hint) if is_dataclass(hint) else {"type": _JSON_TYPES[hint]}
        schema |= {"minimum": _json_number(between.least), "maximum": _json_number(between.most)} if between else {}
    schema |= {"enum": list(values.values)} if values else {}
    schema |= {"pattern": f"^{matching.pattern.pattern}$"} if matching else {}
    schema |= {"multipleOf": step.step} if step else {}
    if isinstance(default, _PLAIN) and default is not None and DEPENDS not in limits:
        schema["default"] = default
    return schema | ({"description": description} if description else {})


def _json_number(number: int | Fraction) -> int | float:
    return number if isinstance(number, int) else float(number)
