"""The exact grid of a stream: whole frames make segments, whole segments make chunks. All times are rationals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reelstate.media.wire import document_of, record_of

COARSEST_TIMESCALE = 10_000
ANCHOR_STEP = 3
"""At every standard rate the time of each third frame is a whole number of microseconds, which ffmpeg counts in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The frames that one worker encodes, in segments."""

    number: int
    first_frame: int
    frames: int
    segments: tuple[int, ...]
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
    rate: Fraction
    frames: int
    segment_frames: int
    """Also the distance of key frames."""
    chunk_frames: int
    origin: Fraction
    """The time of frame 0 in the source, in whole microseconds."""
    pre_roll: int = 0
    """Frames before the first of a chunk that its filters have to see."""

    @property
    def duration(self) -> Fraction:
        return self.frames / self.rate

    @property
    def timescale(self) -> int:
        """Ticks a second in the files: a frame is a whole number of them."""
        number = self.rate.numerator
        return number * -(-COARSEST_TIMESCALE // number)

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

    def _chunks(self) -> Iterator[Chunk]:
        for number, first in enumerate(range(0, self.frames, self.chunk_frames)):
            frames = min(self.chunk_frames, self.frames - first)
            last = first + frames == self.frames
            yield Chunk(number=number, first_frame=first, frames=frames, segments=self._segments(frames), last=last)

    def _segments(self, frames: int) -> tuple[int, ...]:
        whole, rest = divmod(frames, self.segment_frames)
        return (self.segment_frames,) * whole + ((rest,) if rest else ())
