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
from typing import Annotated, Any, Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.grid import Grid
from reelstate.media.planning.profile import ENCODERS, AudioProfile, Bitrate, Codec, Crf, Preset, Profile, Rung
from reelstate.media.records import Between, Count, Index, OneOf, RungName, document_of, record_of
from reelstate.media.sources.allowed import (
    AUDIO_DECODERS,
    CAPTION_DECODERS,
    MAX_PIXELS,
    MAX_RATE,
    MAX_STREAMS,
    VIDEO_DECODERS,
)
from reelstate.media.sources.facts import (
    HDR_TRANSFERS,
    AudioFacts,
    Label,
    OtherFacts,
    SourceFacts,
    SubtitleFacts,
    VideoFacts,
)

VERSION: Final = 3
"""Raised when the same plan would be encoded to other bytes; from 3 on chunks are CMAF."""

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

ENCODER: Final = "encoder:"
"""What the capability of an encoder begins with."""
LONGEST: Final = Fraction(12 * 3600)
SLOWEST: Final = Fraction(1, 30)
"""Frames a second; a source below that is a trap for whoever fills the gaps."""
MAX_TRACKS: Final = 16
MATRICES: Final = ("bt709", "fcc", "bt470bg", "smpte170m", "smpte240m", "bt2020nc")
PRIMARIES: Final = ("bt709", "bt470m", "bt470bg", "smpte170m", "smpte240m", "bt2020", "smpte431", "smpte432")
TRANSFERS: Final = ("bt709", "smpte170m", "smpte240m", "iec61966-2-1", "iec61966-2-4", "bt2020-10", "bt2020-12")
SD_LINES: Final = 576
"""A picture with more lines, or wider than 1024 pixels, that says nothing of its colours is taken for BT.709."""
SD_WIDTH: Final = 1024
SMALLEST_SIDE: Final = {"h264": 16, "hevc": 32, "av1": 64}
EVEN: Final = 2
BOX: Final = Fraction(16, 9)
"""The shape of the box that the height of a rung stands for: a picture that is wider fills its width."""
SAME_SIZE: Final = Fraction(21, 20)
"""A source up to this much larger than a box is made in its own size: nobody would see two sizes so close apart."""

SHORTEST_CHUNK: Final = Fraction(8)
CHUNKS_PER_WORKER: Final = 8
"""So that a film can be watched, and is shared out evenly, when a small part of it is made."""
GOPS_PER_CHUNK: Final = 3
INTERLACED_PRE_ROLL: Final = 6
NEARLY_WHOLE: Final = Fraction(1, 10)
"""Of a segment: that much of one more may be missing where a chunk is as long as so many segments."""

POSTER_SIDE: Final = 720
POSTER_LATEST: Final = Fraction(10)
SPRITE_SIDE: Final = 90
SPRITE_COLUMNS: Final = 10
SPRITE_ROWS: Final = 10
SPRITE_LONGEST_STEP: Final = 10
SPRITES_AIMED_AT: Final = 100


Side = Annotated[int, Between(EVEN, 16_384)]
"""Pixels of a picture that is made."""


