"""Frozen records as JSON and back: what crosses a stage is a document, and rationals are strings, "30000/1001"."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


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


def record_of(kind: type[Record], document: Mapping[str, Any]) -> Record:
    """The record that `document_of` wrote; a field that is missing takes its default."""
    known: Any = kind
    hints = _hints(known)
    return kind(**{name: _value(hints[name], item) for name, item in document.items() if name in hints})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _value(next(each for each in inner if each is not type(None)), value)
    if origin is tuple:
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_value(each, item) for each, item in zip(kinds, value, strict=True))
    if hint is Fraction:
        return Fraction(value)
    return record_of(hint, value) if isinstance(hint, type) and is_dataclass(hint) else value
