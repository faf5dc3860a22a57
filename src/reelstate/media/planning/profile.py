"""Profiles: which renditions to encode, and how, loaded by name, from a JSON or YAML file, or from a document.

Its fields are numbers and values of fixed lists, so no text of a user reaches an option or a filter of ffmpeg.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.records import Between, OneOf, RungName, document_of, record_of

DEFAULT: Final = "h264"
MAX_FILE: Final = 256 * 1024
SPEEDS: Final = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
AV1_SPEEDS: Final = tuple(str(number) for number in range(2, 14))
ENCODERS: Final = {"h264": "libx264", "hevc": "libx265", "av1": "libsvtav1"}
MAX_CRF: Final = {"h264": 51, "hevc": 51, "av1": 63}

_RUNG: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "height", "crf", "max_bitrate"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "description": "unique in the profile"},
        "height": {
            "type": "integer",
            "minimum": 64,
            "maximum": 4320,
            "multipleOf": 2,
            "description": "short side of the 16:9 box that the picture fits into; the top rung keeps its size",
        },
        "codec": {"type": "string", "enum": list(ENCODERS), "default": "h264", "description": "the codec"},
        "crf": {
            "type": "integer",
            "minimum": 1,
            "maximum": 63,
            "description": "constant quality, lower is better; at most 51 for h264 and hevc",
        },
        "max_bitrate": {
            "type": "integer",
            "minimum": 50_000,
            "maximum": 200_000_000,
            "description": "most bits per second",
        },
        "buffer": {
            "type": "integer",
            "minimum": 50_000,
            "maximum": 800_000_000,
            "description": "bits over which the rate is capped; twice `max_bitrate` by default",
        },
        "preset": {
            "type": "string",
            "enum": [*SPEEDS, *AV1_SPEEDS],
            "description": "speed of the encoder: a name for h264 and hevc (`fast`), a number for av1 (`8`)",
        },
        "required": {
            "type": "boolean",
            "default": True,
            "description": "whether the job fails if this rung can't be encoded; otherwise it completes as degraded",
        },
    },
}
_AUDIO: Final[dict[str, Any]] = {
    "type": ["object", "null"],
    "additionalProperties": False,
    "description": "how every audio track is encoded; null for no audio",
    "properties": {
        "codec": {"type": "string", "enum": ["aac"], "default": "aac", "description": "the codec"},
        "bitrate": {
            "type": "integer",
            "minimum": 32_000,
            "maximum": 512_000,
            "default": 128_000,
            "description": "bits per second",
        },
        "channels": {"type": "integer", "enum": [1, 2], "default": 2, "description": "mono or stereo"},
        "sample_rate": {"type": "integer", "enum": [44_100, 48_000], "default": 48_000, "description": "hertz"},
    },
}
SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Reelstate profile",
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "rungs"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "description": "the name of the profile"},
        "rungs": {"type": "array", "minItems": 1, "maxItems": 16, "items": _RUNG, "description": "the renditions"},
        "audio": _AUDIO,
        "segment_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": 20,
            "default": 4,
            "description": "length of a segment, rounded to whole frames",
        },
        "gop_seconds": {
            "type": "number",
            "minimum": 0.5,
            "maximum": 20,
            "default": 2,
            "description": "longest distance of key frames; it divides the segment",
        },
        "chunk_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": 600,
            "default": 30,
            "description": "longest chunk that one task encodes; longer if the key frames of the source are far apart",
        },
        "max_rate": {
            "type": "integer",
            "minimum": 10,
            "maximum": 120,
            "default": 60,
            "description": "most frames per second; a faster source loses every other frame",
        },
        "hdr": {
            "type": "string",
            "enum": ["tonemap", "refuse"],
            "default": "tonemap",
            "description": "how a source with high dynamic range is handled",
        },
        "max_damage": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "default": 0.05,
            "description": "share of the video, or of an audio track, that may be damaged or missing in the source: "
            "above it the job fails, below it completes as degraded; 0 fails at any damage, 1 at none",
        },
        "measure": {
            "type": "string",
            "enum": ["none", "ssim", "vmaf"],
            "default": "none",
            "description": "compare every rung with the source; vmaf falls back to ssim if ffmpeg lacks it",
        },
        "thumbnails": {"type": "boolean", "default": True, "description": "create a poster"},
        "sprites": {"type": "boolean", "default": True, "description": "create sheets of thumbnails for seeking"},
        "captions": {"type": "boolean", "default": True, "description": "convert text subtitles to WebVTT"},
    },
}
"""The JSON Schema of profiles."""


Codec = Annotated[str, OneOf(*ENCODERS)]
Preset = Annotated[str, OneOf(*SPEEDS, *AV1_SPEEDS)]
Crf = Annotated[int, Between(0, 63)]
Bitrate = Annotated[int, Between(0, 1_000_000_000)]
Seconds = Annotated[float, Between(1, 600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One rendition of a profile."""

    name: RungName
    height: Annotated[int, Between(1, 10_000)]
    """The short side of the 16:9 box, landscape or portrait, that the picture fits into."""
    codec: Codec = "h264"
    crf: Crf
    max_bitrate: Bitrate
    buffer: Bitrate = 0
    preset: Preset = "fast"
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioProfile:
    """How audio tracks are encoded."""

    codec: Annotated[str, OneOf("aac")] = "aac"
    bitrate: Bitrate = 128_000
    channels: Annotated[int, Between(1, 64)] = 2
    sample_rate: Annotated[int, Between(1, 1_000_000)] = 48_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything of a stream that a user decides."""

    name: RungName
    rungs: tuple[Rung, ...]
    audio: AudioProfile | None = AudioProfile()
    segment_seconds: Seconds = 4
    gop_seconds: Annotated[float, Between(Fraction(1, 2), 20)] = 2
    chunk_seconds: Seconds = 30
    max_rate: Annotated[int, Between(1, 1000)] = 60
    hdr: Annotated[str, OneOf("tonemap", "refuse")] = "tonemap"
    max_damage: Annotated[float, Between(0, 1)] = 0.05
    measure: Annotated[str, OneOf("none", "ssim", "vmaf")] = "none"
    thumbnails: bool = True
    sprites: bool = True
    captions: bool = True

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = document_of(self)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Profile:
        """Read a stored profile, which was checked when it was loaded."""
        return record_of(cls, document)


def profile_names() -> tuple[str, ...]:
    """Return the names of the built-in profiles."""
    return tuple(sorted(entry.name.removesuffix(".json") for entry in _built_in().iterdir()))


def load_profile(profile: str | Path | Mapping[str, Any] = DEFAULT) -> Profile:
    """Load a profile by name, from a file (.json, .yaml, .yml), or from a document.

    Raises `InvalidRequest` with the field that is wrong.
    """
    if isinstance(profile, Path) or (isinstance(profile, str) and _is_file(profile)):
        return parse_profile(_read(Path(profile)))
    return profile_from_spec(profile, "name a .json or .yaml file")


def profile_from_spec(profile: Any, alternative: str = "pass the profile as an object") -> Profile:
    """Load a profile by name or from a document; a spec can't name files of a worker."""
    if isinstance(profile, Mapping):
        return parse_profile(profile)
    if profile not in profile_names():
        raise InvalidRequest(
            "profile",
            f"there is no profile {_shorten(profile)}",
            hint=f"profiles: {', '.join(profile_names())}; or {alternative}",
        )
    return parse_profile(json.loads((_built_in() / f"{profile}.json").read_text("utf-8")))


