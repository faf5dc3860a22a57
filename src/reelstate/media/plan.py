"""What to make of a source: a pure function of its facts and a profile, in exact rationals.

`make_plan` decides what a viewer gets; `settle` adds what only the whole file can tell: how many frames it has,
where they begin and whether it can be cut. Equal plans have equal ids, on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.allowed import (
    AUDIO_DECODERS,
    CAPTION_DECODERS,
    MAX_PIXELS,
    MAX_RATE,
    MAX_STREAMS,
    VIDEO_DECODERS,
)
from reelstate.media.facts import AudioFacts, SourceFacts, VideoFacts
from reelstate.media.grid import Grid
from reelstate.media.profile import ENCODERS, AudioProfile, Profile, Rung
from reelstate.media.wire import document_of, record_of

VERSION: Final = 1
"""Raised when the same plan would be encoded to other bytes."""

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
"""Rates this close to a standard one are that one, written by somebody who rounded."""
LARGEST_RATE_TERM: Final = 100_000

LONGEST: Final = Fraction(12 * 3600)
SLOWEST: Final = Fraction(1, 30)
"""Frames a second; a source below that is a trap for whoever fills the gaps."""
MOST_TRACKS: Final = 16
SMALLEST_SIDE: Final = {"h264": 16, "hevc": 32, "av1": 64}
EVEN: Final = 2

SHORTEST_CHUNK: Final = Fraction(6)
CHUNKS_PER_WORKER: Final = 8
"""So that a film can be watched, and is shared out evenly, when a small part of it is made."""
GOPS_PER_CHUNK: Final = 3
INTERLACED_PRE_ROLL: Final = 6

POSTER_SIDE: Final = 720
POSTER_LATEST: Final = Fraction(10)
SPRITE_SIDE: Final = 90
SPRITE_COLUMNS: Final = 10
SPRITE_ROWS: Final = 10
SPRITE_LONGEST_STEP: Final = 10
SPRITES_AIMED_AT: Final = 100


class SourceRefused(InvalidRequest):
    """The source can't be, or may not be, transcoded; trying again will not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How the source's picture is read."""

    index: int
    deinterlace: bool = False
    tonemap: str = ""
    """The transfer to map from, when the source has high dynamic range."""
    primaries: str = ""
    matrix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRung:
    name: str
    codec: str
    width: int
    height: int
    crf: int
    max_bitrate: int
    buffer: int
    preset: str
    required: bool

    @property
    def encoder(self) -> str:
        return ENCODERS[self.codec]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAudio:
    number: int
    index: int
    language: str
    title: str
    default: bool
    bitrate: int
    channels: int
    sample_rate: int
    samples: int
    """As long as the picture, to the nearest sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCaptions:
    number: int
    index: int
    language: str
    title: str
    default: bool
    forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    at: Fraction
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sprites:
    """Small pictures, one every so many seconds, in sheets of columns and rows."""

    every: int
    width: int
    height: int
    columns: int
    rows: int
    count: int

    @property
    def sheets(self) -> int:
        return ceil(self.count / (self.columns * self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    profile: Profile
    workers: int
    picture: Picture
    grid: Grid
    rungs: tuple[PlannedRung, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """Names of rungs that are not made, with the reason."""
    audio: tuple[PlannedAudio, ...] = ()
    captions: tuple[PlannedCaptions, ...] = ()
    poster: Poster | None = None
    sprites: Sprites | None = None
    warnings: tuple[str, ...] = ()
    settled: bool = False
    version: int = VERSION

    @property
    def id(self) -> str:
        """Equal for equal plans."""
        return hashlib.sha256(json.dumps(document_of(self), sort_keys=True).encode()).hexdigest()

    @property
    def encoders(self) -> frozenset[str]:
        """What a worker's ffmpeg must have to encode a chunk of it."""
        return frozenset(rung.encoder for rung in self.rungs)

    def rung(self, name: str) -> PlannedRung:
        return next(rung for rung in self.rungs if rung.name == name)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **document_of(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        return record_of(cls, document)


def make_plan(
    facts: SourceFacts, profile: Profile, *, qualities: Sequence[str] | None = None, workers_hint: int = 2
) -> Plan:
    """What to make of this source; `SourceRefused` or `InvalidRequest` say why nothing can be."""
    video = check_source(facts)
    if video.hdr and profile.hdr == "refuse":
        raise SourceRefused(
            "source.video.transfer",
            f"{video.transfer} is high dynamic range, which the profile {profile.name!r} refuses",
            hint='choose a profile with "hdr": "tonemap"',
        )
    asked = chosen(profile, qualities)
    rungs, skipped = _ladder(video, asked)
    unasked = [(rung.name, "not asked for") for rung in profile.rungs if rung not in asked]
    plan = Plan(
        profile=profile,
        workers=max(1, workers_hint),
        picture=_picture(video),
        grid=_grid(facts, video, _rate(video, profile.max_rate), profile, max(1, workers_hint)),
        rungs=rungs,
        skipped=(*skipped, *unasked),
        warnings=(*facts.warnings, *_warnings(facts, profile)),
    )
    return _with_tracks(plan, facts, video)


def settle(plan: Plan, facts: SourceFacts) -> Plan:
    """The plan for the file that is cut: the source, or what a remux made of it, with its frames counted.

    What a viewer gets stays as planned; the frame count, the time of the first frame, the numbers of the streams and
    the chunks come from these facts. A file without an index is one chunk.
    """
    video = check_source(facts)
    grid = _grid(facts, video, plan.grid.rate, plan.profile, plan.workers)
    placed = replace(plan, grid=grid, picture=replace(plan.picture, index=video.index), settled=True)
    found = _with_tracks(placed, facts, video)
    return replace(
        found,
        audio=_in_words_of(plan.audio, found.audio),
        captions=_in_words_of(plan.captions, found.captions),
    )


def check_source(facts: SourceFacts) -> VideoFacts:
    """The source's picture, if it is one we take: no bombs, no unknown decoders, nothing without a picture."""
    video = facts.video
    if video is None:
        raise SourceRefused("source.video", "there is no video in it", hint="covers and sound alone can't be streamed")
    _require("codec", video.codec in VIDEO_DECODERS, f"{video.codec} is not decoded here", "convert the source first")
    _require("streams", facts.streams <= MAX_STREAMS, f"has {facts.streams} streams", f"at most {MAX_STREAMS}")
    pixels = video.width * video.height
    side = min(*video.display_size, video.width, video.height)
    _require("size", side >= SMALLEST_SIDE["h264"], f"is {video.width}×{video.height}", "at least 16 pixels a side")
    _require("size", pixels <= MAX_PIXELS, f"is {video.width}×{video.height}", f"at most {MAX_PIXELS:,} pixels")
    _require("duration", 0 < video.duration <= LONGEST, f"lasts {float(video.duration):,.3f} s", "at most 12 hours")
    _require("rate", SLOWEST <= video.rate <= MAX_RATE, f"has {float(video.rate):g} frames/s", f"1/30 to {MAX_RATE}")
    if video.frames is not None:
        _check_frames(video, video.frames)
    return video


def _check_frames(video: VideoFacts, frames: int) -> None:
    held = f"holds {frames:,} frames in {float(video.duration):,.3f} s"
    _require("frames", frames >= max(1, int(video.duration * SLOWEST)), held, "at least one frame every 30 s")
    _require("frames", frames <= video.duration * MAX_RATE + EVEN, held, f"at most {MAX_RATE} a second")


def _require(field: str, holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise SourceRefused(f"source.{field}", message, hint=hint)


def chosen(profile: Profile, qualities: Sequence[str] | None) -> tuple[Rung, ...]:
    """The rungs of a profile that are asked for; `InvalidRequest` names one that it does not have."""
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


def _ladder(video: VideoFacts, rungs: Sequence[Rung]) -> tuple[tuple[PlannedRung, ...], tuple[tuple[str, str], ...]]:
    short = min(video.display_size)
    fits = [rung for rung in rungs if rung.height <= short]
    skipped = tuple((rung.name, _too_high(rung, short)) for rung in rungs if rung not in fits)
    planned = [_planned(video, rung) for rung in fits or [_own_size(short, rungs)]]
    able = tuple(rung for rung in planned if _able(rung))
    if not able:
        raise SourceRefused(
            "source.size",
            f"{planned[0].width}×{planned[0].height} is too small for {planned[0].codec}",
            hint="choose a profile with an h264 rung",
        )
    tiny = tuple((rung.name, f"too small for {rung.codec}") for rung in planned if rung not in able)
    return able, skipped + tiny


def _too_high(rung: Rung, short: int) -> str:
    return f"above the source's {short}, and nothing is ever scaled up to {rung.height}"


def _able(rung: PlannedRung) -> bool:
    return min(rung.width, rung.height) >= SMALLEST_SIDE[rung.codec]


def _own_size(short: int, rungs: Sequence[Rung]) -> Rung:
    """The one rung of a source that is lower than all of them, in the settings of the lowest."""
    lowest = min(rungs, key=lambda rung: (rung.codec != "h264", rung.height))
    height = _even(short)
    return replace(lowest, name=f"{height}p", height=height, required=True)


def _planned(video: VideoFacts, rung: Rung) -> PlannedRung:
    width, height = _size(video, rung.height)
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


def _size(video: VideoFacts, short: int) -> tuple[int, int]:
    """Even sides in the aspect of the source, the short one as given, none longer than the source's own."""
    aspect = video.display_aspect
    most = _even(max(video.display_size))
    long = max(short, min(most, EVEN * round(short * max(aspect, 1 / aspect) / EVEN)))
    return (long, short) if aspect >= 1 else (short, long)


def _even(number: int) -> int:
    return number // EVEN * EVEN


def _rate(video: VideoFacts, most: int) -> Fraction:
    """The source's rate, or the nearest standard one if it varies; halved until it is low enough."""
    rate = _nearest(video.rate) if video.variable_rate else video.rate
    while rate > most:
        rate /= 2
    near = _nearest(rate)
    return near if abs(near - rate) <= near * SAME_RATE else _short(rate)


def _nearest(rate: Fraction) -> Fraction:
    return min(STANDARD_RATES, key=lambda standard: abs(standard - rate))


def _short(rate: Fraction) -> Fraction:
    """The same rate, in terms that a file's clock can count in."""
    if rate.numerator <= LARGEST_RATE_TERM:
        return rate
    return rate.limit_denominator(max(1, int(LARGEST_RATE_TERM / rate)))


def _grid(facts: SourceFacts, video: VideoFacts, rate: Fraction, profile: Profile, workers: int) -> Grid:
    frames = _frames(video, rate)
    segment = max(1, round(_exact(profile.segment_seconds) * rate))
    whole = frames / rate
    chunk = _chunk_seconds(facts, video, whole, profile, workers)
    segments = ceil(frames / segment) if chunk is None else max(1, round(chunk * rate / segment))
    return Grid(
        rate=rate,
        frames=frames,
        segment_frames=segment,
        chunk_frames=segments * segment,
        origin=Fraction(round(video.start * 1_000_000), 1_000_000),
        pre_roll=INTERLACED_PRE_ROLL if video.interlaced else 0,
    )


def _frames(video: VideoFacts, rate: Fraction) -> int:
    """The count, where the grid keeps every frame; else as many as fit the time."""
    fitting = max(1, round(video.duration * rate))
    kept = not video.variable_rate and abs(video.rate - rate) <= rate * SAME_RATE
    if kept and video.frames and abs(video.frames - fitting) <= 1 + fitting * SAME_RATE:
        return video.frames
    return fitting


def _chunk_seconds(
    facts: SourceFacts, video: VideoFacts, whole: Fraction, profile: Profile, workers: int
) -> Fraction | None:
    """How long a chunk should be; None for a source that is better left in one piece."""
    longest = _exact(profile.chunk_seconds)
    if not facts.indexed or whole < 2 * longest:
        return None
    fair = max(min(SHORTEST_CHUNK, longest), whole / (CHUNKS_PER_WORKER * workers))
    wanted = max(min(longest, fair), GOPS_PER_CHUNK * (video.longest_gop or Fraction(0)))
    return wanted if wanted < whole else None


def _exact(seconds: float) -> Fraction:
    return Fraction(str(seconds))


def _picture(video: VideoFacts) -> Picture:
    if not video.hdr:
        return Picture(index=video.index, deinterlace=video.interlaced)
    return Picture(
        index=video.index,
        deinterlace=video.interlaced,
        tonemap=video.transfer,
        primaries="input" if video.primaries == "bt2020" else "2020",
        matrix="input" if video.matrix in ("bt2020nc", "bt2020c") else "2020_ncl",
    )


def _with_tracks(plan: Plan, facts: SourceFacts, video: VideoFacts) -> Plan:
    profile, duration = plan.profile, plan.grid.duration
    return replace(
        plan,
        audio=tuple(_audio(facts.audio, profile.audio, duration)) if profile.audio else (),
        captions=tuple(_captions(facts)) if profile.captions else (),
        poster=_poster(video, duration) if profile.thumbnails else None,
        sprites=_sprites(video, duration) if profile.sprites else None,
    )


def _audio(tracks: Iterable[AudioFacts], profile: AudioProfile, duration: Fraction) -> Iterator[PlannedAudio]:
    decoded = [track for track in tracks if _decoded(track)][:MOST_TRACKS]
    for number, track in enumerate(decoded):
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
        )


def _decoded(track: AudioFacts) -> bool:
    return track.codec in AUDIO_DECODERS and track.channels > 0 and track.sample_rate > 0


def _captions(facts: SourceFacts) -> Iterator[PlannedCaptions]:
    texts = [track for track in facts.subtitles if track.text and track.codec in CAPTION_DECODERS][:MOST_TRACKS]
    for number, track in enumerate(texts):
        yield PlannedCaptions(
            number=number,
            index=track.index,
            language=track.language,
            title=track.title,
            default=track.default,
            forced=track.forced,
        )


def _in_words_of(planned: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tracks of the settled file by the names that the source gave them: a remux may lose those."""
    if len(found) != len(planned):
        return found
    return tuple(
        replace(here, language=there.language, title=there.title, default=there.default)
        for here, there in zip(found, planned, strict=True)
    )


def _poster(video: VideoFacts, duration: Fraction) -> Poster:
    width, height = _size(video, max(EVEN, min(POSTER_SIDE, _even(min(video.display_size)))))
    return Poster(at=min(POSTER_LATEST, duration / 10), width=width, height=height)


def _sprites(video: VideoFacts, duration: Fraction) -> Sprites:
    width, height = _size(video, max(EVEN, min(SPRITE_SIDE, _even(min(video.display_size)))))
    every = max(1, min(SPRITE_LONGEST_STEP, ceil(duration / SPRITES_AIMED_AT)))
    return Sprites(
        every=every,
        width=width,
        height=height,
        columns=SPRITE_COLUMNS,
        rows=SPRITE_ROWS,
        count=max(1, ceil(duration / every)),
    )


def _warnings(facts: SourceFacts, profile: Profile) -> Iterator[str]:
    for sound in facts.audio:
        if profile.audio and not _decoded(sound):
            yield f"the sound track {sound.index} ({sound.codec}) can't be decoded and is left out"
    for words in facts.subtitles:
        if profile.captions and not (words.text and words.codec in CAPTION_DECODERS):
            yield f"the subtitles {words.index} ({words.codec}) are no text and are left out"
    if facts.video:
        yield from _cut_sound(facts.video, facts.audio)


def _cut_sound(video: VideoFacts, tracks: Iterable[AudioFacts]) -> Iterator[str]:
    for track in tracks:
        early, late = video.start - track.start, track.start + track.duration - video.start - video.duration
        if early >= 1:
            yield f"the sound track {track.index} begins {float(early):.1f} s before the picture and is cut there"
        if late >= 1:
            yield f"the sound track {track.index} ends {float(late):.1f} s after the picture and is cut there"
