"""The spec of a transcode job, checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.ladder import select_rungs
from reelstate.media.planning.profile import DEFAULT, SCHEMA, Profile, profile_from_spec, profile_names
from reelstate.media.sources.address import STORED, parse_address
from reelstate.media.sources.errors import UnusableSource

Json = Any
CAPTIONS: Final = ("keep", "drop")
SPEC: Final[dict[str, Json]] = {
    "title": "transcode",
    "type": "object",
    "additionalProperties": False,
    "required": ["source"],
    "properties": {
        "source": {"type": "string", "minLength": 1, "description": "an absolute path or a URL"},
        "profile": {
            "anyOf": [
                {"enum": list(profile_names())},
                {name: value for name, value in SCHEMA.items() if name != "$schema"},
                {"type": "null"},
            ],
            "description": "the name of a profile, or a profile",
        },
        "qualities": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "minItems": 1,
            "description": "the rungs of the profile to encode; all by default",
        },
        "captions": {"enum": [*CAPTIONS, None], "description": "whether text subtitles are kept"},
        "reuse_from": {"type": ["integer", "null"], "description": "the id of the job whose other rungs are reused"},
        "video_id": {"type": ["integer", "null"], "description": "set by the library"},
    },
}
"""The JSON Schema of the specs of `transcode`; `TranscodeRequest.check` checks what it can't express."""
FIELDS: Final = tuple(SPEC["properties"])


@dataclass(frozen=True, slots=True)
class TranscodeRequest:
    """The spec of a transcode job."""

    source: str
    profile: Profile
    qualities: tuple[str, ...] | None
    captions: bool
    reuse_from: int | None

    @classmethod
    def from_spec(cls, spec: Json) -> TranscodeRequest:
        """Parse a spec; raises `InvalidRequest` with the wrong field, or `UnusableSource` for an invalid source."""
        if isinstance(spec, Mapping):
            _check_fields(spec)
        if not isinstance(spec, Mapping) or not isinstance(spec.get("source"), str):
            raise InvalidRequest("spec.source", "is missing", hint='for example {"source": "/videos/a.mp4"}')
        parse_address(spec["source"])
        profile, qualities = profile_from_spec(spec.get("profile") or DEFAULT), spec.get("qualities")
        if qualities is not None and not isinstance(qualities, list):
            raise InvalidRequest("spec.qualities", "is not a list", hint='for example ["720p", "360p"]')
        select_rungs(profile, qualities)
        if spec.get("captions") not in (None, *CAPTIONS):
            raise InvalidRequest("spec.captions", f"invalid value {spec['captions']!r}", hint="expected keep or drop")
        if not isinstance(spec.get("reuse_from"), int | None):
            raise InvalidRequest("spec.reuse_from", "is not the id of a job", hint="`reel videos show` lists versions")
        return cls(
            source=spec["source"],
            profile=profile,
            qualities=None if qualities is None else tuple(qualities),
            captions=spec.get("captions") != "drop",
            reuse_from=spec.get("reuse_from"),
        )

    @classmethod
    def check(cls, spec: Json) -> None:
        """Raise `InvalidRequest` for a spec that no worker could run."""
        try:
            cls.from_spec(spec)
        except UnusableSource as error:
            raise InvalidRequest("spec.source", error.message, hint=error.hint) from error


def _check_fields(spec: Mapping[str, Json]) -> None:
    for name in spec:
        if name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"fields: {', '.join(FIELDS)}"
            raise InvalidRequest(f"spec.{str(name)[:60]}", "unknown field", hint=hint)


def uploaded_source(spec: Json) -> str | None:
    """Return the sha256 of the source of a spec if it was uploaded, else None."""
    source = spec.get("source") if isinstance(spec, Mapping) else None
    return source.removeprefix(STORED) if isinstance(source, str) and source.startswith(STORED) else None


def earlier_version(spec: Json) -> int | None:
    """Return the job whose rungs a spec reuses, if any."""
    found = spec.get("reuse_from") if isinstance(spec, Mapping) else None
    return found if isinstance(found, int) else None
