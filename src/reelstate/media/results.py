"""The results of the stages of `transcode`: one record per stage, as JSON between stages and machines.

`RESULTS` names the record of every stage. A handler returns its record; a later stage reads it with `from_json`, and
the server reads the result of a remote worker with `read_result` before it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self

from reelstate.artifacts.stored import Stored
from reelstate.media.ffmpeg.damage import Damage
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4
from reelstate.media.planning.grid import MAX_SEGMENTS, Chunk, Frames
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.tracks import PlannedAudio, PlannedCaptions
from reelstate.media.records import (
    Between,
    Count,
    Index,
    JsonRecord,
    Matching,
    OneOf,
    RungName,
    Sha256,
    record_of,
)
from reelstate.media.sources.facts import Label, SourceFacts

Key = Annotated[str, Matching(r"[A-Za-z0-9_][A-Za-z0-9._=/-]{0,899}")]
Capabilities = Annotated[tuple[Annotated[str, Matching(r"encoder:[a-z0-9_]{1,40}")], ...], Between(0, 10)]
MAX_REASON: Final = 1000
Reason = Annotated[str, Between(0, MAX_REASON)]
"""Why something was not made: the shortened message of a tool."""
Segment = tuple[Count, Count, Count, Count]
"""Offset, size, duration in ticks, and size up to the end of the key frame."""
Segments = Annotated[tuple[Segment, ...], Between(1, MAX_SEGMENTS)]
Measure = Annotated[str, OneOf("ssim", "vmaf")]
Mean = Annotated[float, Between(0, 100)]
Seconds = Annotated[float, Between(0, 1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated(JsonRecord):
    """The result of `validate`."""

    profile: RungName
    size: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(JsonRecord):
    """The result of `fetch`: the stored source and the settled plan. Later stages fan out over its lists."""

    source: Sha256
    """The file that is cut: the original, or a copy with an index."""
    original: Sha256
    size: Count
    facts: SourceFacts
    """Facts of the file that is cut, with its frames counted; the plan follows from them."""
    plan: Plan
    needs: Capabilities
    """What a worker must have to encode a chunk."""
    wants: Capabilities
    """What it should have; dropped if no worker has it."""
    chunks: Annotated[tuple[Chunk, ...], Between(1, MAX_SEGMENTS)]
    audio: tuple[PlannedAudio, ...]
    captions: tuple[PlannedCaptions, ...]

    @classmethod
    def of(cls, source: Stored, original: str, facts: SourceFacts, plan: Plan, *, captions: bool) -> Self:
        """Derive the result from the stored file, its counted facts and the settled plan."""
        capabilities = plan.capabilities()
        return cls(
            source=source.sha256,
            original=original,
            size=source.size,
            facts=facts,
            plan=plan,
            needs=tuple(capabilities["needs"]),
            wants=tuple(capabilities["wants"]),
            chunks=plan.grid.chunks(),
            audio=plan.audio,
            captions=plan.captions if captions else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile(JsonRecord):
    """A stored file."""

    key: Key
    size: Count
    sha256: Sha256

    @classmethod
    def of(cls, stored: Stored, **fields: Any) -> Self:
        """Create the record of a stored file; `fields` are those of a subclass."""
        return cls(key=stored.key, size=stored.size, sha256=stored.sha256, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTrack(MadeFile):
    """A stored file of one video or audio track."""

    init_hash: Sha256
    timescale: Annotated[int, Between(1, 2**32 - 1)]
    frames: Frames
    segments: Segments
    init: MadeFile | None = None
    """The header of the track; of a video, only chunk 0 has it."""


def track_fields(parsed: FragmentedMp4) -> dict[str, Any]:
    """Return the fields of a `MadeTrack` that follow from the boxes of its file."""
    return {
        "init_hash": parsed.init_hash,
        "timescale": parsed.track.timescale,
        "frames": parsed.samples,
        "segments": tuple((each.offset, each.size, each.duration, each.key_size) for each in parsed.segments),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(JsonRecord):
    """How close a rung of a chunk is to the source."""

    measure: Measure
    mean: Mean


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRung(MadeTrack):
    """One rung of a chunk."""

    score: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded(JsonRecord):
    """The result of `encode`: one chunk in all rungs that could be made."""

    chunk: Annotated[int, Between(0, MAX_SEGMENTS)]
    rungs: Mapping[RungName, MadeRung]
    failed: Mapping[RungName, Reason]
    encoder: Annotated[str, Between(0, 1000)]
    damage: Damage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAudio(MadeTrack):
    """The result of `audio`: one audio track."""

    frames: Count
    number: Index
    language: Label
    title: Label
    default: bool
    samples: Count
    damage: Damage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSprites(JsonRecord):
    """Sheets of preview pictures, in the planned layout."""

    sheets: tuple[MadeFile, ...]
    every: Count
    width: Count
    height: Count
    columns: Count
    rows: Count
    count: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures(JsonRecord):
    """The result of `thumbnails`."""

    poster: MadeFile | None
    sprites: MadeSprites | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCaptions(MadeFile):
    """The result of `captions`: one WebVTT track."""

    number: Index
    language: Label
    title: Label
    default: bool
    forced: bool
    cues: Count
    left_out: Count = 0
    """Cues of the source that are not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged(JsonRecord):
    """The result of `package`."""

    manifest: MadeFile
    master: Key
    dash: Key
    rungs: tuple[RungName, ...]
    frames: Frames
    duration: Seconds
    scores: Mapping[RungName, Mapping[Measure, Mean]] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    """What a viewer misses, one sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified(JsonRecord):
    """The result of `verify`: what was read."""

    files: Count
    bytes: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(JsonRecord):
    """The result of `publish`, and so the output of the job."""

    master: Key
    dash: Key
    manifest: Key
    poster: Key | None
    rungs: tuple[RungName, ...]
    duration: Seconds
    scores: Mapping[RungName, Mapping[Measure, Mean]]
    degraded: tuple[str, ...]


RESULTS: Final[Mapping[str, type[Any]]] = {
    "validate": Validated,
    "probe": SourceFacts,
    "plan": Plan,
    "fetch": Fetched,
    "audio": MadeAudio,
    "encode": Encoded,
    "thumbnails": Pictures,
    "captions": MadeCaptions,
    "package": Packaged,
    "verify": Verified,
    "publish": Published,
}
COMPUTED: Final = frozenset({"plan", "fetch"})
"""Results that the server compares with its own; in the others an unknown field is refused."""


def read_result(stage: str, document: Any) -> Any:
    """Return the record of a stage in a document; raise `MalformedRecord`, which names the wrong field."""
    return record_of(RESULTS[stage], document, path=stage, exact=stage not in COMPUTED)
