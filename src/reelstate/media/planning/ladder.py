"""The ladder of a plan: which rungs of a profile a source gets, and in which size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.profile import ENCODERS, Bitrate, Codec, Crf, Preset, Profile, Rung
from reelstate.media.records import Between, RungName
from reelstate.media.sources.facts import VideoFacts

MIN_SIDE: Final = {"h264": 16, "hevc": 32, "av1": 64}
EVEN: Final = 2
BOX_ASPECT: Final = Fraction(16, 9)
"""The aspect of the box that the height of a rung stands for: a wider picture fills its width."""
SAME_SIZE: Final = Fraction(21, 20)
"""A source at most this much larger than a box keeps its size: two sizes so close would look alike."""

Side = Annotated[int, Between(EVEN, 16_384)]
"""Pixels of an encoded picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRung:
    name: RungName
    codec: Codec
    width: Side
    height: Side
    crf: Crf
    max_bitrate: Bitrate
    buffer: Bitrate
    preset: Preset
    required: bool

    @property
    def encoder(self) -> str:
        return ENCODERS[self.codec]


def select_rungs(profile: Profile, qualities: Sequence[str] | None) -> tuple[Rung, ...]:
    """Return the requested rungs of a profile, all if None; raises `InvalidRequest` for a name that it lacks."""
    if qualities is None:
        return profile.rungs
    known = [rung.name for rung in profile.rungs]
    for number, name in enumerate(qualities):
        if name not in known:
            raise InvalidRequest(
                f"qualities[{number}]", f"the profile has no rung {name!r}", hint=f"rungs: {', '.join(known)}"
            )
    if not qualities:
        raise InvalidRequest("qualities", "is empty", hint=f"leave it out for all, or name some of {', '.join(known)}")
    return tuple(rung for rung in profile.rungs if rung.name in qualities)


def plan_ladder(
    video: VideoFacts, rungs: Sequence[Rung], all_rungs: Sequence[Rung]
) -> tuple[tuple[PlannedRung, ...], tuple[tuple[str, str], ...]]:
    """Return the rungs that a source gets, and the names of the others, each with the reason.

    The top rung depends on `all_rungs` of the profile, so a rung has the same size whichever others are requested.
    """
    top = _top_height(video, [rung.height for rung in all_rungs])
    fitting = [rung for rung in rungs if rung.height <= top]
    wide, high = video.display_size
    skipped = tuple(
        (rung.name, f"larger than the source ({wide}×{high}): a rung is never scaled up")
        for rung in rungs
        if rung not in fitting
    )
    planned = [_plan_rung(rung, _fit(video, rung.height)) for rung in fitting]
    if not fitting:
        size = _own_size(video)
        planned = [_plan_rung(_small_rung(rungs, min(size)), size)]
    encodable = tuple(rung for rung in planned if min(rung.width, rung.height) >= MIN_SIDE[rung.codec])
    too_small = tuple((rung.name, f"too small for {rung.codec}") for rung in planned if rung not in encodable)
    return encodable, skipped + too_small


def _top_height(video: VideoFacts, heights: Sequence[int]) -> int:
    """Return the height of the smallest box that holds the source; 0 if the source is smaller than all boxes."""
    short, long = sorted(video.display_size)
    if short < min(heights) and long < _box_width(min(heights)):
        return 0
    return min((height for height in heights if _holds(height, video)), default=max(heights))


def _holds(height: int, video: VideoFacts) -> bool:
    """Return whether the source fits the box of a rung, within `SAME_SIZE`."""
    short, long = sorted(video.display_size)
    return short <= height * SAME_SIZE and long <= _box_width(height) * SAME_SIZE


def _box_width(height: int) -> int:
    return EVEN * round(height * BOX_ASPECT / EVEN)


def _small_rung(rungs: Sequence[Rung], height: int) -> Rung:
    """Return the one rung of a source that is smaller than all rungs, with the settings of the lowest."""
    lowest = min(rungs, key=lambda rung: (rung.codec != "h264", rung.height))
    return replace(lowest, name=f"{height}p", height=height, required=True)


def _plan_rung(rung: Rung, size: tuple[int, int]) -> PlannedRung:
    width, height = size
    return PlannedRung(
        name=rung.name,
        codec=rung.codec,
        width=width,
        height=height,
        crf=rung.crf,
        max_bitrate=rung.max_bitrate,
        buffer=rung.buffer or 2 * rung.max_bitrate,
        preset=rung.preset,
        required=rung.required,
    )


def _own_size(video: VideoFacts) -> tuple[int, int]:
    wide, high = video.display_size
    return round_to_even(wide), round_to_even(high)


def _fit(video: VideoFacts, height: int) -> tuple[int, int]:
    """Return the largest even size in the aspect of the source that fits the box; the size of the source if it fits."""
    if _holds(height, video):
        return _own_size(video)
    aspect = max(video.display_aspect, 1 / video.display_aspect)
    if aspect <= BOX_ASPECT:
        return scale_to(video, height)
    long = _box_width(height)
    short = max(EVEN, EVEN * round(long / aspect / EVEN))
    return (long, short) if video.display_aspect >= 1 else (short, long)


def scale_to(video: VideoFacts, short: int) -> tuple[int, int]:
    """Return an even size in the aspect of the source with this short side, not longer than the source."""
    aspect = video.display_aspect
    limit = round_to_even(max(video.display_size))
    long = max(short, min(limit, EVEN * round(short * max(aspect, 1 / aspect) / EVEN)))
    return (long, short) if aspect >= 1 else (short, long)


def round_to_even(number: int) -> int:
    return number // EVEN * EVEN
