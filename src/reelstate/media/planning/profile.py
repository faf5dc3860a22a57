"""A profile: which renditions to make, and how. It comes by name, as a file of JSON or YAML, or as a document.

Its fields are numbers and words of fixed lists, so that nothing a user wrote can reach an option or a filter.
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
LARGEST_FILE: Final = 256 * 1024
SPEEDS: Final = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
AV1_SPEEDS: Final = tuple(str(number) for number in range(2, 14))
ENCODERS: Final = {"h264": "libx264", "hevc": "libx265", "av1": "libsvtav1"}
LARGEST_CRF: Final = {"h264": 51, "hevc": 51, "av1": 63}

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
            "description": "short side of the box of 16:9 that the picture fits into; the best has the source's size",
        },
        "codec": {"type": "string", "enum": list(ENCODERS), "default": "h264", "description": "what it is encoded as"},
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
            "description": "bits a second that the quality may cost",
        },
        "buffer": {
            "type": "integer",
            "minimum": 50_000,
            "maximum": 800_000_000,
            "description": "bits over which the rate is capped; twice `max_bitrate` when left out",
        },
        "preset": {
            "type": "string",
            "enum": [*SPEEDS, *AV1_SPEEDS],
            "description": "speed of the encoder: a word for h264 and hevc (`fast`), a number for av1 (`8`)",
        },
        "required": {
            "type": "boolean",
            "default": True,
            "description": "whether the job fails when this rung can't be made; else it completes as degraded",
        },
    },
}
_AUDIO: Final[dict[str, Any]] = {
    "type": ["object", "null"],
    "additionalProperties": False,
    "description": "how every sound track is encoded; null leaves the sound out",
    "properties": {
        "codec": {"type": "string", "enum": ["aac"], "default": "aac", "description": "what it is encoded as"},
        "bitrate": {
            "type": "integer",
            "minimum": 32_000,
            "maximum": 512_000,
            "default": 128_000,
            "description": "bits a second",
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
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "description": "what the profile is called"},
        "rungs": {"type": "array", "minItems": 1, "maxItems": 16, "items": _RUNG, "description": "the renditions"},
        "audio": _AUDIO,
        "segment_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": 20,
            "default": 4,
            "description": "length of a segment; the nearest whole number of frames is taken",
        },
        "gop_seconds": {
            "type": "number",
            "minimum": 0.5,
            "maximum": 20,
            "default": 2,
            "description": "longest distance of key frames; a segment is a whole number of such distances",
        },
        "chunk_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": 600,
            "default": 30,
            "description": "longest chunk that one worker encodes, unless the key frames of the source ask for more",
        },
        "max_rate": {
            "type": "integer",
            "minimum": 10,
            "maximum": 120,
            "default": 60,
            "description": "frames a second; a faster source loses every other frame",
        },
        "hdr": {
            "type": "string",
            "enum": ["tonemap", "refuse"],
            "default": "tonemap",
            "description": "what becomes of a source with high dynamic range",
        },
        "max_damage": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "default": 0.05,
            "description": "share of the picture, or of a sound track, that may be damaged or missing in the source; "
            "above it the job fails, below it completes as degraded; 0 fails at any damage, 1 at none",
        },
        "measure": {
            "type": "string",
            "enum": ["none", "ssim", "vmaf"],
            "default": "none",
            "description": "compare every rung with the source; vmaf falls back to ssim where ffmpeg lacks it",
        },
        "thumbnails": {"type": "boolean", "default": True, "description": "make a poster"},
        "sprites": {"type": "boolean", "default": True, "description": "make sheets of small pictures for seeking"},
        "captions": {"type": "boolean", "default": True, "description": "turn text subtitles into WebVTT"},
    },
}
"""The JSON schema that profiles are held to."""


Codec = Annotated[str, OneOf(*ENCODERS)]
Preset = Annotated[str, OneOf(*SPEEDS, *AV1_SPEEDS)]
Crf = Annotated[int, Between(0, 63)]
Bitrate = Annotated[int, Between(0, 1_000_000_000)]
Seconds = Annotated[float, Between(1, 600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    name: RungName
    height: Annotated[int, Between(1, 10_000)]
    """The short side of the box of 16:9, lying or upright, that the picture fits into."""
    codec: Codec = "h264"
    crf: Crf
    max_bitrate: Bitrate
    buffer: Bitrate = 0
    preset: Preset = "fast"
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioProfile:
    codec: Annotated[str, OneOf("aac")] = "aac"
    bitrate: Bitrate = 128_000
    channels: Annotated[int, Between(1, 64)] = 2
    sample_rate: Annotated[int, Between(1, 1_000_000)] = 48_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
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
        """A profile as stored; it was checked when it was loaded."""
        return record_of(cls, document)


def names() -> tuple[str, ...]:
    """The profiles that come with the package."""
    return tuple(sorted(entry.name.removesuffix(".json") for entry in _shipped().iterdir()))


def load(profile: str | Path | Mapping[str, Any] = DEFAULT) -> Profile:
    """A profile by name, from a file (.json, .yaml, .yml), or from a document; `InvalidRequest` names the mistake."""
    if isinstance(profile, Path) or (isinstance(profile, str) and _is_file(profile)):
        return parse(_read(Path(profile)))
    return given(profile, "give a .json or .yaml file")


def given(profile: Any, otherwise: str = "give the profile itself, as an object") -> Profile:
    """A profile as a spec gives it, by name or whole: what files a worker has is not for a spec to ask."""
    if isinstance(profile, Mapping):
        return parse(profile)
    if profile not in names():
        raise InvalidRequest(
            "profile",
            f"no profile is called {_shown(profile)}",
            hint=f"profiles: {', '.join(names())}; or {otherwise}",
        )
    return parse(json.loads((_shipped() / f"{profile}.json").read_text("utf-8")))


def parse(document: Any) -> Profile:
    """Check a document against the schema, and against what a schema can't say."""
    _check(SCHEMA, document, "")
    seen: set[str] = set()
    for number, rung in enumerate(document["rungs"]):
        _check_rung(f"rungs[{number}]", rung, seen)
    return Profile.from_json({**document, "rungs": [_completed(rung) for rung in document["rungs"]]})


