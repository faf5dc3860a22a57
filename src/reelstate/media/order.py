"""What a transcode job was submitted with, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reelstate.core.errors import InvalidRequest
from reelstate.media.address import parse_address
from reelstate.media.plan import chosen
from reelstate.media.profile import DEFAULT, Profile, given

Json = Any


@dataclass(frozen=True, slots=True)
class Order:
    """What a job was submitted with."""

    source: str
    profile: Profile
    qualities: tuple[str, ...] | None
    captions: bool
    reuse_from: int | None

    @classmethod
    def of(cls, spec: Json) -> Order:
        """The order in a spec; `InvalidRequest` names the field that can't be."""
        if not isinstance(spec, Mapping) or not isinstance(spec.get("source"), str):
            raise InvalidRequest("spec.source", "is missing", hint='a path or an address: {"source": "/films/a.mp4"}')
        parse_address(spec["source"])
        profile, qualities = given(spec.get("profile") or DEFAULT), spec.get("qualities")
        if qualities is not None and not isinstance(qualities, list):
            raise InvalidRequest("spec.qualities", "is not a list", hint='for example ["720p", "360p"]')
        chosen(profile, qualities)
        return cls(
            source=spec["source"],
            profile=profile,
            qualities=None if qualities is None else tuple(qualities),
            captions=spec.get("captions") != "drop",
            reuse_from=spec.get("reuse_from"),
        )
