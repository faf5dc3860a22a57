"""What a transcode job was submitted with, checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.plan import chosen
from reelstate.media.planning.profile import DEFAULT, SCHEMA, Profile, given, names
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
        "source": {"type": "string", "minLength": 1, "description": "a path or an address"},
        "profile": {
            "anyOf": [
                {"enum": list(names())},
                {name: value for name, value in SCHEMA.items() if name != "$schema"},
                {"type": "null"},
            ],
            "description": "the name of a profile, or the profile itself",
        },
        "qualities": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "minItems": 1,
            "description": "the rungs of the profile to make; all when left out",
        },
        "captions": {"enum": [*CAPTIONS, None], "description": "whether text subtitles are kept"},
        "reuse_from": {"type": ["integer", "null"], "description": "the job whose other rungs are taken over"},
        "video_id": {"type": ["integer", "null"], "description": "set by the library"},
    },
}
"""The JSON Schema of the specs of `transcode`; `Order.check` is for what it can't say."""
KNOWN: Final = tuple(SPEC["properties"])


@dataclass(frozen=True, slots=True)
class TranscodeRequest:
    """What a job was submitted with."""

    source: str
    profile: Profile
    qualities: tuple[str, ...] | None
    captions: bool
    reuse_from: int | None

    @classmethod
    def of(cls, spec: Json) -> TranscodeRequest:
        """The order in a spec; `InvalidRequest` names the field that can't be."""
        if isinstance(spec, Mapping):
            _require_known(spec)
        if not isinstance(spec, Mapping) or not isinstance(spec.get("source"), str):
            raise InvalidRequest("spec.source", "is missing", hint='a path or an address: {"source": "/films/a.mp4"}')
        parse_address(spec["source"])
        profile, qualities = given(spec.get("profile") or DEFAULT), spec.get("qualities")
        if qualities is not None and not isinstance(qualities, list):
            raise InvalidRequest("spec.qualities", "is not a list", hint='for example ["720p", "360p"]')
        chosen(profile, qualities)
        if spec.get("captions") not in (None, *CAPTIONS):
            raise InvalidRequest("spec.captions", "is neither keep nor drop", hint="leave it out to keep them")
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
        """Refuse a spec of which no worker could make anything, before it becomes a job."""
        try:
            cls.of(spec)
        except UnusableSource as error:
            raise InvalidRequest("spec.source", error.message, hint=error.hint) from error


def _require_known(spec: Mapping[str, Json]) -> None:
    """A slip of the pen is no wish that nobody heard of."""
    for name in spec:
        if name not in KNOWN:
            near = difflib.get_close_matches(str(name), KNOWN, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(KNOWN)}"
            raise InvalidRequest(f"spec.{str(name)[:60]}", "there is no such field", hint=hint)


def uploaded_source(spec: Json) -> str | None:
    """Return the sha256 of the source of a spec if it was uploaded, else None."""
    source = spec.get("source") if isinstance(spec, Mapping) else None
    return source.removeprefix(STORED) if isinstance(source, str) and source.startswith(STORED) else None


def earlier_version(spec: Json) -> int | None:
    """Return the job whose rungs a spec reuses, if any."""
    found = spec.get("reuse_from") if isinstance(spec, Mapping) else None
    return found if isinstance(found, int) else None
