"""The JSON Schema of a pipeline's specs: derived from a type or given, checked once, applied to each submission.

The schema is part of the stored graph, so a process without the pipeline's code checks specs too. Specs are untrusted:
patterns match in linear time, no document is fetched, and the work per value is bounded.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reelstate.core.document import encode, shorten
from reelstate.core.errors import InvalidPipeline, InvalidRequest
from reelstate.core.model import Json

if TYPE_CHECKING:
    from jsonschema_rs import EvaluationErrorEntry, Validator

SpecType: TypeAlias = type[Any] | Mapping[str, Any]
"""The type of a pipeline's specs: a dataclass, a TypedDict, a pydantic model, or a JSON Schema."""
MAX_SCHEMA: Final = 64 * 1024
MAX_PATTERN: Final = 1024 * 1024
"""Largest compiled pattern, in bytes."""
MAX_SUBSCHEMAS: Final = 100_000
"""Largest number of subschemas with every `$ref` expanded."""
MAX_ERRORS: Final = 100
MAX_MESSAGE: Final = 300
MAX_SHOWN: Final = 80
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_FIELDS: Final = ("required", "additionalProperties")
"""Keywords about the fields of an object; the validator may report either for both."""
_KINDS: Final = ("type", "enum", "const")
"""Keywords that tell the branches of an `anyOf` apart."""
_BOUNDS: Final = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matching {}",
    "format": "in the format {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def schema_of(pipeline: str, spec: SpecType) -> dict[str, Json]:
    """Return the JSON Schema of a type, or the given one. Raises `InvalidPipeline`."""
    place = f"{pipeline}.spec"
    schema = dict(spec) if isinstance(spec, Mapping) else _schema_of_type(place, spec)
    check_schema(place, schema)
    return schema


def check_schema(place: str, schema: Json) -> None:
    """Raise `InvalidPipeline` for a schema that is invalid, too large, or refers to another document."""
    if not isinstance(schema, dict):
        raise InvalidPipeline(place, f"{_shown(schema)} is not a JSON Schema", hint="expected an object")
    encode(place, schema, MAX_SCHEMA)
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise InvalidPipeline(
                place, f"$ref {_shown(reference)} refers to another document", hint='use "$defs" and "#/$defs/…"'
            )
    if _size(schema, schema, {}) > MAX_SUBSCHEMAS:
        raise InvalidPipeline(place, f"expands to more than {MAX_SUBSCHEMAS:,} subschemas", hint="simplify it")
    try:
        _compile(schema)
    except ValueError as error:
        path = _path(place, getattr(error, "instance_path", ()))
        message = shorten(str(getattr(error, "message", error)), MAX_MESSAGE)
        raise InvalidPipeline(
            path,
            f"is not a usable JSON Schema: {message}",
            hint="patterns must be small, without look-around and backreferences",
        ) from None


def _schema_of_type(place: str, spec: type[Any]) -> dict[str, Json]:
    from reelstate.pipelines.spec_type import schema_of_type  # noqa: PLC0415 - pydantic is slow to load

    return schema_of_type(place, spec)


class SpecSchema:
    """A stored schema, compiled for the first spec."""

    def __init__(self, schema: Mapping[str, Json], place: str = "spec") -> None:
        self._schema = schema
        self._place = place

    @cached_property
    def _validator(self) -> Validator:
        return _compile(self._schema)

    def check(self, spec: Json) -> None:
        """Raise `InvalidRequest` with path, value and expectation for a spec that does not match."""
        if self._validator.is_valid(spec):
            return
        # Not `validate`: the errors of all branches of an `anyOf` take it seconds for a large spec.
        found = self._validator.evaluate(spec).errors()[:MAX_ERRORS]
        faults = _of_matching_branches([_Fault.of(self._schema, spec, each, self._place) for each in found])
        raise _explain([fault for fault in faults if fault.path == faults[0].path])


@dataclass(frozen=True, slots=True)
class _Fault:
    """An error of the validator: path, keyword and subschema."""

    root: str
    path: tuple[str, ...]
    value: Json
    keyword: str
    schema: Mapping[str, Json]
    text: str

    @classmethod
    def of(cls, schema: Json, spec: Json, error: EvaluationErrorEntry, root: str) -> _Fault:
        path, (*location, keyword) = _steps(error["instanceLocation"]), _steps(error["schemaLocation"])
        return cls(root, path, _at(spec, path), keyword, _mapping(_at(schema, location)), error["error"])

    @property
    def place(self) -> str:
        return _path(self.root, self.path)


