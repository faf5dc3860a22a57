"""Derive a JSON Schema from a dataclass, a TypedDict, a pydantic model or another type that pydantic describes."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reelstate.core.errors import InvalidPipeline


class _ClosedSchema(GenerateJsonSchema):
    """Forbids unknown fields in dataclasses and TypedDicts; a pydantic model decides itself."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return {"additionalProperties": False, **super().dataclass_schema(schema)}

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return {"additionalProperties": False, **super().typed_dict_schema(schema)}


def schema_of_type(place: str, spec: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type. Raises `InvalidPipeline` for one that pydantic can't describe."""
    try:
        return TypeAdapter(spec).json_schema(schema_generator=_ClosedSchema)
    except PydanticUserError as error:
        raise InvalidPipeline(
            place,
            f"{getattr(spec, '__name__', spec)} has no JSON Schema: {error.message}",
            hint="use a dataclass, a TypedDict or a pydantic model of JSON types, or give the schema itself",
        ) from error
