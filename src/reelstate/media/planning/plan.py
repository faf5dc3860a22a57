"""The plan of a transcode: a pure function of the facts of a source and a profile, in exact rationals.

`make_plan` decides what a viewer gets; `settle_plan` adds what only the fetched file tells: the number of its frames,
the time of the first one, and whether it can be cut. Equal plans have equal ids, on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from reelstate.media.planning.acceptance import SourceRefused, check_source
from reelstate.media.planning.grid import Grid
from reelstate.media.planning.ladder import PlannedRung, plan_ladder, select_rungs
from reelstate.media.planning.omissions import omitted_content, omitted_extras
from reelstate.media.planning.picture import Picture, plan_picture
from reelstate.media.planning.profile import Profile
from reelstate.media.planning.timing import plan_grid
from reelstate.media.planning.tracks import (
    PlannedAudio,
    PlannedCaptions,
    Poster,
    Sprites,
    plan_audio,
    plan_captions,
    plan_poster,
    plan_sprites,
)
from reelstate.media.records import Between, document_of, record_of
from reelstate.media.sources.facts import SourceFacts, VideoFacts

VERSION: Final = 3
"""Raised when the same plan would be encoded to other bytes; since 3 chunks are CMAF."""
ENCODER: Final = "encoder:"
"""Prefix of the capability of an encoder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the encoding of a source depends on."""

    profile: Profile
    workers: Annotated[int, Between(1, 1_000_000)]
    picture: Picture
    grid: Grid
    rungs: tuple[PlannedRung, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """Names of rungs that are not encoded, with the reason."""
    audio: tuple[PlannedAudio, ...] = ()
    captions: tuple[PlannedCaptions, ...] = ()
    poster: Poster | None = None
    sprites: Sprites | None = None
    warnings: tuple[str, ...] = ()
    """Messages for the log."""
    degraded: tuple[str, ...] = ()
    """What a viewer misses: streams of the source that are left out, with the reason."""
    settled: bool = False
    version: Annotated[int, Between(0, 1_000_000)] = VERSION

    @property
    def id(self) -> str:
        """A digest, equal for equal plans."""
        return hashlib.sha256(json.dumps(document_of(self), sort_keys=True).encode()).hexdigest()

    @property
    def encoders(self) -> frozenset[str]:
        """The encoders that a worker needs for a chunk: those of the required rungs."""
        return frozenset(rung.encoder for rung in self.rungs if rung.required) or self._optional_encoders

    @property
    def wanted_encoders(self) -> frozenset[str]:
        """Further encoders for optional rungs, which a worker without them leaves out."""
        return self._optional_encoders - self.encoders

    @property
    def _optional_encoders(self) -> frozenset[str]:
        return frozenset(rung.encoder for rung in self.rungs if not rung.required)

    def capabilities(self) -> dict[str, list[str]]:
        """Return the capabilities that a worker needs to encode a chunk, and those it should have."""
        return {
            "needs": sorted(f"{ENCODER}{name}" for name in self.encoders),
            "wants": sorted(f"{ENCODER}{name}" for name in self.wanted_encoders),
        }

    def rung(self, name: str) -> PlannedRung:
        return next(rung for rung in self.rungs if rung.name == name)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **document_of(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        return record_of(cls, document)


def make_plan(
    facts: SourceFacts, profile: Profile, *, qualities: Sequence[str] | None = None, workers_hint: int = 2
) -> Plan:
    """Plan the transcode of a source.

    Raises `SourceRefused` for a source that can't be transcoded, `InvalidRequest` for unknown `qualities`.
    """
    video = check_source(facts)
    if video.hdr and profile.hdr == "refuse":
        raise SourceRefused(
            "source.video.transfer",
            f"{video.transfer} is high dynamic range, which the profile {profile.name!r} refuses",
            hint='choose a profile with "hdr": "tonemap"',
        )
    requested = select_rungs(profile, qualities)
    rungs, skipped = plan_ladder(video, requested, profile.rungs)
    if not rungs:
        raise SourceRefused(
            "source.size",
            f"is {video.width}×{video.height}, {skipped[-1][1]}",
            hint="choose a profile with an h264 rung",
        )
    workers = max(1, workers_hint)
    plan = Plan(
        profile=profile,
        workers=workers,
        picture=plan_picture(video),
        grid=plan_grid(facts, video, profile, workers),
        rungs=rungs,
        skipped=(*skipped, *((rung.name, "not requested") for rung in profile.rungs if rung not in requested)),
        warnings=(*facts.warnings, *omitted_extras(facts)),
        degraded=tuple(omitted_content(facts, profile)),
    )
    return _with_tracks(plan, facts, video)


def settle_plan(plan: Plan, facts: SourceFacts) -> Plan:
    """Return the plan for the file that is cut: the source or its remux, with its frames counted.

    What a viewer gets stays as planned; the rate, the frame count, the time of the first frame, the stream indexes and
    the chunks come from these facts. A file without an index is one chunk.
    """
    video = check_source(facts)
    grid = plan_grid(facts, video, plan.profile, plan.workers)
    moved = replace(plan, grid=grid, picture=replace(plan.picture, index=video.index), settled=True)
    settled = _with_tracks(moved, facts, video)
    return replace(
        settled,
        audio=_keep_labels(plan.audio, settled.audio),
        captions=_keep_labels(plan.captions, settled.captions),
        degraded=(*plan.degraded, *_hidden_frames(settled, video), *_cut_audio(settled, facts, video)),
    )


def _with_tracks(plan: Plan, facts: SourceFacts, video: VideoFacts) -> Plan:
    profile, duration = plan.profile, plan.grid.duration
    return replace(
        plan,
        audio=tuple(plan_audio(facts.audio, profile.audio, duration)) if profile.audio else (),
        captions=tuple(plan_captions(facts.subtitles)) if profile.captions else (),
        poster=plan_poster(video, duration) if profile.thumbnails else None,
        sprites=plan_sprites(video, duration) if profile.sprites else None,
    )


def _keep_labels(planned: tuple[Any, ...], settled: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the tracks of the settled file the labels of the source, which a remux may lose."""
    if len(settled) != len(planned):
        return settled
    return tuple(
        replace(track, **{name: getattr(original, name) for name in ("language", "title", "default", "commentary")})
        for track, original in zip(settled, planned, strict=True)
    )


def _hidden_frames(plan: Plan, video: VideoFacts) -> Iterator[str]:
    """Report frames of a variable rate that are too close together for the grid."""
    hidden = dict(video.rates).get(plan.grid.rate, 0) if video.variable_rate else 0
    if hidden:
        count = f"{hidden:,} of {video.frames:,}" if video.frames else f"{hidden:,}"
        rate = f"{float(plan.grid.rate):.6g} frames/s"
        yield f"{count} frames are not shown: they come faster than {rate}, which the profile allows"


def _cut_audio(plan: Plan, facts: SourceFacts, video: VideoFacts) -> Iterator[str]:
    """Report audio without a picture, of one second or more."""
    published = {track.index for track in plan.audio}
    for track in facts.audio:
        if track.index not in published:
            continue
        early, late = video.start - track.start, track.start + track.duration - video.start - plan.grid.duration
        if early >= 1:
            yield f"audio stream {track.index} begins {float(early):.1f} s before the picture and is cut there"
        if late >= 1:
            yield f"audio stream {track.index} ends {float(late):.1f} s after the picture and is cut there"