class SourceRefused(InvalidRequest):
    """The source can't be, or may not be, transcoded; trying again will not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Colors:
    """How a player turns what is made into light, by the names that ffmpeg gives; a stream says so in its tags."""

    matrix: Annotated[str, OneOf(*MATRICES)] = "bt709"
    primaries: Annotated[str, OneOf(*PRIMARIES)] = "bt709"
    transfer: Annotated[str, OneOf(*TRANSFERS)] = "bt709"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How the source's picture is read. Its words stand in filter graphs, so each is one of a list."""

    index: Index
    deinterlace: bool = False
    tonemap: Annotated[str, OneOf("", *HDR_TRANSFERS)] = ""
    """The transfer to map from, when the source has high dynamic range."""
    primaries: Annotated[str, OneOf("", "input", "2020")] = ""
    matrix: Annotated[str, OneOf("", "input", "2020_ncl")] = ""
    colors: Colors = Colors()
    rgb: bool = False
    """Whether it has to be converted to the matrix of `colors`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRung:
    name: RungName
    codec: Codec
    width: Side
    height: Side
    crf: Crf
    max_bitrate: Bitrate
    buffer: Bitrate
    preset: Preset
    required: bool

    @property
    def encoder(self) -> str:
        return ENCODERS[self.codec]


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
    """Whether the source has more channels, whose sum may be louder than a sample can be."""
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
    at: Annotated[Fraction, Between(0, LONGEST)]
    width: Side
    height: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Sprites:
    """Small pictures, one every so many seconds, in sheets of columns and rows."""

    every: Annotated[int, Between(1, 3600)]
    width: Side
    height: Side
    columns: Annotated[int, Between(1, 100)]
    rows: Annotated[int, Between(1, 100)]
    count: Annotated[int, Between(1, 100_000)]

    @property
    def sheets(self) -> int:
        return ceil(self.count / (self.columns * self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    profile: Profile
    workers: Annotated[int, Between(1, 1_000_000)]
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
    """What whoever reads the log should know."""
    degraded: tuple[str, ...] = ()
    """What a viewer would miss: everything of the source to see, hear or read that is left out, with the reason."""
    settled: bool = False
    version: Annotated[int, Between(0, 1_000_000)] = VERSION

    @property
    def id(self) -> str:
        """Equal for equal plans."""
        return hashlib.sha256(json.dumps(document_of(self), sort_keys=True).encode()).hexdigest()

    @property
    def encoders(self) -> frozenset[str]:
        """What a worker's ffmpeg must have to encode a chunk of it: the encoders of the rungs that are required."""
        return frozenset(rung.encoder for rung in self.rungs if rung.required) or self._optional_encoders

    @property
    def wanted_encoders(self) -> frozenset[str]:
        """What its ffmpeg should have beyond that, for optional rungs; without it these are left out."""
        return self._optional_encoders - self.encoders

    @property
    def _optional_encoders(self) -> frozenset[str]:
        return frozenset(rung.encoder for rung in self.rungs if not rung.required)

    def capabilities(self) -> dict[str, list[str]]:
        """What a worker that encodes a chunk of it needs, and should have."""
        return {
            "needs": sorted(f"{ENCODER}{name}" for name in self.encoders),
            "wants": sorted(f"{ENCODER}{name}" for name in self.wanted_encoders),
        }

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
    rungs, skipped = _ladder(video, asked, profile.rungs)
    unasked = [(rung.name, "not asked for") for rung in profile.rungs if rung not in asked]
    plan = Plan(
        profile=profile,
        workers=max(1, workers_hint),
        picture=_picture(video),
        grid=_grid(facts, video, _rate(video, profile.max_rate), profile, max(1, workers_hint)),
        rungs=rungs,
        skipped=(*skipped, *unasked),
        warnings=(*facts.warnings, *_unseen(facts)),
        degraded=tuple(_left_out(facts, profile)),
    )
    return _with_tracks(plan, facts, video)


