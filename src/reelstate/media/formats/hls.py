"""Write HLS playlists over byte ranges of fragmented MP4 files; `hls_parser.py` reads them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Final, Literal
from urllib.parse import quote, unquote

from reelstate.core.errors import ReelstateError
from reelstate.media.formats.labels import make_unique, printable
from reelstate.media.formats.language import language_tag

VERSION: Final = 7
AUDIO_GROUP: Final = "audio"
CAPTIONS_GROUP: Final = "captions"
MICROSECOND: Final = Fraction(1, 1_000_000)

PlaylistType = Literal["VOD", "EVENT"]


class MalformedPlaylist(ReelstateError):
    """A playlist is not one that this module would have written."""


@dataclass(frozen=True, slots=True)
class Part:
    """One segment of a playlist: a byte range of a file, or a whole file if the size is 0."""

    uri: str
    offset: int
    size: int
    duration: Fraction
    key_size: int = 0
    """The bytes that a player needs for the first frame."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Bits per second."""

    peak: int
    average: int

    def __add__(self, other: Rates) -> Rates:
        return Rates(self.peak + other.peak, self.average + other.average)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A rung. Its rates are those of the video; `master_playlist` adds those of the audio."""

    uri: str
    codec: str
    width: int
    height: int
    frame_rate: Fraction
    rates: Rates
    key_frames_uri: str = ""
    key_frames: Rates = Rates(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendition:
    """An audio or captions track."""

    uri: str
    name: str
    language: str = ""
    default: bool = False
    forced: bool = False
    autoselect: bool = True
    """Whether a player may select it by the language of the viewer."""
    codec: str = ""
    channels: int = 0
    rates: Rates = Rates(0, 0)


def segment_parts(uri: str, segments: Iterable[Sequence[int]], timescale: int) -> list[Part]:
    """Return the segments of one file, each given as offset, size, duration in ticks and key frame size."""
    return [Part(uri, offset, size, Fraction(ticks, timescale), key_size) for offset, size, ticks, key_size in segments]


def key_frame_parts(parts: Iterable[Part]) -> list[Part]:
    return [replace(part, size=part.key_size) for part in parts]


def target_duration(durations: Iterable[Fraction]) -> int:
    """Return the longest duration in whole seconds, rounded as RFC 8216 does."""
    return max(1, int(max(durations, default=Fraction(0)) + Fraction(1, 2)))


def measure_rates(parts: Sequence[Part]) -> Rates:
    """Return average and peak rate; the peak is over windows of 0.5 to 1.5 target durations (RFC 8216)."""
    target = target_duration(part.duration for part in parts)
    windows = list(_windows(parts, target)) or [(part.size, part.duration) for part in parts]
    peak = max((_bits(size, duration) for size, duration in windows), default=0)
    return Rates(peak, _bits(sum(part.size for part in parts), sum((part.duration for part in parts), Fraction(0))))


def _windows(parts: Sequence[Part], target: int) -> Iterator[tuple[int, Fraction]]:
    for first in range(len(parts)):
        size, duration = 0, Fraction(0)
        for part in parts[first:]:
            size, duration = size + part.size, duration + part.duration
            if duration * 2 > target * 3:
                break
            if duration * 2 >= target:
                yield size, duration


def _bits(size: int, duration: Fraction) -> int:
    return ceil(8 * size / duration) if duration else 0


def relative_uri(playlist: str, key: str) -> str:
    """Return the URI by which a playlist refers to another key of the storage."""
    return quote(posixpath.relpath(key, posixpath.dirname(playlist) or "."))


def resolve_uri(playlist: str, uri: str) -> str:
    """Return the key that a URI in a playlist refers to; raises `MalformedPlaylist` if it leaves the storage."""
    path = unquote(uri)
    key = posixpath.normpath(posixpath.join(posixpath.dirname(playlist), path))
    if ":" in uri.split("/", 1)[0] or path.startswith("/") or key in (".", "..") or key.startswith("../"):
        raise MalformedPlaylist(f"{playlist}: {uri!r} leads out of the storage", hint="expected a relative URI")
    return key


def master_playlist(
    variants: Sequence[Variant], audio: Sequence[Rendition] = (), captions: Sequence[Rendition] = ()
) -> str:
    """Return the playlist that a player opens first."""
    audio_rates = max_rates(rendition.rates for rendition in audio)
    codecs = list(dict.fromkeys(rendition.codec for rendition in audio))
    groups = [("AUDIO", AUDIO_GROUP)] * bool(audio) + [("SUBTITLES", CAPTIONS_GROUP)] * bool(captions)
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{VERSION}", "#EXT-X-INDEPENDENT-SEGMENTS"]
    lines += _renditions("AUDIO", AUDIO_GROUP, audio)
    lines += _renditions("SUBTITLES", CAPTIONS_GROUP, captions)
    for variant in variants:
        lines += [_variant(variant, variant.rates + audio_rates, [variant.codec, *codecs], groups), variant.uri]
    lines += [_key_frames(variant) for variant in variants if variant.key_frames_uri]
    return _text(lines)


def max_rates(tracks: Iterable[Rates]) -> Rates:
    """Return the highest rates of any track."""
    rates = list(tracks)
    return Rates(max((each.peak for each in rates), default=0), max((each.average for each in rates), default=0))


def media_playlist(
    parts: Sequence[Part], init_uri: str, *, kind: PlaylistType = "VOD", ended: bool = True, target: int | None = None
) -> str:
    """Return the playlist of a rung or audio track; one that grows has the kind EVENT.

    `target` is the target duration of all playlists of a version, which must not change; by default that of `parts`.
    """
    head = ["#EXT-X-INDEPENDENT-SEGMENTS", *_kind(kind), f'#EXT-X-MAP:URI="{_quotable(init_uri)}"']
    return _segments(head, parts, ended=ended, target=target)


def key_frame_playlist(parts: Sequence[Part], init_uri: str, *, target: int | None = None) -> str:
    """Return the playlist of the first frame of every segment, which players show while seeking."""
    head = [*_kind("VOD"), "#EXT-X-I-FRAMES-ONLY", f'#EXT-X-MAP:URI="{_quotable(init_uri)}"']
    return _segments(head, key_frame_parts(parts), ended=True, target=target)


def captions_playlist(uri: str, duration: Fraction) -> str:
    """Return the playlist of one WebVTT file; its target duration may differ from the others."""
    return _segments(_kind("VOD"), [Part(uri, 0, 0, duration)], ended=True, target=max(1, ceil(duration)))


def _segments(head: Sequence[str], parts: Sequence[Part], *, ended: bool, target: int | None = None) -> str:
    target = target or target_duration(part.duration for part in parts)
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{VERSION}", f"#EXT-X-TARGETDURATION:{target}", "#EXT-X-MEDIA-SEQUENCE:0"]
    lines += head
    for part, micros in zip(parts, _micros(part.duration for part in parts), strict=True):
        lines.append(f"#EXTINF:{micros // 1_000_000}.{micros % 1_000_000:06},")
        if part.size:
            lines.append(f"#EXT-X-BYTERANGE:{part.size}@{part.offset}")
        lines.append(part.uri)
    return _text([*lines, "#EXT-X-ENDLIST"] if ended else lines)


def _micros(durations: Iterable[Fraction]) -> Iterator[int]:
    """Convert to microseconds; end times are rounded, so the sum never drifts."""
    end, written = Fraction(0), 0
    for duration in durations:
        end += duration
        yield round(end / MICROSECOND) - written
        written = round(end / MICROSECOND)


def _kind(kind: PlaylistType) -> list[str]:
    # Players start a growing playlist near its end by default.
    start = ["#EXT-X-START:TIME-OFFSET=0"] if kind == "EVENT" else []
    return [f"#EXT-X-PLAYLIST-TYPE:{kind}", *start]


def _variant(variant: Variant, rates: Rates, codecs: Sequence[str], groups: Sequence[tuple[str, str]]) -> str:
    attributes = [
        *_rates(rates),
        ("CODECS", f'"{",".join(codecs)}"'),
        ("RESOLUTION", f"{variant.width}x{variant.height}"),
        ("FRAME-RATE", f"{float(variant.frame_rate):.3f}"),
        *((name, f'"{group}"') for name, group in groups),
    ]
    return f"#EXT-X-STREAM-INF:{_attributes(attributes)}"


def _key_frames(variant: Variant) -> str:
    attributes = [
        *_rates(variant.key_frames),
        ("CODECS", f'"{variant.codec}"'),
        ("RESOLUTION", f"{variant.width}x{variant.height}"),
        ("URI", f'"{_quotable(variant.key_frames_uri)}"'),
    ]
    return f"#EXT-X-I-FRAME-STREAM-INF:{_attributes(attributes)}"


def _rates(measured: Rates) -> list[tuple[str, str]]:
    return [("BANDWIDTH", str(measured.peak)), ("AVERAGE-BANDWIDTH", str(measured.average))]


def _renditions(kind: str, group: str, renditions: Sequence[Rendition]) -> Iterator[str]:
    names = make_unique(printable(rendition.name) or kind.title() for rendition in renditions)
    for rendition, name, selectable in zip(renditions, names, _autoselect(renditions), strict=True):
        attributes = [("TYPE", kind), ("GROUP-ID", f'"{group}"'), ("NAME", f'"{name}"')]
        if tag := language_tag(rendition.language):
            attributes.append(("LANGUAGE", f'"{tag}"'))
        attributes += [("DEFAULT", _yes(rendition.default)), ("AUTOSELECT", _yes(selectable))]
        if kind == "SUBTITLES":
            attributes.append(("FORCED", _yes(rendition.forced)))
        if rendition.channels:
            attributes.append(("CHANNELS", f'"{rendition.channels}"'))
        attributes.append(("URI", f'"{_quotable(rendition.uri)}"'))
        yield f"#EXT-X-MEDIA:{_attributes(attributes)}"


def _autoselect(renditions: Sequence[Rendition]) -> list[bool]:
    """Return whether a player may select each rendition: of indistinguishable ones, the default or the first."""
    selected: dict[tuple[str, bool], int] = {}
    order = sorted(range(len(renditions)), key=lambda number: not renditions[number].default)
    for number in order:
        if renditions[number].autoselect or renditions[number].default:
            selected.setdefault((language_tag(renditions[number].language), renditions[number].forced), number)
    return [number in selected.values() for number in range(len(renditions))]


def _quotable(text: str) -> str:
    """Replace characters that must not be in a quoted string."""
    return "".join("'" if char == '"' else char if char.isprintable() else " " for char in text)


def _yes(flag: bool) -> str:
    return "YES" if flag else "NO"


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{name}={value}" for name, value in pairs)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
