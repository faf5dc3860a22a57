"""What a source is, as far as a plan needs to know: numbers and words read from the file, no handles and no bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from reelstate.media.wire import document_of, record_of

HDR_TRANSFERS: Final = frozenset({"smpte2084", "arib-std-b67"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFacts:
    index: int
    """The number of the stream in the file."""
    codec: str
    width: int
    height: int
    rotation: int = 0
    """By how many degrees the picture must be turned clockwise to stand upright: 0, 90, 180 or 270."""
    sample_aspect: Fraction = Fraction(1)
    rate: Fraction
    """Frames a second; the average where the rate varies."""
    variable_rate: bool = False
    frames: int | None = None
    """None where only a full read would tell."""
    start: Fraction = Fraction(0)
    duration: Fraction
    pixel_format: str = "yuv420p"
    bits: int = 8
    transfer: str = "unknown"
    """Transfer, primaries and matrix by the names that ffmpeg gives them."""
    primaries: str = "unknown"
    matrix: str = "unknown"
    full_range: bool = False
    interlaced: bool = False
    longest_gop: Fraction | None = None
    """Seconds between the two key frames that are farthest apart, where known."""

    @property
    def hdr(self) -> bool:
        return self.transfer in HDR_TRANSFERS

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
    index: int
    codec: str
    channels: int
    layout: str = ""
    sample_rate: int
    start: Fraction = Fraction(0)
    duration: Fraction
    language: str = ""
    title: str = ""
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtitleFacts:
    index: int
    codec: str
    text: bool
    """False for pictures of text, which can't become captions."""
    language: str = ""
    title: str = ""
    default: bool = False
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    container: str
    """The name of ffmpeg's demuxer."""
    size: int
    duration: Fraction
    indexed: bool
    """Whether a seek lands where it should: an mp4, mov, mkv or webm with its index."""
    video: VideoFacts | None = None
    audio: tuple[AudioFacts, ...] = ()
    subtitles: tuple[SubtitleFacts, ...] = ()
    streams: int = 0
    """All streams of the file, the unused ones too."""
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
