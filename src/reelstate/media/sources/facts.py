"""The facts of a source that a plan depends on, as records without handles or bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final

from reelstate.media.records import Between, Count, Index, OneOf, Word, document_of, record_of

Side = Annotated[int, Between(0, 1_000_000)]
"""Pixels; the plan decides whether a picture of that size is accepted."""
Label = Annotated[str, Between(0, 1000)]
"""The name of a track in the file. It is written, quoted, into playlists, never into a command."""

HDR_TRANSFERS: Final = frozenset({"smpte2084", "arib-std-b67"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFacts:
    index: Index
    """The index of the stream in the file."""
    codec: Word
    width: Side
    height: Side
    rotation: Annotated[int, Between(-360, 360)] = 0
    """Degrees to rotate the picture clockwise for display: 0, 90, 180 or 270."""
    sample_aspect: Fraction = Fraction(1)
    rate: Fraction
    """Frames per second; the average if the rate is variable."""
    variable_rate: bool = False
    rates: tuple[tuple[Fraction, Count], ...] = ()
    """If the rate is variable: standard rates, best first, each with the number of frames that it hides."""
    frames: Count | None = None
    """None if only reading the whole file would tell."""
    start: Fraction = Fraction(0)
    duration: Fraction
    pixel_format: Word = "yuv420p"
    bits: Annotated[int, Between(0, 64)] = 8
    transfer: Word = "unknown"
    """Transfer, primaries and matrix by their names in ffmpeg."""
    primaries: Word = "unknown"
    matrix: Word = "unknown"
    full_range: bool = False
    interlaced: bool = False
    longest_gop: Fraction | None = None
    """The longest time between two key frames in seconds, if known."""

    @property
    def hdr(self) -> bool:
        return self.transfer in HDR_TRANSFERS

    @property
    def rgb(self) -> bool:
        """Whether its pixels are RGB, not YUV."""
        return any(name in self.pixel_format for name in ("rgb", "bgr", "gbr", "pal8"))

    @property
    def display_aspect(self) -> Fraction:
        """Width by height as displayed."""
        aspect = Fraction(self.width, self.height) * (self.sample_aspect or 1)
        return 1 / aspect if self.rotation % 180 else aspect

    @property
    def display_size(self) -> tuple[int, int]:
        """Width and height as displayed, in square pixels and upright."""
        wide = max(1, round(self.width * (self.sample_aspect or Fraction(1))))
        return (self.height, wide) if self.rotation % 180 else (wide, self.height)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioFacts:
    index: Index
    codec: Word
    channels: Annotated[int, Between(0, 1024)]
    layout: Annotated[str, Between(0, 200)] = ""
    sample_rate: Annotated[int, Between(0, 10_000_000)]
    start: Fraction = Fraction(0)
    duration: Fraction
    language: Label = ""
    title: Label = ""
    default: bool = False
    commentary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtitleFacts:
    index: Index
    codec: Word
    text: bool
    """False for bitmap subtitles, which can't become captions."""
    language: Label = ""
    title: Label = ""
    default: bool = False
    forced: bool = False
    commentary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFacts:
    """A stream that is not used: a further video, a cover, data or an attachment."""

    index: Index
    kind: Annotated[str, OneOf("video", "cover", "data", "attachment")]
    codec: Word = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    container: Word
    """The name of its demuxer in ffmpeg."""
    size: Count
    duration: Fraction
    indexed: bool
    """Whether seeks are exact: an mp4, mov, mkv or webm with its index."""
    video: VideoFacts | None = None
    audio: tuple[AudioFacts, ...] = ()
    subtitles: tuple[SubtitleFacts, ...] = ()
    others: tuple[OtherFacts, ...] = ()
    streams: Count = 0
    """The number of streams, including unused ones."""
    warnings: tuple[str, ...] = ()

    @property
    def hdr(self) -> bool:
        return self.video is not None and self.video.hdr

    @property
    def display_size(self) -> tuple[int, int]:
        return self.video.display_size if self.video else (0, 0)

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = document_of(self)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SourceFacts:
        return record_of(cls, document)
