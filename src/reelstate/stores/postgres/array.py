"""Columns of a batch as PostgreSQL array literals, several times faster than the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def array(values: Sequence[Any]) -> str:
    """Return the values as an array literal; the statement casts it to its type."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return f"{{{','.join(map(str, values))}}}"
    if kinds == {str}:
        return '{"' + '","'.join([text.replace("\\", "\\\\").replace('"', '\\"') for text in values]) + '"}'
    return f"{{{','.join(map(_element, values))}}}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
