"""What accompanies the picture of a plan: audio, captions, the poster and sprites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, Final

from reelstate.media.planning.acceptance import MAX_DURATION
from reelstate.media.planning.ladder import EVEN, Side, round_to_even, scale_to
from reelstate.media.planning.profile import AudioProfile, Bitrate
from reelstate.media.records import Between, Count, Index
from reelstate.media.sources.allowed import AUDIO_DECODERS, CAPTION_DECODERS
from reelstate.media.sources.facts import AudioFacts, Label, SubtitleFacts, VideoFacts

MAX_TRACKS: Final = 16
POSTER_SIDE: Final = 720
MAX_POSTER_TIME: Final = Fraction(10)
SPRITE_SIDE: Final = 90
SPRITE_COLUMNS: Final = 10
SPRITE_ROWS: Final = 10
MAX_SPRITE_STEP: Final = 10
TARGET_SPRITES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAudio:
    number: Index
    index: Index
    language: Label
    title: Label
    default: bool
    bitrate: Bitrate
    channels: Annotated[int, Between(1, 64)]
    sample_rate: Annotated[int, Between(1, 1_000_000)]
    samples: Count
    """As long as the picture, to the nearest sample."""
    downmix: bool = False
    """Whether the source has more channels, whose sum may clip."""
    commentary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCaptions:
    number: Index
    index: Index
    language: Label
    title: Label
    default: bool
    forced: bool
    commentary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    at: Annotated[Fraction, Between(0, MAX_DURATION)]
    width: Side
    height: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Sprites:
    """Thumbnails, one every `every` seconds, in sheets of columns and rows."""

    every: Annotated[int, Between(1, 3600)]
    width: Side
    height: Side
    columns: Annotated[int, Between(1, 100)]
    rows: Annotated[int, Between(1, 100)]
    count: Annotated[int, Between(1, 100_000)]

    @property
    def sheets(self) -> int:
        return ceil(self.count / (self.columns * self.rows))


def plan_audio(tracks: Iterable[AudioFacts], profile: AudioProfile, duration: Fraction) -> Iterator[PlannedAudio]:
    decodable = [track for track in tracks if is_decodable(track)][:MAX_TRACKS]
    for number, track in enumerate(decodable):
        yield PlannedAudio(
            number=number,
            index=track.index,
            language=track.language,
            title=track.title,
            default=track.default,
            bitrate=profile.bitrate,
            channels=profile.channels,
            sample_rate=profile.sample_rate,
            samples=round(duration * profile.sample_rate),
            downmix=track.channels > profile.channels,
            commentary=_is_commentary(track),
        )


def is_decodable(track: AudioFacts) -> bool:
    return track.codec in AUDIO_DECODERS and track.channels > 0 and track.sample_rate > 0


def plan_captions(tracks: Iterable[SubtitleFacts]) -> Iterator[PlannedCaptions]:
    texts = [track for track in tracks if is_text(track)][:MAX_TRACKS]
    for number, track in enumerate(texts):
        yield PlannedCaptions(
            number=number,
            index=track.index,
            language=track.language,
            title=track.title,
            default=track.default,
            forced=track.forced,
            commentary=_is_commentary(track),
        )


def is_text(track: SubtitleFacts) -> bool:
    return track.text and track.codec in CAPTION_DECODERS


def _is_commentary(track: AudioFacts | SubtitleFacts) -> bool:
    """Return whether the flag or the title of a track says so: few files have the flag."""
    return track.commentary or "commentary" in track.title.casefold()


def plan_poster(video: VideoFacts, duration: Fraction) -> Poster:
    width, height = scale_to(video, _short_side(video, POSTER_SIDE))
    return Poster(at=min(MAX_POSTER_TIME, duration / 10), width=width, height=height)


def plan_sprites(video: VideoFacts, duration: Fraction) -> Sprites:
    width, height = scale_to(video, _short_side(video, SPRITE_SIDE))
    every = max(1, min(MAX_SPRITE_STEP, ceil(duration / TARGET_SPRITES)))
    count = max(1, ceil(duration / every))
    return Sprites(every=every, width=width, height=height, columns=SPRITE_COLUMNS, rows=SPRITE_ROWS, count=count)


def _short_side(video: VideoFacts, limit: int) -> int:
    return max(EVEN, min(limit, round_to_even(min(video.display_size))))
