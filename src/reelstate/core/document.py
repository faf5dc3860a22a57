"""Values from outside as JSON text that both databases can hold, checked on the way in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from reelstate.core.errors import InvalidRequest, TooLarge
from reelstate.core.model import Json

MAX_DEPTH = 64
"""How deep arrays and objects of a stored value may be nested. Whoever reads it must be able to write it again."""
UNREADABLE = "unreadable"
"""The name under which a note stands in place of a value that can't be shown."""
_LONG_NUMBER = re.compile(r"\d{19}", re.ASCII)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The largest sizes that are accepted, in bytes (the key: in characters)."""

    spec: int = 256 * 1024
    checkpoint: int = 64 * 1024
    result: int = 16 * 1024 * 1024
    error: int = 4 * 1024
    message: int = 4 * 1024
    metadata: int = 10 * 1024
    argv: int = 16 * 1024
    output: int = 64 * 1024
    idempotency_key: int = 255


LIMITS = DocumentLimits()


def encode(field: str, value: Json, limit: int) -> str:
    """The value as compact JSON; an error names the field when it is no JSON, too large, or holds a NUL."""
    try:
        text = _ENCODER.encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            field,
            f"is not JSON: {error}",
            hint="use dicts with string keys, lists, strings, numbers, booleans, None",
        ) from None
    if size > limit:
        raise TooLarge(field, size, limit)
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise InvalidRequest(field, f"is nested deeper than {MAX_DEPTH}", hint="make it flatter")
    if "\\u0000" in text:
        _refuse_nul(field, value)
    if _LONG_NUMBER.search(text):
        _refuse_large(field, value)
    return text


def is_deeper(value: Json, depth: int) -> bool:
    """Whether arrays and objects are nested deeper than so many levels; looked at level by level, not by recursion."""
    level = [value]
    for _ in range(depth):
        level = [item for each in level if isinstance(each, dict | list | tuple) for item in _inside(each)]
        if not level:
            return False
    return any(isinstance(each, dict | list | tuple) for each in level)


def _inside(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value


def readable(value: Json) -> Json:
    """A stored value as anybody can write it, or a note why it can't be: a row by manual SQL may hold anything."""
    if is_deeper(value, MAX_DEPTH):
        return {UNREADABLE: f"it is nested deeper than {MAX_DEPTH}"}
    try:
        _ENCODER.encode(value).encode()
    except ValueError as error:
        return {UNREADABLE: f"it is not JSON: {type(error).__name__}"}
    return value


def encode_optional(field: str, value: Json, limit: int) -> str | None:
    """The same, with nothing for None."""
    return None if value is None else encode(field, value, limit)


def shorten(text: str, limit: int) -> str:
    """Text for people, without what a database can't hold, cut in the middle when it is too long."""
    clean = text.replace("\x00", "�").encode("utf-8", "replace").decode()
    if len(clean) <= limit:
        return clean
    half = (limit - 5) // 2
    return f"{clean[:half]} ... {clean[-half:]}"


def shorten_list(words: Sequence[str], limit: int) -> list[str]:
    """A list of texts for people that takes no more than so many bytes of JSON: its middle gives way."""
    clean = [shorten(word, limit // 4) for word in words]
    sizes = [len(_ENCODER.encode(word).encode()) + 1 for word in clean]
    if sum(sizes) < limit:
        return clean
    half = (limit - len('["…"],'.encode())) // 2
    first = _fitting(sizes, half)
    last = _fitting(sizes[::-1], half)
    return [*clean[:first], "…", *clean[len(clean) - last :]]


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many of the first fit into the room."""
    return sum(1 for taken in accumulate(sizes) if taken <= room)


def whole_number(field: str, number: object, most: int = 2**63 - 1) -> int:
    """A whole number that both databases can hold, and nothing that only looks like one."""
    if type(number) is not int or not 0 <= number <= most:
        raise InvalidRequest(field, f"{number!r} is not a number it could be", hint=f"a whole number from 0 to {most}")
    return number


def plain_text(field: str, text: str, limit: int) -> str:
    """A short text that must be kept as it is: refused when it is too long or can't be stored."""
    if "\x00" in text:
        raise InvalidRequest(field, "holds a NUL character", hint="remove it: databases can't store it in text")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(field, "is not valid Unicode", hint="it holds half of a surrogate pair") from None
    if size > limit:
        raise TooLarge(field, size, limit, hint="shorten it")
    return text


def _refuse_large(field: str, value: Json) -> None:
    """SQLite would keep a longer number as a fraction, and not the same one."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidRequest(field, "holds a whole number of more than 64 bits", hint="write it as a string")
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_large(f"{field}.{name}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _refuse_large(f"{field}[{number}]", item)


def _refuse_nul(field: str, value: Json) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise InvalidRequest(field, "holds a NUL character", hint="remove it, or encode binary data as base64")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_nul(field, name)
            _refuse_nul(f"{field}.{name}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _refuse_nul(f"{field}[{number}]", item)
