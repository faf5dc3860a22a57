"""What each stage of `transcode` comes to, as a record: what crosses from one stage, and one machine, to the next.

`RESULTS` names the record of every stage. The server reads a result of a remote worker by it before the result counts,
and the stages that follow read what they are given by the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from reelstate.media.ffmpeg.damage import Damage
from reelstate.media.formats.fragmented_mp4 import Fragmented
from reelstate.media.planning.grid import MAX_SEGMENTS, Chunk, Frames
from reelstate.media.planning.plan import Plan, PlannedAudio, PlannedCaptions
from reelstate.media.records import Between, Count, Index, Matching, OneOf, RungName, Sha256, record_of
from reelstate.media.sources.facts import Label, SourceFacts

Key = Annotated[str, Matching(r"[A-Za-z0-9_][A-Za-z0-9._=/-]{0,899}")]
Capabilities = Annotated[tuple[Annotated[str, Matching(r"encoder:[a-z0-9_]{1,40}")], ...], Between(0, 10)]
MAX_REASON: Final = 1000
Reason = Annotated[str, Between(0, MAX_REASON)]
"""Why something was not made, in the words of a tool, shortened."""
Segments = Annotated[tuple[tuple[Count, Count, Count, Count], ...], Between(1, MAX_SEGMENTS)]
"""Of each its offset, its size, its duration in ticks and its size up to the end of the key frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    profile: RungName
    size: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    source: Sha256
    original: Sha256
    size: Count
    facts: SourceFacts
    """Of the file that is cut, its frames counted: the plan follows from them."""
    plan: Plan
    needs: Capabilities
    """What a worker must have to encode a chunk of it."""
    wants: Capabilities
    """What it should have; it is given up where no worker has it."""
    chunks: Annotated[tuple[Chunk, ...], Between(1, MAX_SEGMENTS)]
    audio: tuple[PlannedAudio, ...]
    captions: tuple[PlannedCaptions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    key: Key
    size: Count
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTrack(MadeFile):
    init_hash: Sha256
    timescale: Annotated[int, Between(1, 2**32 - 1)]
    frames: Frames
    segments: Segments
    init: MadeFile | None = None
    """The header of the track; the first chunk has it."""


def track_fields(parsed: Fragmented) -> dict[str, Any]:
    """The fields of a `MadeTrack` that follow from the boxes of its file."""
    return {
        "init_hash": parsed.init_hash,
        "timescale": parsed.track.timescale,
        "frames": parsed.samples,
        "segments": [[each.offset, each.size, each.duration, each.key_size] for each in parsed.segments],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    measure: Annotated[str, OneOf("ssim", "vmaf")]
    mean: Annotated[float, Between(0, 100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRung(MadeTrack):
    score: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    chunk: Annotated[int, Between(0, MAX_SEGMENTS)]
    rungs: Mapping[RungName, MadeRung]
    failed: Mapping[RungName, Reason]
    encoder: Annotated[str, Between(0, 1000)]
    damage: Damage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAudio(MadeTrack):
    frames: Count
    number: Index
    language: Label
    title: Label
    default: bool
    samples: Count
    damage: Damage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSprites:
    """Sheets of small pictures, in the shape that was planned."""

    sheets: tuple[MadeFile, ...]
    every: Count
    width: Count
    height: Count
    columns: Count
    rows: Count
    count: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    poster: MadeFile | None
    sprites: MadeSprites | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCaptions(MadeFile):
    number: Index
    language: Label
    title: Label
    default: bool
    forced: bool
    cues: Count
    left_out: Count = 0
    """Cues of the source that are not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    files: Count
    bytes: Count


RESULTS: Final[Mapping[str, type[Any]]] = {
    "validate": Validated,
    "probe": SourceFacts,
    "plan": Plan,
    "fetch": Fetched,
    "audio": MadeAudio,
    "encode": Encoded,
    "thumbnails": Pictures,
    "captions": MadeCaptions,
    "verify": Verified,
}
"""`package` and `publish` have none: the server makes them itself, and compares."""
COMPUTED: Final = frozenset({"plan", "fetch"})
"""Results that are compared with what the server computes; the others have no field that their record does not have."""


def read_result(stage: str, result: Any) -> Any:
    """The record of what a stage came to; `MalformedRecord` names the field that can't be."""
    return record_of(RESULTS[stage], result, place=stage, exact=stage not in COMPUTED)
