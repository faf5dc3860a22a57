"""Compares the result of a stage with the plan: names, counts, lengths and offsets. Pure.

Players, and the server itself, compute with these numbers, so each is compared before the result counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Final, NoReturn

from reelstate.core.errors import InvalidRequest
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats import webvtt
from reelstate.media.planning.grid import Chunk
from reelstate.media.planning.ladder import PlannedRung
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.tracks import PlannedAudio, PlannedCaptions
from reelstate.media.results import Encoded, MadeAudio, MadeCaptions, MadeFile, MadeSprites, MadeTrack, Pictures

MAX_HEADER: Final = 64 * 1024
"""Bytes of the header of a track: an encoder writes about a thousand."""
DURATION_TOLERANCE: Final = Fraction(2)
"""Seconds by which an audio track may be longer or shorter than the picture: more than an encoder adds."""
SHORTEST_SEGMENT: Final = Fraction(1, 4)
"""The shortest audio segment but the last, relative to a segment of the grid. Playlists take time for each."""

HINT: Final = "the worker runs another release, or sent a wrong result"

Made = Encoded | MadeAudio | MadeCaptions | Pictures
Wanted = PlannedRung | PlannedAudio


class NotAsPlanned(InvalidRequest):
    """The result of a stage differs from the plan; `field` is the path to the difference."""


def require_planned(plan: Plan, part: int, prefix: str, made: Made) -> list[MadeFile]:
    """Return the files of a result; raise `NotAsPlanned` unless it matches the plan and all keys have the prefix."""
    match made:
        case Encoded():
            return list(_chunk_files(plan, part, prefix, made))
        case MadeAudio():
            return list(_audio_files(plan, part, prefix, made))
        case MadeCaptions():
            return list(_captions_files(plan, part, prefix, made))
        case Pictures():
            return list(_picture_files(plan, prefix, made))


def tracks_of(plan: Plan, made: Made) -> Iterator[tuple[MadeTrack, Wanted]]:
    """Yield the tracks of a result, each with its plan."""
    if isinstance(made, Encoded):
        yield from ((rung, plan.rung(name)) for name, rung in made.rungs.items())
    if isinstance(made, MadeAudio):
        yield made, _audio_track(plan, made.number)


def require_header(header: bytes, made: MadeTrack, wanted: Wanted) -> None:
    """Refuse a header that is not of this track: playlists are computed from it."""
    parsed = boxes.parse_mp4(header)
    track = parsed.track
    _require("init", parsed.init_hash == made.init_hash, "is the header of another file")
    _require("init", track.timescale == made.timescale, f"has the timescale {track.timescale}, not {made.timescale}")
    if isinstance(wanted, PlannedRung):
        size = (track.kind, track.width, track.height)
        _require("init", size == ("video", wanted.width, wanted.height), f"is of {size}, not as planned")
    else:
        _require("init", track.kind == "audio", f"is of {track.kind}, not audio")


def _chunk_files(plan: Plan, part: int, prefix: str, made: Encoded) -> Iterator[MadeFile]:
    _require("chunk", made.chunk == part, f"is {made.chunk}, not {part}")
    known = {rung.name for rung in plan.rungs}
    required = {rung.name for rung in plan.rungs if rung.required}
    _require("rungs", made.rungs.keys() | made.failed.keys() <= known, "has a rung that was not planned")
    _require("rungs", required <= made.rungs.keys(), "lacks a rung that is required")
    chunk = plan.grid.chunk(part)
    for name, rung in made.rungs.items():
        path = f"rungs.{name}"
        _require_key(path, rung, f"{prefix}/{name}.mp4")
        _require(path, rung.frames == chunk.frames, f"has {rung.frames} frames, not {chunk.frames}")
        _require_spans(path, rung)
        _require_grid(path, rung, plan, chunk)
        yield rung
        yield from _header(path, rung, f"{prefix}/{name}-init.mp4", required=part == 0)


def _require_grid(path: str, rung: MadeTrack, plan: Plan, chunk: Chunk) -> None:
    durations = [Fraction(duration, rung.timescale) for _, _, duration, _ in rung.segments]
    _require(path, durations == [frames / plan.grid.rate for frames in chunk.segments], "is not cut on the grid")


def _audio_files(plan: Plan, part: int, prefix: str, made: MadeAudio) -> Iterator[MadeFile]:
    track = _audio_track(plan, part)
    for name in ("number", "language", "title", "default", "samples"):
        _require(name, getattr(made, name) == getattr(track, name), "is not as planned")
    _require_key("audio", made, f"{prefix}/audio.mp4")
    _require_spans("audio", made)
    durations = [Fraction(duration, made.timescale) for _, _, duration, _ in made.segments]
    shortest = plan.grid.time(plan.grid.segment_frames) * SHORTEST_SEGMENT
    _require("audio", min(durations[:-1], default=shortest) >= shortest, "has a segment that is too short")
    _require("audio", abs(sum(durations) - plan.grid.duration) <= DURATION_TOLERANCE, "is not as long as the picture")
    yield made
    yield from _header("audio", made, f"{prefix}/audio-init.mp4", required=True)


def _captions_files(plan: Plan, part: int, prefix: str, made: MadeCaptions) -> Iterator[MadeFile]:
    track = _captions_track(plan, part)
    for name in ("number", "language", "title", "default", "forced"):
        _require(name, getattr(made, name) == getattr(track, name), "is not as planned")
    _require_key("captions", made, f"{prefix}/captions.vtt")
    _require("captions", made.size <= webvtt.MAX_BYTES, f"has {made.size:,} bytes")
    yield made


def _picture_files(plan: Plan, prefix: str, made: Pictures) -> Iterator[MadeFile]:
    _require("poster", (made.poster is None) == (plan.poster is None), "is not as planned")
    _require("sprites", (made.sprites is None) == (plan.sprites is None), "are not as planned")
    if made.poster is not None:
        _require_key("poster", made.poster, f"{prefix}/poster.jpg")
        yield made.poster
    if made.sprites is not None:
        yield from _sheets(plan, prefix, made.sprites)


def _sheets(plan: Plan, prefix: str, made: MadeSprites) -> Iterator[MadeFile]:
    for name in ("every", "width", "height", "columns", "rows", "count"):
        _require(f"sprites.{name}", getattr(made, name) == getattr(plan.sprites, name), "is not as planned")
    count = plan.sprites.sheets if plan.sprites else 0
    _require("sprites.sheets", len(made.sheets) == count, f"are {len(made.sheets)}, not {count}")
    for number, sheet in enumerate(made.sheets, start=1):
        _require_key("sprites.sheets", sheet, f"{prefix}/sprites-{number}.jpg")
        yield sheet


def _header(path: str, track: MadeTrack, key: str, *, required: bool) -> Iterator[MadeFile]:
    _require(f"{path}.init", (track.init is not None) == required, "only audio tracks and chunk 0 have a header")
    if track.init is not None:
        _require_key(f"{path}.init", track.init, key)
        _require(f"{path}.init", track.init.size <= MAX_HEADER, f"has {track.init.size:,} bytes, too many for a header")
        yield track.init


def _require_spans(path: str, track: MadeTrack) -> None:
    """Require segments that follow each other within their file, and each contain their first frame."""
    spans = [(offset, offset + size) for offset, size, _, _ in track.segments]
    _require(path, spans[-1][1] <= track.size, "has a segment beyond its end")
    _require(path, all(here[1] <= after[0] for here, after in pairwise(spans)), "has segments that overlap")
    whole = all(0 < key_size <= size and ticks for _, size, ticks, key_size in track.segments)
    _require(path, whole, "has a segment of no length")


def _audio_track(plan: Plan, number: int) -> PlannedAudio:
    found = next((track for track in plan.audio if track.number == number), None)
    return found or _not_planned(number)


def _captions_track(plan: Plan, number: int) -> PlannedCaptions:
    found = next((track for track in plan.captions if track.number == number), None)
    return found or _not_planned(number)


def _not_planned(number: int) -> NoReturn:
    raise NotAsPlanned("number", f"there is no track {number} in the plan", hint=HINT)


def _require_key(path: str, file: MadeFile, key: str) -> None:
    _require(path, file.key == key, f"{file.key} is not the file of this run (expected {key})")


def _require(path: str, holds: bool, message: str) -> None:
    if not holds:
        raise NotAsPlanned(path, message, hint=HINT)
