"""The frame rate, segments and chunks of a plan."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Final

from reelstate.media.planning.grid import Grid
from reelstate.media.planning.profile import Profile
from reelstate.media.sources.facts import SourceFacts, VideoFacts

NTSC: Final = Fraction(1000, 1001)
STANDARD_RATES: Final = (
    24 * NTSC,
    Fraction(24),
    Fraction(25),
    30 * NTSC,
    Fraction(30),
    Fraction(50),
    60 * NTSC,
    Fraction(60),
)
SAME_RATE: Final = Fraction(1, 5000)
"""A rate this close to a standard one is that one, rounded."""
MAX_RATE_TERM: Final = 100_000

MIN_CHUNK: Final = Fraction(8)
CHUNKS_PER_WORKER: Final = 8
"""So that the work is shared evenly, and playback can start when a small part is encoded."""
GOPS_PER_CHUNK: Final = 3
INTERLACED_PRE_ROLL: Final = 6
NEARLY_WHOLE: Final = Fraction(1, 10)
"""Share of a segment that a chunk may lack and still count one segment more."""


def plan_grid(facts: SourceFacts, video: VideoFacts, profile: Profile, workers: int) -> Grid:
    """Return the grid of a source: its rate, frames, segments and chunks."""
    rate = _plan_rate(video, profile.max_rate)
    frames = _count_frames(video, rate)
    segment = max(1, round(_exact(profile.segment_seconds) * rate))
    chunk = _chunk_seconds(facts, video, frames / rate, profile, workers)
    segments = ceil(frames / segment) if chunk is None else max(1, int(chunk * rate / segment + NEARLY_WHOLE))
    return Grid(
        rate=rate,
        frames=frames,
        segment_frames=segment,
        chunk_frames=segments * segment,
        origin=Fraction(round(video.start * 1_000_000), 1_000_000),
        pre_roll=INTERLACED_PRE_ROLL if video.interlaced else 0,
        gop_frames=_gop_frames(segment, round(_exact(profile.gop_seconds) * rate)),
    )


def _plan_rate(video: VideoFacts, max_rate: int) -> Fraction:
    """Return the rate of the source, or the standard rate that hides the fewest frames of a variable one.

    A rate above `max_rate` is halved until it is low enough.
    """
    if video.variable_rate and (allowed := [each for each in video.rates if each[0] <= max_rate]):
        return min(allowed, key=lambda each: each[1])[0]
    rate = _nearest_standard(video.rate) if video.variable_rate else video.rate
    while rate > max_rate:
        rate /= 2
    standard = _nearest_standard(rate)
    if abs(standard - rate) <= standard * SAME_RATE:
        return standard
    # The timescale of a file is a whole number of limited size.
    return rate if rate.numerator <= MAX_RATE_TERM else rate.limit_denominator(max(1, int(MAX_RATE_TERM / rate)))


def _nearest_standard(rate: Fraction) -> Fraction:
    return min(STANDARD_RATES, key=lambda standard: abs(standard - rate))


def _count_frames(video: VideoFacts, rate: Fraction) -> int:
    """Return the frame count of the source if the grid keeps every frame, otherwise what fits its duration."""
    fitting = max(1, round(video.duration * rate))
    kept = not video.variable_rate and abs(video.rate - rate) <= rate * SAME_RATE
    if kept and video.frames and abs(video.frames - fitting) <= 1 + fitting * SAME_RATE:
        return video.frames
    return fitting


def _gop_frames(segment: int, longest: int) -> int:
    """Return the distance of key frames: the largest divisor of a segment that is not above `longest`.

    Key frames are costly: a segment with no divisor above half of `longest` has one key frame.
    """
    longest = max(1, longest)
    sizes = range(min(longest, segment), (longest - 1) // 2, -1)
    return next((frames for frames in sizes if segment % frames == 0), segment)


def _chunk_seconds(
    facts: SourceFacts, video: VideoFacts, duration: Fraction, profile: Profile, workers: int
) -> Fraction | None:
    """Return the length of a chunk; None for a source that is encoded in one piece."""
    longest = _exact(profile.chunk_seconds)
    if not facts.indexed or duration < 2 * longest:
        return None
    fair = max(min(MIN_CHUNK, longest), duration / (CHUNKS_PER_WORKER * workers))
    seconds = max(min(longest, fair), GOPS_PER_CHUNK * (video.longest_gop or Fraction(0)))
    return seconds if seconds < duration else None


def _exact(seconds: float) -> Fraction:
    return Fraction(str(seconds))
