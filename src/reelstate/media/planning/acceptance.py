"""Decide whether a source can be transcoded."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.ladder import MIN_SIDE
from reelstate.media.sources.allowed import MAX_PIXELS, MAX_RATE, MAX_STREAMS, VIDEO_DECODERS
from reelstate.media.sources.facts import SourceFacts, VideoFacts

MAX_DURATION: Final = Fraction(12 * 3600)
MIN_RATE: Final = Fraction(1, 30)
"""Frames per second; a slower source would become very many repeated frames."""


class SourceRefused(InvalidRequest):
    """The source can't or may not be transcoded; a retry can't succeed."""


def check_source(facts: SourceFacts) -> VideoFacts:
    """Return the video of a source, or raise `SourceRefused` for what can't be decoded or exceeds the limits."""
    video = facts.video
    if video is None:
        raise SourceRefused("source.video", "there is no video in it", hint="covers and sound alone can't be streamed")
    _require("codec", video.codec in VIDEO_DECODERS, f"{video.codec} is not supported", "convert the source first")
    _require("streams", facts.streams <= MAX_STREAMS, f"has {facts.streams} streams", f"at most {MAX_STREAMS}")
    size, pixels = f"is {video.width}×{video.height}", video.width * video.height
    side = min(*video.display_size, video.width, video.height)
    _require("size", side >= MIN_SIDE["h264"], size, "at least 16 pixels per side")
    _require("size", pixels <= MAX_PIXELS, size, f"at most {MAX_PIXELS:,} pixels")
    _require(
        "duration", 0 < video.duration <= MAX_DURATION, f"lasts {float(video.duration):,.3f} s", "at most 12 hours"
    )
    _require("rate", MIN_RATE <= video.rate <= MAX_RATE, f"has {float(video.rate):g} frames/s", f"1/30 to {MAX_RATE}")
    if video.frames is not None:
        frames = f"has {video.frames:,} frames in {float(video.duration):,.3f} s"
        enough = video.frames >= max(1, int(video.duration * MIN_RATE))
        _require("frames", enough, frames, "at least one frame every 30 s")
        _require("frames", video.frames <= video.duration * MAX_RATE + 2, frames, f"at most {MAX_RATE} per second")
    return video


def _require(field: str, holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise SourceRefused(f"source.{field}", message, hint=hint)
