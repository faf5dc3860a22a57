"""Profiles: which renditions to encode, and how, loaded by name, from a JSON or YAML file, or from a document.

Its fields are numbers and values of fixed lists, so no text of a user reaches an option or a filter of ffmpeg.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.records import (
    DEPENDS,
    Between,
    JsonRecord,
    MultipleOf,
    OneOf,
    RungName,
    schema_of,
)
from reelstate.pipelines.spec_schema import SpecSchema

DEFAULT: Final = "h264"
MAX_FILE: Final = 256 * 1024
SPEEDS: Final = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
AV1_SPEEDS: Final = tuple(str(number) for number in range(2, 14))
ENCODERS: Final = {"h264": "libx264", "hevc": "libx265", "av1": "libsvtav1"}
MAX_CRF: Final = {"h264": 51, "hevc": 51, "av1": 63}

Codec = Annotated[str, OneOf(*ENCODERS)]
Preset = Annotated[str, OneOf(*SPEEDS, *AV1_SPEEDS)]
Crf = Annotated[int, Between(1, 63)]
Bitrate = Annotated[int, Between(0, 1_000_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One rendition of a profile."""

    name: Annotated[RungName, "unique in the profile"]
    height: Annotated[
        int,
        Between(64, 4320),
        MultipleOf(2),
        "short side of the 16:9 box that the picture fits into; the top rung keeps its size",
    ]
    codec: Annotated[Codec, "the codec"] = "h264"
    crf: Annotated[Crf, "constant quality, lower is better; at most 51 for h264 and hevc"]
    max_bitrate: Annotated[int, Between(50_000, 200_000_000), "most bits per second"]
    buffer: Annotated[
        int,
        Between(50_000, 800_000_000),
        DEPENDS,
        "bits over which the rate is capped; twice `max_bitrate` by default",
    ] = 0
    preset: Annotated[
        Preset,
        DEPENDS,
        "speed of the encoder: a name for h264 and hevc (`fast`), a number for av1 (`8`)",
    ] = "fast"
    required: Annotated[
        bool, "whether the job fails if this rung can't be encoded; otherwise it completes as degraded"
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioProfile:
    """How audio tracks are encoded."""

    codec: Annotated[str, OneOf("aac"), "the codec"] = "aac"
    bitrate: Annotated[int, Between(32_000, 512_000), "bits per second"] = 128_000
    channels: Annotated[int, OneOf(1, 2), "mono or stereo"] = 2
    sample_rate: Annotated[int, OneOf(44_100, 48_000), "hertz"] = 48_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(JsonRecord):
    """Everything of a stream that a user decides."""

    name: Annotated[RungName, "the name of the profile"]
    rungs: Annotated[tuple[Rung, ...], Between(1, 16), "the renditions"]
    audio: Annotated[AudioProfile | None, "how every audio track is encoded; null for no audio"] = AudioProfile()
    segment_seconds: Annotated[float, Between(1, 20), "length of a segment, rounded to whole frames"] = 4
    gop_seconds: Annotated[
        float, Between(Fraction(1, 2), 20), "longest distance of key frames; it divides the segment"
    ] = 2
    chunk_seconds: Annotated[
        float,
        Between(1, 600),
        "longest chunk that one task encodes; longer if the key frames of the source are far apart",
    ] = 30
    max_rate: Annotated[int, Between(10, 120), "most frames per second; a faster source loses every other frame"] = 60
    hdr: Annotated[str, OneOf("tonemap", "refuse"), "how a source with high dynamic range is handled"] = "tonemap"
    max_damage: Annotated[
        float,
        Between(0, 1),
        "share of the video, or of an audio track, that may be damaged or missing in the source: "
        "above it the job fails, below it completes as degraded; 0 fails at any damage, 1 at none",
    ] = 0.05
    measure: Annotated[
        str,
        OneOf("none", "ssim", "vmaf"),
        "compare every rung with the source; vmaf falls back to ssim if ffmpeg lacks it",
    ] = "none"
    thumbnails: Annotated[bool, "create a poster"] = True
    sprites: Annotated[bool, "create sheets of thumbnails for seeking"] = True
    captions: Annotated[bool, "convert text subtitles to WebVTT"] = True


SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Reelstate profile",
    **schema_of(Profile),
}
"""The JSON Schema of profiles."""
_SCHEMA: Final = SpecSchema(SCHEMA, place="")


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
    if not isinstance(document, Mapping):
        raise InvalidRequest(
            "profile", f"{_shorten(document)} is not an object", hint="expected name, rungs and other fields"
        )
    _SCHEMA.check(document)
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


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004


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
