"""The exact grid of a stream: whole frames make segments, whole segments make chunks. All times are rationals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, Final

from reelstate.media.records import Between, MalformedRecord, document_of, record_of
from reelstate.media.sources.allowed import MAX_RATE

COARSEST_TIMESCALE = 10_000
ANCHOR_STEP = 3
"""At every standard rate the time of each third frame is a whole number of microseconds, which ffmpeg counts in."""

MAX_FRAMES: Final = 13_000_000
"""Twelve hours at the fastest rate."""
MAX_SEGMENTS: Final = 100_000
"""Segments, and so chunks, of one stream: twelve hours in segments of half a second."""

Frames = Annotated[int, Between(1, MAX_FRAMES)]
Frame = Annotated[int, Between(0, MAX_FRAMES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The frames that one worker encodes, in segments."""

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
    rate: Annotated[Fraction, Between(Fraction(1, 1000), MAX_RATE)]
    frames: Frames
    segment_frames: Frames
    chunk_frames: Frames
    origin: Annotated[Fraction, Between(-(10**9), 10**9)]
    """The time of frame 0 in the source, in whole microseconds."""
    pre_roll: Annotated[int, Between(0, 1000)] = 0
    """Frames before the first of a chunk that its filters have to see."""
    gop_frames: Annotated[int, Between(0, MAX_FRAMES)] = 0
    """The distance of key frames, of which a segment has a whole number; 0 in older plans, for one a segment."""

    def __post_init__(self) -> None:
        if self.frames > MAX_SEGMENTS * min(self.segment_frames, self.chunk_frames):
            raise MalformedRecord("grid.frames", f"has more than {MAX_SEGMENTS:,} segments or chunks", hint="")

    @property
    def duration(self) -> Fraction:
        return self.frames / self.rate

    @property
    def timescale(self) -> int:
        """Ticks a second in the files: a frame is a whole number of them."""
        number = self.rate.numerator
        return number * -(-COARSEST_TIMESCALE // number)

    @property
    def key_frame_distance(self) -> int:
        return self.gop_frames or self.segment_frames

    @property
    def frame_ticks(self) -> int:
        return int(self.timescale / self.rate)

    def time(self, frame: int) -> Fraction:
        """When a frame is shown, from the start of the stream."""
        return frame / self.rate

    def anchor(self, chunk: Chunk) -> int:
        """The frame from which a chunk's grid is counted, so that every chunk rounds as the whole would."""
        return max(0, (chunk.first_frame - self.pre_roll) // ANCHOR_STEP * ANCHOR_STEP)

    def chunks(self) -> tuple[Chunk, ...]:
        return tuple(self._chunks())

    def chunk(self, number: int) -> Chunk:
        first = number * self.chunk_frames
        frames = min(self.chunk_frames, self.frames - first)
        last = first + frames == self.frames
        return Chunk(number=number, first_frame=first, frames=frames, segments=self._segments(frames), last=last)

    def _chunks(self) -> Iterator[Chunk]:
        for number in range(ceil(self.frames / self.chunk_frames)):
            yield self.chunk(number)

    def _segments(self, frames: int) -> tuple[int, ...]:
        whole, rest = divmod(frames, self.segment_frames)
        return (self.segment_frames,) * whole + ((rest,) if rest else ())