def settle(plan: Plan, facts: SourceFacts) -> Plan:
    """The plan for the file that is cut: the source, or what a remux made of it, with its frames counted.

    What a viewer gets stays as planned; the rate, the frame count, the time of the first frame, the numbers of the
    streams and the chunks come from these facts. A file without an index is one chunk.
    """
    video = check_source(facts)
    grid = _grid(facts, video, _rate(video, plan.profile.max_rate), plan.profile, plan.workers)
    placed = replace(plan, grid=grid, picture=replace(plan.picture, index=video.index), settled=True)
    found = _with_tracks(placed, facts, video)
    return replace(
        found,
        audio=_in_words_of(plan.audio, found.audio),
        captions=_in_words_of(plan.captions, found.captions),
        degraded=(*plan.degraded, *_hidden_frames(found, video), *_cut_sound(found, facts, video)),
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


def _ladder(
    video: VideoFacts, rungs: Sequence[Rung], every: Sequence[Rung]
) -> tuple[tuple[PlannedRung, ...], tuple[tuple[str, str], ...]]:
    """The rungs of these that a source gets, and the names of the others, each with a reason.

    How high they go depends on `every` rung of the profile, so a rung has the same size whichever others are asked for.
    """
    top = _top_height(video, [rung.height for rung in every])
    fits = [rung for rung in rungs if rung.height <= top]
    skipped = tuple((rung.name, _too_high(video)) for rung in rungs if rung not in fits)
    planned = [_planned(rung, _fitted(video, rung.height)) for rung in fits]
    if not fits:
        own = _own_size(video)
        planned = [_planned(_lowest(rungs, min(own)), own)]
    able = tuple(rung for rung in planned if _able(rung))
    if not able:
        raise SourceRefused(
            "source.size",
            f"{planned[0].width}×{planned[0].height} is too small for {planned[0].codec}",
            hint="choose a profile with an h264 rung",
        )
    tiny = tuple((rung.name, f"too small for {rung.codec}") for rung in planned if rung not in able)
    return able, skipped + tiny


def _top_height(video: VideoFacts, heights: Sequence[int]) -> int:
    """The height of the best rung: of the smallest box that holds the source; 0 where the source reaches no box."""
    short, long = sorted(video.display_size)
    if short < min(heights) and long < _box_width(min(heights)):
        return 0
    return min((height for height in heights if _holds(height, video)), default=max(heights))


def _holds(height: int, video: VideoFacts) -> bool:
    """Whether the source fits the box of a rung, or is so little larger that it counts as that size."""
    short, long = sorted(video.display_size)
    return short <= height * SAME_SIZE and long <= _box_width(height) * SAME_SIZE


def _box_width(height: int) -> int:
    return EVEN * round(height * BOX / EVEN)


def _too_high(video: VideoFacts) -> str:
    wide, high = video.display_size
    return f"above the source's {wide}×{high}, and nothing is ever scaled up"


def _able(rung: PlannedRung) -> bool:
    return min(rung.width, rung.height) >= SMALLEST_SIDE[rung.codec]


def _lowest(rungs: Sequence[Rung], height: int) -> Rung:
    """The one rung of a source that is lower than all of them, in the settings of the lowest."""
    lowest = min(rungs, key=lambda rung: (rung.codec != "h264", rung.height))
    return replace(lowest, name=f"{height}p", height=height, required=True)


def _planned(rung: Rung, size: tuple[int, int]) -> PlannedRung:
    width, height = size
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


def _own_size(video: VideoFacts) -> tuple[int, int]:
    wide, high = video.display_size
    return _even(wide), _even(high)


def _fitted(video: VideoFacts, height: int) -> tuple[int, int]:
    """Even sides in the aspect of the source, as large as fit the box of a rung; the source's own if they fit."""
    if _holds(height, video):
        return _own_size(video)
    aspect = max(video.display_aspect, 1 / video.display_aspect)
    if aspect <= BOX:
        return _size(video, height)
    long = _box_width(height)
    short = max(EVEN, EVEN * round(long / aspect / EVEN))
    return (long, short) if video.display_aspect >= 1 else (short, long)


def _size(video: VideoFacts, short: int) -> tuple[int, int]:
    """Even sides in the aspect of the source, the short one as given, none longer than the source's own."""
    aspect = video.display_aspect
    most = _even(max(video.display_size))
    long = max(short, min(most, EVEN * round(short * max(aspect, 1 / aspect) / EVEN)))
    return (long, short) if aspect >= 1 else (short, long)


def _even(number: int) -> int:
    return number // EVEN * EVEN


def _rate(video: VideoFacts, most: int) -> Fraction:
    """The source's rate, or if it varies the standard one that shows most frames; halved until it is low enough."""
    if video.variable_rate and (allowed := [each for each in video.rates if each[0] <= most]):
        return min(allowed, key=lambda each: each[1])[0]
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
    segments = ceil(frames / segment) if chunk is None else max(1, int(chunk * rate / segment + NEARLY_WHOLE))
    return Grid(
        rate=rate,
        frames=frames,
        segment_frames=segment,
        chunk_frames=segments * segment,
        origin=Fraction(round(video.start * 1_000_000), 1_000_000),
        pre_roll=INTERLACED_PRE_ROLL if video.interlaced else 0,
        gop_frames=_gop(segment, round(_exact(profile.gop_seconds) * rate)),
    )


def _gop(segment: int, longest: int) -> int:
    """The frames between key frames: the largest part of a segment that is short enough, or the segment itself.

    A segment that can only be cut into parts of less than half of what is wanted stays whole: key frames are costly.
    """
    longest = max(1, longest)
    sizes = range(min(longest, segment), (longest - 1) // 2, -1)
    return next((frames for frames in sizes if segment % frames == 0), segment)


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
        return Picture(index=video.index, deinterlace=video.interlaced, colors=_colors(video), rgb=video.rgb)
    return Picture(
        index=video.index,
        deinterlace=video.interlaced,
        tonemap=video.transfer,
        primaries="input" if video.primaries == "bt2020" else "2020",
        matrix="input" if video.matrix in ("bt2020nc", "bt2020c") else "2020_ncl",
    )


def _colors(video: VideoFacts) -> Colors:
    """What the source says of its colours, or what players take a picture of its size for."""
    large = video.rgb or min(video.width, video.height) > SD_LINES or max(video.width, video.height) > SD_WIDTH
    usual = "bt709" if large else "smpte170m"
    return Colors(
        matrix=video.matrix if video.matrix in MATRICES else usual,
        primaries=video.primaries if video.primaries in PRIMARIES else usual,
        transfer=video.transfer if video.transfer in TRANSFERS else usual,
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
    decoded = [track for track in tracks if is_decoded(track)][:MAX_TRACKS]
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
            downmix=track.channels > profile.channels,
            commentary=_is_commentary(track),
        )


def is_decoded(track: AudioFacts) -> bool:
    return track.codec in AUDIO_DECODERS and track.channels > 0 and track.sample_rate > 0


def is_text(track: SubtitleFacts) -> bool:
    return track.text and track.codec in CAPTION_DECODERS


def _captions(facts: SourceFacts) -> Iterator[PlannedCaptions]:
    texts = [track for track in facts.subtitles if is_text(track)][:MAX_TRACKS]
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


def _is_commentary(track: AudioFacts | SubtitleFacts) -> bool:
    """By the flag of the track, or by its title: few files have the flag."""
    return track.commentary or "commentary" in track.title.casefold()


def _in_words_of(planned: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tracks of the settled file by the names that the source gave them: a remux may lose those."""
    if len(found) != len(planned):
        return found
    return tuple(
        replace(here, **{name: getattr(there, name) for name in ("language", "title", "default", "commentary")})
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


def _left_out(facts: SourceFacts, profile: Profile) -> Iterator[str]:
    """Reasons for all streams that a viewer would see, hear or read, and of which nothing is made."""
    pictures = [each for each in facts.others if each.kind == "video"]
    yield from _reasons("video", pictures, "one video stream is published, the first")
    if profile.audio:
        heard = [track for track in facts.audio if is_decoded(track)]
        yield from _reasons("audio", [each for each in facts.audio if each not in heard], "its codec is not decoded")
        yield from _reasons("audio", heard[MAX_TRACKS:], f"at most {MAX_TRACKS} audio tracks are published")
    if profile.captions:
        read = [track for track in facts.subtitles if is_text(track)]
        yield from _reasons("subtitle", [each for each in facts.subtitles if each not in read], "it is not text")
        yield from _reasons("subtitle", read[MAX_TRACKS:], f"at most {MAX_TRACKS} subtitle tracks are published")


def _unseen(facts: SourceFacts) -> Iterator[str]:
    """Reasons for the streams that no player shows."""
    for kind in ("cover", "data", "attachment"):
        others = [each for each in facts.others if each.kind == kind]
        yield from _reasons(kind, others, "it is neither video, audio nor text")


def _reasons(kind: str, streams: Sequence[AudioFacts | SubtitleFacts | OtherFacts], reason: str) -> Iterator[str]:
    """One sentence for all streams of a codec that are left out for the same reason."""
    for codec in dict.fromkeys(stream.codec for stream in streams):
        numbers = [str(stream.index) for stream in streams if stream.codec == codec]
        named = f" ({codec})" if codec else ""
        subject, verb = ("stream", "is") if len(numbers) == 1 else ("streams", "are")
        yield f"{kind} {subject} {', '.join(numbers)}{named} {verb} left out: {reason}"


def _hidden_frames(plan: Plan, video: VideoFacts) -> Iterator[str]:
    """Frames of a source with a varying rate that come closer together than the grid can show them."""
    hidden = dict(video.rates).get(plan.grid.rate, 0) if video.variable_rate else 0
    if hidden:
        count = f"{hidden:,} of {video.frames:,}" if video.frames else f"{hidden:,}"
        rate = f"{float(plan.grid.rate):.6g} frames/s"
        yield f"{count} frames are not shown: they come faster than {rate}, which the profile allows"


def _cut_sound(plan: Plan, facts: SourceFacts, video: VideoFacts) -> Iterator[str]:
    """Audio that has no picture to go with it, a second of it or more."""
    published = {track.index for track in plan.audio}
    for track in facts.audio:
        if track.index not in published:
            continue
        early, late = video.start - track.start, track.start + track.duration - video.start - plan.grid.duration
        if early >= 1:
            yield f"audio stream {track.index} begins {float(early):.1f} s before the picture and is cut there"
        if late >= 1:
            yield f"audio stream {track.index} ends {float(late):.1f} s after the picture and is cut there"
