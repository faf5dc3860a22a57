"""What a source is, as far as a plan needs to know: numbers and words read from the file, no handles and no bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final

from reelstate.media.records import Between, Count, Index, OneOf, Word, document_of, record_of

Side = Annotated[int, Between(0, 1_000_000)]
"""Pixels; whether a picture of that size is taken is decided by the plan."""
Label = Annotated[str, Between(0, 1000)]
"""What a file calls a track. It reaches playlists, which quote it, and no command."""

HDR_TRANSFERS: Final = frozenset({"smpte2084", "arib-std-b67"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFacts:
    index: Index
    """The number of the stream in the file."""
    codec: Word
    width: Side
    height: Side
    rotation: Annotated[int, Between(-360, 360)] = 0
    """By how many degrees the picture must be turned clockwise to stand upright: 0, 90, 180 or 270."""
    sample_aspect: Fraction = Fraction(1)
    rate: Fraction
    """Frames a second; the average where the rate varies."""
    variable_rate: bool = False
    rates: tuple[tuple[Fraction, Count], ...] = ()
    """Where the rate varies: standard rates, the better ones first, with how many frames each would not show."""
    frames: Count | None = None
    """None where only a full read would tell."""
    start: Fraction = Fraction(0)
    duration: Fraction
    pixel_format: Word = "yuv420p"
    bits: Annotated[int, Between(0, 64)] = 8
    transfer: Word = "unknown"
    """Transfer, primaries and matrix by the names that ffmpeg gives them."""
    primaries: Word = "unknown"
    matrix: Word = "unknown"
    full_range: bool = False
    interlaced: bool = False
    longest_gop: Fraction | None = None
    """Seconds between the two key frames that are farthest apart, where known."""

    @property
    def hdr(self) -> bool:
        return self.transfer in HDR_TRANSFERS

    @property
    def rgb(self) -> bool:
        """Whether its pixels are red, green and blue rather than light and colour."""
        return any(word in self.pixel_format for word in ("rgb", "bgr", "gbr", "pal8"))

    @property
    def display_aspect(self) -> Fraction:
        """Width by height as a viewer sees it."""
        aspect = Fraction(self.width, self.height) * (self.sample_aspect or 1)
        return 1 / aspect if self.rotation % 180 else aspect

    @property
    def display_size(self) -> tuple[int, int]:
        """Width and height as a viewer sees them: square pixels, upright."""
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
    """False for pictures of text, which can't become captions."""
    language: Label = ""
    title: Label = ""
    default: bool = False
    forced: bool = False
    commentary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFacts:
    """A stream of which nothing is made: a further picture, a cover, data, an attachment."""

    index: Index
    kind: Annotated[str, OneOf("video", "cover", "data", "attachment")]
    codec: Word = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    container: Word
    """The name of ffmpeg's demuxer."""
    size: Count
    duration: Fraction
    indexed: bool
    """Whether a seek lands where it should: an mp4, mov, mkv or webm with its index."""
    video: VideoFacts | None = None
    audio: tuple[AudioFacts, ...] = ()
    subtitles: tuple[SubtitleFacts, ...] = ()
    others: tuple[OtherFacts, ...] = ()
    streams: Count = 0
    """How many streams the file has, the unused ones too."""
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