def _completed(rung: Mapping[str, Any]) -> dict[str, Any]:
    preset = "8" if rung.get("codec") == "av1" else "fast"
    return {"buffer": 2 * rung["max_bitrate"], "preset": preset, **rung}


def _check_rung(place: str, rung: Mapping[str, Any], seen: set[str]) -> None:
    codec = rung.get("codec", "h264")
    if rung["name"] in seen:
        raise InvalidRequest(f"{place}.name", f"two rungs are called {rung['name']!r}", hint="rename one of them")
    seen.add(rung["name"])
    if rung["crf"] > LARGEST_CRF[codec]:
        raise InvalidRequest(f"{place}.crf", f"{rung['crf']} is too large", hint=f"{codec}: 1 to {LARGEST_CRF[codec]}")
    speeds = AV1_SPEEDS if codec == "av1" else SPEEDS
    if rung.get("preset", speeds[0]) not in speeds:
        raise InvalidRequest(
            f"{place}.preset", f"{codec} has no preset {rung['preset']!r}", hint=f"one of {', '.join(speeds)}"
        )


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def _check(schema: Mapping[str, Any], value: Any, place: str) -> None:
    """The part of JSON schema that `SCHEMA` uses, with errors that name the place."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(kind, value) for kind in kinds):
        raise _mistake(place, f"{_shown(value)} is not of the right type", " or ".join(kinds))
    if "enum" in schema and value not in schema["enum"]:
        raise _mistake(place, f"{_shown(value)} can't be", f"one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str) and not re.fullmatch(schema.get("pattern", ".*"), value, re.ASCII):
        raise _mistake(place, f"{_shown(value)} can't be a name", "lower-case letters, digits and -; at most 32")
    if "minimum" in schema:
        _check_number(schema, value, place)
    if isinstance(value, Mapping):
        _check_object(schema, value, place)
    if isinstance(value, list | tuple):
        _check_array(schema, value, place)


def _is(kind: str, value: Any) -> bool:
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _check_number(schema: Mapping[str, Any], value: Any, place: str) -> None:
    least, most = schema["minimum"], schema["maximum"]
    if not least <= value <= most:
        raise _mistake(place, f"{value} is out of range", f"from {least} to {most}")
    if "multipleOf" in schema and value % schema["multipleOf"]:
        raise _mistake(place, f"{value} is odd", "pictures have even sides")


def _check_object(schema: Mapping[str, Any], value: Mapping[str, Any], place: str) -> None:
    known = schema["properties"]
    for name in value:
        if name not in known:
            raise _mistake(_inside(place, name), "there is no such field", f"fields: {', '.join(known)}")
    for name in schema.get("required", ()):
        if name not in value:
            raise _mistake(_inside(place, name), "is missing", "a profile can't do without it")
    for name, item in value.items():
        _check(known[name], item, _inside(place, name))


def _check_array(schema: Mapping[str, Any], value: Sequence[Any], place: str) -> None:
    if not schema["minItems"] <= len(value) <= schema["maxItems"]:
        raise _mistake(place, f"has {len(value)} entries", f"from {schema['minItems']} to {schema['maxItems']}")
    for number, item in enumerate(value):
        _check(schema["items"], item, f"{place}[{number}]")


def _inside(place: str, name: Any) -> str:
    return f"{place}.{name}".lstrip(".")[:200]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004


def _mistake(place: str, message: str, hint: str) -> InvalidRequest:
    return InvalidRequest(place or "profile", message, hint=hint)


def _shipped() -> Any:
    return resources.files("reelstate.media") / "profiles"


def _is_file(profile: str) -> bool:
    return profile.endswith((".json", ".yaml", ".yml"))


def _read(path: Path) -> Any:
    """The document in a file; YAML is read without its tags, so that it makes plain values alone."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InvalidRequest("profile", f"{path} is too large", hint=f"at most {LARGEST_FILE:,} bytes")
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix == ".json" else _of_yaml(text)
    except OSError as error:
        raise InvalidRequest("profile", f"{path} can't be read: {error.strerror}", hint="check the path") from None
    except (ValueError, RecursionError) as error:
        shown = " ".join(str(error).split())[:300]
        raise InvalidRequest("profile", f"{path} can't be parsed: {shown}", hint="mend the file") from None


def _of_yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415 - slow to load, and most profiles are JSON

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