def parse_profile(document: Any) -> Profile:
    """Check a document against the schema and the rules that a schema can't express."""
    _check(SCHEMA, document, "")
    seen: set[str] = set()
    for number, rung in enumerate(document["rungs"]):
        _check_rung(f"rungs[{number}]", rung, seen)
    return Profile.from_json({**document, "rungs": [_with_defaults(rung) for rung in document["rungs"]]})


def _with_defaults(rung: Mapping[str, Any]) -> dict[str, Any]:
    preset = "8" if rung.get("codec") == "av1" else "fast"
    return {"buffer": 2 * rung["max_bitrate"], "preset": preset, **rung}


def _check_rung(path: str, rung: Mapping[str, Any], seen: set[str]) -> None:
    codec = rung.get("codec", "h264")
    if rung["name"] in seen:
        raise InvalidRequest(f"{path}.name", f"two rungs have the name {rung['name']!r}", hint="rename one of them")
    seen.add(rung["name"])
    if rung["crf"] > MAX_CRF[codec]:
        raise InvalidRequest(f"{path}.crf", f"{rung['crf']} is too large", hint=f"{codec}: 1 to {MAX_CRF[codec]}")
    speeds = AV1_SPEEDS if codec == "av1" else SPEEDS
    if rung.get("preset", speeds[0]) not in speeds:
        raise InvalidRequest(
            f"{path}.preset", f"{codec} has no preset {rung['preset']!r}", hint=f"expected one of {', '.join(speeds)}"
        )


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def _check(schema: Mapping[str, Any], value: Any, path: str) -> None:
    """The part of JSON schema that `SCHEMA` uses, with errors that name the path."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_has_type(kind, value) for kind in kinds):
        raise _error(path, f"{_shorten(value)} has the wrong type", f"expected {' or '.join(kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise _error(path, f"invalid value {_shorten(value)}", f"expected one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str) and not re.fullmatch(schema.get("pattern", ".*"), value, re.ASCII):
        raise _error(path, f"invalid name {_shorten(value)}", "expected up to 32 lower-case letters, digits and -")
    if "minimum" in schema:
        _check_number(schema, value, path)
    if isinstance(value, Mapping):
        _check_object(schema, value, path)
    if isinstance(value, list | tuple):
        _check_array(schema, value, path)


def _has_type(kind: str, value: Any) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _check_number(schema: Mapping[str, Any], value: Any, path: str) -> None:
    least, most = schema["minimum"], schema["maximum"]
    if not least <= value <= most:
        raise _error(path, f"{value} is out of range", f"expected {least} to {most}")
    if "multipleOf" in schema and value % schema["multipleOf"]:
        raise _error(path, f"{value} is odd", "expected an even number")


def _check_object(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> None:
    known = schema["properties"]
    for name in value:
        if name not in known:
            raise _error(_join(path, name), "unknown field", f"fields: {', '.join(known)}")
    for name in schema.get("required", ()):
        if name not in value:
            raise _error(_join(path, name), "is missing", "it is required")
    for name, item in value.items():
        _check(known[name], item, _join(path, name))


def _check_array(schema: Mapping[str, Any], value: Sequence[Any], path: str) -> None:
    if not schema["minItems"] <= len(value) <= schema["maxItems"]:
        raise _error(path, f"has {len(value)} entries", f"expected {schema['minItems']} to {schema['maxItems']}")
    for number, item in enumerate(value):
        _check(schema["items"], item, f"{path}[{number}]")


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}".lstrip(".")[:200]


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004


def _error(path: str, message: str, hint: str) -> InvalidRequest:
    return InvalidRequest(path or "profile", message, hint=hint)


def _built_in() -> Any:
    return resources.files("reelstate.media") / "profiles"


def _is_file(profile: str) -> bool:
    return profile.endswith((".json", ".yaml", ".yml"))


def _read(path: Path) -> Any:
    """Read the document in a file; YAML is read without tags, so it yields plain values only."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise InvalidRequest("profile", f"{path} is too large", hint=f"at most {MAX_FILE:,} bytes")
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix == ".json" else _parse_yaml(text)
    except OSError as error:
        raise InvalidRequest("profile", f"{path} can't be read: {error.strerror}", hint="check the path") from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InvalidRequest("profile", f"{path} can't be parsed: {reason}", hint="fix the file") from None


def _parse_yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415 - slow to load, and most profiles are JSON

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