def _of_matching_branches(faults: list[_Fault]) -> list[_Fault]:
    """Drop the type errors of one branch where the value has the type of another."""

    def is_relevant(fault: _Fault) -> bool:
        inside = (each for each in faults if each.path[: len(fault.path)] == fault.path)
        return fault.keyword not in _KINDS or all(each.keyword in _KINDS and each.path == fault.path for each in inside)

    return [fault for fault in faults if is_relevant(fault)] or faults


def _explain(faults: Sequence[_Fault]) -> InvalidRequest:
    """Return the error for one value; each fault comes from a branch that might accept it."""
    fault = faults[0]
    fields = _mapping(fault.schema.get("properties"))
    if fault.keyword in _FIELDS and isinstance(fault.value, Mapping):
        unknown = [name for name in fault.value if name not in fields]
        if unknown and "additionalProperties" in fault.schema and "patternProperties" not in fault.schema:
            return _unknown_field(fault.place, unknown[0], list(fields))
        missing = [name for name in fault.schema.get("required", ()) if name not in fault.value]
        if missing:
            return InvalidRequest(
                _path(fault.place, missing[:1]), "is missing", hint=_hint(_expected(fields.get(missing[0])))
            )
    expected = dict.fromkeys(filter(None, (_expected(each.schema) for each in faults)))
    whole = json.dumps(fault.value, ensure_ascii=False, separators=(",", ":"))
    message = (
        f"{_shown(fault.value)} is not accepted" if len(faults) > 1 else fault.text.replace(whole, _shown(fault.value))
    )
    return InvalidRequest(fault.place, shorten(message, MAX_MESSAGE), hint=_hint(" or ".join(expected)))


def _compile(schema: Mapping[str, Json]) -> Validator:
    import jsonschema_rs  # noqa: PLC0415 - slow to load

    return jsonschema_rs.validator_for(
        dict(schema),
        pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN, dfa_size_limit=MAX_PATTERN),
        validate_formats=True,
        offline=True,
    )


def _references(node: Json) -> Iterator[str]:
    """Yield every reference in a schema."""
    if isinstance(node, list | tuple):
        for item in node:
            yield from _references(item)
    elif isinstance(node, Mapping):
        yield from (node[name] for name in _REFERENCES if isinstance(node.get(name), str))
        for item in node.values():
            yield from _references(item)


def _size(root: Json, node: Json, known: dict[str, int]) -> int:
    """Count the objects of a schema with its references expanded; a recursive reference counts once."""
    if isinstance(node, list | tuple):
        return sum(_size(root, item, known) for item in node)
    if not isinstance(node, Mapping):
        return 0
    size = 1 + sum(_size(root, item, known) for name, item in node.items() if name not in ("$defs", "definitions"))
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return size
    if reference not in known:
        known[reference] = 0
        known[reference] = _size(root, _at(root, _steps(reference)), known)
    return size + known[reference]


def _steps(pointer: str) -> tuple[str, ...]:
    """Return the steps of a JSON pointer."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def _at(node: Json, steps: Sequence[str]) -> Json:
    """Return the value at the end of these steps; None if there is none."""
    for step in steps:
        if isinstance(node, list | tuple):
            node = node[int(step)] if step.isdecimal() and int(step) < len(node) else None
        else:
            node = _mapping(node).get(step)
    return node


def _unknown_field(path: str, name: str, known: Sequence[str]) -> InvalidRequest:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"fields: {', '.join(known) or 'none'}"
    return InvalidRequest(_path(path, [name]), "unknown field", hint=hint)


def _expected(schema: Json) -> str:
    """Describe what a subschema accepts; empty if it does not restrict it."""
    node = _mapping(schema)
    types = node.get("type")
    if "enum" in node:
        parts = [f"one of {', '.join(map(_shown, node['enum']))}"]
    elif "const" in node:
        parts = [_shown(node["const"])]
    else:
        parts = [" or ".join(types) if isinstance(types, list) else str(types)] if types else []
    parts += [text.format(_shown(node[name])) for name, text in _BOUNDS.items() if name in node]
    if not parts and isinstance(node.get("$ref"), str):
        parts = [node["$ref"].rpartition("/")[2]]
    if not parts and isinstance(node.get("anyOf"), list):
        parts = [" or ".join(filter(None, map(_expected, node["anyOf"])))]
    if isinstance(node.get("description"), str):
        parts.append(node["description"])
    return ", ".join(parts)


def _hint(expected: str) -> str:
    return f"expected {expected}" if expected else ""


def _path(place: str, steps: Sequence[str | int]) -> str:
    for step in map(str, steps):
        place += f"[{step}]" if step.isdecimal() else f".{step}" if place else step
    return place if len(place) <= 200 else f"{place[:199]}…"  # noqa: PLR2004


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
