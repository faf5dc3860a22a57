"""The exact grid of a stream: segments of whole frames, chunks of whole segments, times as rationals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, Final

from reelstate.media.records import Between, MalformedRecord, document_of, record_of
from reelstate.media.sources.allowed import MAX_RATE

MIN_TIMESCALE: Final = 10_000
ANCHOR_STEP: Final = 3
"""At standard rates every third frame is at a whole microsecond, the time base of ffmpeg."""

MAX_FRAMES: Final = 13_000_000
"""Twelve hours at the fastest rate."""
MAX_SEGMENTS: Final = 100_000
"""Segments, and so chunks, of one stream: twelve hours in segments of half a second."""

Frames = Annotated[int, Between(1, MAX_FRAMES)]
Frame = Annotated[int, Between(0, MAX_FRAMES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive frames that one task encodes, in segments."""

    number: Annotated[int, Between(0, MAX_SEGMENTS)]
    first_frame: Frame
    frames: Frames
    segments: Annotated[tuple[Frames, ...], Between(1, MAX_SEGMENTS)]
    """The frames of each segment."""
    last: bool = False

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = document_of(self)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Chunk:
        return record_of(cls, document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Frames, segments and chunks of all rungs of a stream."""

    rate: Annotated[Fraction, Between(Fraction(1, 1000), MAX_RATE)]
    frames: Frames
    segment_frames: Frames
    chunk_frames: Frames
    origin: Annotated[Fraction, Between(-(10**9), 10**9)]
    """The time of frame 0 in the source, in whole microseconds."""
    pre_roll: Annotated[int, Between(0, 1000)] = 0
    """Frames before a chunk that its filters need."""
    gop_frames: Annotated[int, Between(0, MAX_FRAMES)] = 0
    """The distance of key frames, a divisor of `segment_frames`; 0 for one key frame per segment."""

    def __post_init__(self) -> None:
        if self.frames > MAX_SEGMENTS * min(self.segment_frames, self.chunk_frames):
            raise MalformedRecord("grid.frames", f"has more than {MAX_SEGMENTS:,} segments or chunks", hint="")

    @property
    def duration(self) -> Fraction:
        return self.frames / self.rate

    @property
    def timescale(self) -> int:
        """Ticks per second in the files; a frame is a whole number of ticks."""
        numerator = self.rate.numerator
        return numerator * -(-MIN_TIMESCALE // numerator)

    @property
    def key_frame_distance(self) -> int:
        return self.gop_frames or self.segment_frames

    @property
    def frame_ticks(self) -> int:
        return int(self.timescale / self.rate)

    def time(self, frame: int) -> Fraction:
        """Return the time of a frame from the start of the stream."""
        return frame / self.rate

    def anchor(self, chunk: Chunk) -> int:
        """Return the frame that the times of a chunk are relative to, so that all chunks round alike."""
        return max(0, (chunk.first_frame - self.pre_roll) // ANCHOR_STEP * ANCHOR_STEP)

    def chunks(self) -> tuple[Chunk, ...]:
        return tuple(self.chunk(number) for number in range(ceil(self.frames / self.chunk_frames)))

    def chunk(self, number: int) -> Chunk:
        first = number * self.chunk_frames
        frames = min(self.chunk_frames, self.frames - first)
        last = first + frames == self.frames
        return Chunk(number=number, first_frame=first, frames=frames, segments=self._segments(frames), last=last)

    def _segments(self, frames: int) -> tuple[int, ...]:
        whole, rest = divmod(frames, self.segment_frames)
        return (self.segment_frames,) * whole + ((rest,) if rest else ())
