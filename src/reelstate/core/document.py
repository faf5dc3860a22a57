"""Encode and check values from outside as JSON text that both databases can store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from reelstate.core.errors import InvalidRequest, TooLarge
from reelstate.core.model import Json

MAX_DEPTH = 64
"""How deep a stored value may be nested, so that every reader can encode it again."""
UNREADABLE = "unreadable"
"""The field of a note that replaces a value that can't be shown."""
_LONG_NUMBER = re.compile(r"\d{19}", re.ASCII)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The largest accepted sizes, in bytes (of the key: in characters)."""

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
    """Encode a value as compact JSON. Raises `InvalidRequest` or `TooLarge` with the name of the field."""
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
        raise InvalidRequest(field, f"is nested deeper than {MAX_DEPTH}", hint="flatten it")
    if "\\u0000" in text:
        _refuse_nul(field, value)
    if _LONG_NUMBER.search(text):
        _refuse_large(field, value)
    return text


def is_deeper(value: Json, depth: int) -> bool:
    """Whether arrays and objects are nested deeper than `depth`. Does not recurse."""
    level = [value]
    for _ in range(depth):
        level = [item for each in level if isinstance(each, dict | list | tuple) for item in _inside(each)]
        if not level:
            return False
    return any(isinstance(each, dict | list | tuple) for each in level)


def _inside(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value


def readable(value: Json) -> Json:
    """Return a stored value, or a note if it can't be encoded: manual SQL may store anything."""
    if is_deeper(value, MAX_DEPTH):
        return {UNREADABLE: f"it is nested deeper than {MAX_DEPTH}"}
    try:
        _ENCODER.encode(value).encode()
    except ValueError as error:
        return {UNREADABLE: f"it is not JSON: {type(error).__name__}"}
    return value


def encode_optional(field: str, value: Json, limit: int) -> str | None:
    """Encode a value as `encode` does; None stays None."""
    return None if value is None else encode(field, value, limit)


def shorten(text: str, limit: int) -> str:
    """Replace what a database can't store in a text, and cut its middle if it is longer than `limit`."""
    clean = text.replace("\x00", "�").encode("utf-8", "replace").decode()
    if len(clean) <= limit:
        return clean
    half = (limit - 5) // 2
    return f"{clean[:half]} ... {clean[-half:]}"


def shorten_list(texts: Sequence[str], limit: int) -> list[str]:
    """Cut the middle of a list of texts so that it takes at most `limit` bytes of JSON."""
    clean = [shorten(text, limit // 4) for text in texts]
    sizes = [len(_ENCODER.encode(text).encode()) + 1 for text in clean]
    if sum(sizes) < limit:
        return clean
    half = (limit - len('["…"],'.encode())) // 2
    first = _fitting(sizes, half)
    last = _fitting(sizes[::-1], half)
    return [*clean[:first], "…", *clean[len(clean) - last :]]


def _fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first sizes fit into the room."""
    return sum(1 for taken in accumulate(sizes) if taken <= room)


def whole_number(field: str, number: object, most: int = 2**63 - 1) -> int:
    """Return a whole number from 0 to `most`; raises `InvalidRequest` for anything else, booleans included."""
    if type(number) is not int or not 0 <= number <= most:
        raise InvalidRequest(field, f"invalid value {number!r}", hint=f"expected a whole number from 0 to {most}")
    return number


def plain_text(field: str, text: str, limit: int) -> str:
    """Return a text that must be stored unchanged; raises `InvalidRequest` if it is too long or can't be stored."""
    if "\x00" in text:
        raise InvalidRequest(field, "holds a NUL character", hint="remove it: databases can't store it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(field, "is not valid Unicode", hint="remove the lone surrogate") from None
    if size > limit:
        raise TooLarge(field, size, limit, hint="shorten it")
    return text


def _refuse_large(field: str, value: Json) -> None:
    """Raise `InvalidRequest` for integers over 64 bits, which SQLite would round."""
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
