"""Specs are checked by the JSON Schema that is stored with their pipeline."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

import reelstate as rs
from reelstate.core.errors import InvalidPipeline, InvalidRequest
from reelstate.core.model import Json
from reelstate.core.pipeline import Graph
from reelstate.media.planning.request import SPEC
from reelstate.pipelines.spec_schema import MAX_SCHEMA, SpecSchema, check_schema, schema_of


@dataclass
class Crop:
    left: int
    top: int = 0


@dataclass
class Shot:
    video: str
    width: int = 320
    mode: Literal["fit", "fill"] = "fit"
    crops: list[Crop] | None = None


class ShotDict(TypedDict):
    video: str
    width: int


class ShotModel(BaseModel):
    model_config = ConfigDict(extra="forbid")
    video: str
    width: int = 320


class Plain:
    pass


def checked(schema: Any, spec: Json) -> tuple[str, str, str]:
    """The field, the message and the hint of the refusal; empty where the spec is accepted."""
    try:
        SpecSchema(schema_of("shots", schema)).check(spec)
    except InvalidRequest as error:
        return error.field, error.message.partition(": ")[2], error.hint
    return "", "", ""


@pytest.mark.parametrize(
    "spec", [{"video": "a"}, {"video": "a", "width": 1, "crops": [{"left": 1}]}, {"video": "", "crops": None}]
)
def test_a_spec_of_the_declared_type_is_accepted(spec: Json) -> None:
    assert checked(Shot, spec) == ("", "", "")


@pytest.mark.parametrize(
    "spec, field, message, hint",
    [
        ({}, "spec.video", "is missing", "expected string"),
        ({"video": "a", "width": "640"}, "spec.width", '"640" is not of type "integer"', "expected integer"),
        ({"video": "a", "widht": 640}, "spec.widht", "unknown field", "did you mean width?"),
        ({"video": "a", "zoom": 2}, "spec.zoom", "unknown field", "fields: video, width, mode, crops"),
        (
            {"video": "a", "mode": "crop"},
            "spec.mode", '"crop" is not one of "fit" or "fill"', 'expected one of "fit", "fill"',
        ),
        (
            {"video": "a", "crops": [{"left": 1}, {"left": None}]},
            "spec.crops[1].left", 'null is not of type "integer"', "expected integer",
        ),
        ({"video": "a", "crops": [{"top": 1}]}, "spec.crops[0].left", "is missing", "expected integer"),
        ({"video": "a", "crops": 7}, "spec.crops", "7 is not accepted", "expected array or null"),
        (["a"], "spec", '["a"] is not of type "object"', "expected object"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_path_the_value_and_what_is_expected(
    spec: Json, field: str, message: str, hint: str
) -> None:
    assert checked(Shot, spec) == (field, message, hint)


def test_bounds_and_descriptions_of_a_schema_are_reported() -> None:
    width = {"type": "integer", "minimum": 16, "maximum": 4096, "description": "pixels"}
    schema = {"properties": {"width": width, "at": {"type": "string", "format": "date-time"}}}
    assert checked(schema, {"width": 8}) == (
        "spec.width",
        "8 is less than the minimum of 16",
        "expected integer, at least 16, at most 4096, pixels",
    )
    assert checked(schema, {"at": "noon"})[:2] == ("spec.at", '"noon" is not a "date-time"')


@pytest.mark.parametrize("kind", [ShotDict, ShotModel])
def test_typed_dicts_and_pydantic_models_describe_specs_too(kind: type) -> None:
    assert checked(kind, {"video": "a", "width": 1}) == ("", "", "")
    assert checked(kind, {"video": "a", "width": 1.5})[0] == "spec.width"
    assert checked(kind, {"video": "a", "width": 1, "hight": 1})[0] == "spec.hight"


def test_a_large_value_is_cut_in_the_message() -> None:
    field, message, _ = checked({"properties": {"n": {"type": "integer"}}}, {"n": ["x" * 1000] * 100})
    assert field == "spec.n"
    assert len(message) < 200


@pytest.mark.parametrize(
    "schema, why",
    [
        ({"$ref": "https://example.com/schema.json"}, "refers to another document"),
        ({"$ref": "other.json#/a"}, "refers to another document"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "refers to another document"),
        ({"$defs": {"a": {"$ref": "https://example.com/a"}}}, "refers to another document"),
        ({"$dynamicRef": "https://example.com/a"}, "refers to another document"),
        ({"$schema": "https://example.com/draft"}, "Unknown meta-schema"),
        ({"$ref": "#/$defs/missing"}, "does not exist"),
        ({"type": "whole"}, "not a usable JSON Schema"),
        ({"pattern": "^(?=a)"}, "not a usable JSON Schema"),
        ({"pattern": r"(a)\1"}, "not a usable JSON Schema"),
        ({"pattern": "((a{100}){100}){100}"}, "not a usable JSON Schema"),
        ({"description": "x" * MAX_SCHEMA}, "the limit is"),
        (Plain, "has no JSON Schema"),
    ],
)
def test_an_unsafe_schema_is_refused_at_declaration(schema: Any, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why) as refused:
        rs.Pipeline("shots", spec=schema)
    assert refused.value.field.startswith("shots.spec")


def test_references_that_multiply_are_refused() -> None:
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(InvalidPipeline, match="expands to more than"):
        check_schema("spec", {"$ref": "#/$defs/d0", "$defs": {**levels, "d40": {"type": "integer"}}})


def test_a_schema_may_refer_to_itself() -> None:
    node = {"type": "object", "properties": {"inner": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    assert checked(schema, {"inner": {"inner": {"n": "x"}}})[0] == "spec.inner.inner.n"


def test_a_pattern_that_backtracks_elsewhere_takes_linear_time() -> None:
    """A backtracking engine would not end."""
    field, _, _ = checked({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 200_000 + "b"})
    assert field == "spec.a"


def test_a_large_invalid_spec_is_explained_by_its_first_error() -> None:
    item = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema = {"properties": {"f": {"anyOf": [{"type": "array", "items": item}, {"type": "null"}]}}}
    assert checked(schema, {"f": [0] * 20_000}) == ("spec.f[0]", "0 is not accepted", "expected string or null")


def test_the_schema_is_a_part_of_the_graph_and_of_its_digest() -> None:
    def pipeline(spec: Any) -> Graph:
        shots = rs.Pipeline("shots", spec=spec)
        shots.stage(name="grab")(lambda _: None)
        return shots.graph

    graphs = [pipeline(spec) for spec in (None, ShotDict, Shot)]
    assert len({graph.digest for graph in graphs}) == 3
    assert "spec" not in graphs[0].document()
    assert [Graph.from_document(graph.document()) for graph in graphs] == graphs


@pytest.mark.parametrize(
    "spec, field",
    [
        ({}, "spec.source"),
        ({"source": "a.mp4", "profil": "h264"}, "spec.profil"),
        ({"source": "a.mp4", "profile": "h265"}, "spec.profile"),
        ({"source": "a.mp4", "profile": {"name": "a", "rungs": [{"name": "b"}]}}, "spec.profile.rungs[0].height"),
        ({"source": "a.mp4", "qualities": "720p"}, "spec.qualities"),
        ({"source": "a.mp4", "captions": "no"}, "spec.captions"),
    ],
)
def test_transcode_has_a_schema(spec: Json, field: str) -> None:
    assert checked(SPEC, spec)[0] == field
    good = {"source": "a.mp4", "profile": "h264", "qualities": ["720p"], "captions": "drop", "reuse_from": 1}
    assert checked(SPEC, good) == ("", "", "")
