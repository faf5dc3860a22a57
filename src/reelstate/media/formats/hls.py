"""HLS playlists over spans of fragmented MP4 files: written here, and read back by a parser that knows nothing else."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Final, Literal
from urllib.parse import quote, unquote

from reelstate.core.errors import ReelstateError
from reelstate.media.formats.labels import distinct, printable
from reelstate.media.formats.language import language_tag

VERSION: Final = 7
AUDIO_GROUP: Final = "audio"
CAPTIONS_GROUP: Final = "captions"
MICROSECOND: Final = Fraction(1, 1_000_000)

Kind = Literal["VOD", "EVENT"]


class MalformedPlaylist(ReelstateError):
    """A playlist is not one that this module would have written."""


@dataclass(frozen=True, slots=True)
class Part:
    """One segment as a playlist names it: a span of a file, or a whole file when the size is 0."""

    uri: str
    offset: int
    size: int
    duration: Fraction
    key_size: int = 0
    """How much of it a player needs for its first frame alone."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Bits a second."""

    peak: int
    average: int

    def __add__(self, other: Rates) -> Rates:
        return Rates(self.peak + other.peak, self.average + other.average)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A rung. Its rates are those of the video alone; those of the sound are added where it is written."""

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
    """A track of sound or captions."""

    uri: str
    name: str
    language: str = ""
    default: bool = False
    forced: bool = False
    autoselect: bool = True
    """Whether a player may choose it by itself, by the language of the viewer."""
    codec: str = ""
    channels: int = 0
    rates: Rates = Rates(0, 0)


def parts_of(uri: str, segments: Iterable[Sequence[int]], timescale: int) -> list[Part]:
    """The segments of one file, each given as offset, size, duration in ticks and size of its key frame."""
    return [Part(uri, offset, size, Fraction(ticks, timescale), key_size) for offset, size, ticks, key_size in segments]


def key_frame_parts(parts: Iterable[Part]) -> list[Part]:
    return [replace(part, size=part.key_size) for part in parts]


def target_duration(durations: Iterable[Fraction]) -> int:
    """The longest, in whole seconds, as the standard rounds it."""
    return max(1, int(max(durations, default=Fraction(0)) + Fraction(1, 2)))


def rates(parts: Sequence[Part]) -> Rates:
    """The peak is that of any run of parts that lasts between half and one and a half times the target duration."""
    target = target_duration(part.duration for part in parts)
    windows = list(_windows(parts, target)) or [(part.size, part.duration) for part in parts]
    peak = max((_bits(size, duration) for size, duration in windows), default=0)
    return Rates(peak, _bits(sum(part.size for part in parts), sum((part.duration for part in parts), Fraction(0))))


def _windows(parts: Sequence[Part], target: int) -> Iterator[tuple[int, Fraction]]:
    for first in range(len(parts)):
        size, duration = 0, Fraction(0)
        for place in range(first, len(parts)):
            size, duration = size + parts[place].size, duration + parts[place].duration
            if duration * 2 > target * 3:
                break
            if duration * 2 >= target:
                yield size, duration


def _bits(size: int, duration: Fraction) -> int:
    return ceil(8 * size / duration) if duration else 0


def relative_uri(playlist: str, key: str) -> str:
    """How a playlist names another file of the same storage."""
    return quote(posixpath.relpath(key, posixpath.dirname(playlist) or "."))


def resolve_uri(playlist: str, uri: str) -> str:
    """The key that a URI in a playlist means; an error when it leads out of the storage."""
    path = unquote(uri)
    key = posixpath.normpath(posixpath.join(posixpath.dirname(playlist), path))
    if ":" in uri.split("/", 1)[0] or path.startswith("/") or key in (".", "..") or key.startswith("../"):
        raise MalformedPlaylist(f"{playlist}: {uri!r} leads out of the storage", hint="every URI is relative")
    return key


# --- writing


def master_playlist(
    variants: Sequence[Variant], audio: Sequence[Rendition] = (), captions: Sequence[Rendition] = ()
) -> str:
    """The playlist that a player opens first. Without sound there is no audio group."""
    sound = loudest(rendition.rates for rendition in audio)
    codecs = list(dict.fromkeys(rendition.codec for rendition in audio))
    groups = [("AUDIO", AUDIO_GROUP)] * bool(audio) + [("SUBTITLES", CAPTIONS_GROUP)] * bool(captions)
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{VERSION}", "#EXT-X-INDEPENDENT-SEGMENTS"]
    lines += _renditions("AUDIO", AUDIO_GROUP, audio)
    lines += _renditions("SUBTITLES", CAPTIONS_GROUP, captions)
    for variant in variants:
        lines += [_variant(variant, variant.rates + sound, [variant.codec, *codecs], groups), variant.uri]
    lines += [_key_frames(variant) for variant in variants if variant.key_frames_uri]
    return _text(lines)


def loudest(every: Iterable[Rates]) -> Rates:
    """What the sound of a stream may cost, whichever track is chosen."""
    listed = list(every)
    return Rates(max((each.peak for each in listed), default=0), max((each.average for each in listed), default=0))


def media_playlist(
    parts: Sequence[Part], init_uri: str, *, kind: Kind = "VOD", ended: bool = True, target: int | None = None
) -> str:
    """The segments of a rung or of a sound track; one that grows is an EVENT.

    `target` is the target duration of all playlists of the version, which never changes; without it, of these parts.
    """
    head = ["#EXT-X-INDEPENDENT-SEGMENTS", *_kind(kind), f'#EXT-X-MAP:URI="{_quoted(init_uri)}"']
    return _segments(head, parts, ended=ended, target=target)


def key_frame_playlist(parts: Sequence[Part], init_uri: str, *, target: int | None = None) -> str:
    """The first frame of every segment: what a player shows while somebody seeks."""
    head = [*_kind("VOD"), "#EXT-X-I-FRAMES-ONLY", f'#EXT-X-MAP:URI="{_quoted(init_uri)}"']
    return _segments(head, key_frame_parts(parts), ended=True, target=target)


def captions_playlist(uri: str, duration: Fraction) -> str:
    """One WebVTT file that spans the whole stream; its target duration may differ from that of the others."""
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
    """Microseconds, rounded where segments meet: the sum never drifts, however many there are."""
    end, written = Fraction(0), 0
    for duration in durations:
        end += duration
        yield round(end / MICROSECOND) - written
        written = round(end / MICROSECOND)


def _kind(kind: Kind) -> list[str]:
    """Players join what grows where it ends; of a film they are to show the beginning."""
    start = ["#EXT-X-START:TIME-OFFSET=0"] if kind == "EVENT" else []
    return [f"#EXT-X-PLAYLIST-TYPE:{kind}", *start]


def _variant(variant: Variant, both: Rates, codecs: Sequence[str], groups: Sequence[tuple[str, str]]) -> str:
    attributes = [
        *_rates(both),
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
        ("URI", f'"{_quoted(variant.key_frames_uri)}"'),
    ]
    return f"#EXT-X-I-FRAME-STREAM-INF:{_attributes(attributes)}"


def _rates(measured: Rates) -> list[tuple[str, str]]:
    return [("BANDWIDTH", str(measured.peak)), ("AVERAGE-BANDWIDTH", str(measured.average))]


def _renditions(kind: str, group: str, renditions: Sequence[Rendition]) -> Iterator[str]:
    names = distinct(printable(rendition.name) or kind.title() for rendition in renditions)
    for rendition, name, chosen in zip(renditions, names, _autoselected(renditions), strict=True):
        attributes = [("TYPE", kind), ("GROUP-ID", f'"{group}"'), ("NAME", f'"{name}"')]
        if tag := language_tag(rendition.language):
            attributes.append(("LANGUAGE", f'"{tag}"'))
        attributes += [("DEFAULT", _yes(rendition.default)), ("AUTOSELECT", _yes(chosen))]
        if kind == "SUBTITLES":
            attributes.append(("FORCED", _yes(rendition.forced)))
        if rendition.channels:
            attributes.append(("CHANNELS", f'"{rendition.channels}"'))
        attributes.append(("URI", f'"{_quoted(rendition.uri)}"'))
        yield f"#EXT-X-MEDIA:{_attributes(attributes)}"


def _autoselected(renditions: Sequence[Rendition]) -> list[bool]:
    """Which ones a player may choose by itself: of those that it can't tell apart, the default or the first."""
    chosen: dict[tuple[str, bool], int] = {}
    order = sorted(range(len(renditions)), key=lambda number: not renditions[number].default)
    for number in order:
        if renditions[number].autoselect or renditions[number].default:
            chosen.setdefault((language_tag(renditions[number].language), renditions[number].forced), number)
    return [number in chosen.values() for number in range(len(renditions))]


def _quoted(text: str) -> str:
    """A URI as it may stand between quotation marks."""
    return "".join("'" if sign == '"' else sign if sign.isprintable() else " " for sign in text)


def _yes(flag: bool) -> str:
    return "YES" if flag else "NO"


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{name}={value}" for name, value in pairs)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


# --- reading


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPlaylist:
    version: int
    target: int
    kind: str
    ended: bool
    independent: bool
    key_frames_only: bool
    init_uri: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class MasterPlaylist:
    """Attributes as written, without quotation marks; a variant's URI is among them."""

    version: int
    independent: bool
    media: tuple[Mapping[str, str], ...]
    variants: tuple[Mapping[str, str], ...]
    key_frames: tuple[Mapping[str, str], ...]


_FLAGS = {"EXTM3U", "EXT-X-INDEPENDENT-SEGMENTS", "EXT-X-I-FRAMES-ONLY", "EXT-X-ENDLIST"}
_MEDIA_TAGS = {
    *("EXT-X-VERSION", "EXT-X-TARGETDURATION", "EXT-X-MEDIA-SEQUENCE", "EXT-X-PLAYLIST-TYPE", "EXT-X-MAP"),
    *("EXT-X-START", "EXTINF", "EXT-X-BYTERANGE"),
}
_MASTER_TAGS = {"EXT-X-VERSION", "EXT-X-MEDIA", "EXT-X-STREAM-INF", "EXT-X-I-FRAME-STREAM-INF"}
_ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^",]+)(?:,|$)')


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    tag: str
    """Empty for a URI."""
    value: str


def parse_media_playlist(text: str) -> MediaPlaylist:
    once: dict[str, str] = {}
    parts: list[Part] = []
    waiting: dict[str, str] = {}
    for line in _lines(text, _MEDIA_TAGS):
        if not line.tag:
            parts.append(_part(line, waiting))
            waiting = {}
            continue
        place = waiting if line.tag in ("EXTINF", "EXT-X-BYTERANGE") else once
        if line.tag in place:
            raise MalformedPlaylist(f"line {line.number}: a second {line.tag}")
        place[line.tag] = line.value
    if waiting:
        raise MalformedPlaylist("the last segment has no URI", hint="the playlist breaks off")
    return MediaPlaylist(
        version=_number(once, "EXT-X-VERSION"),
        target=_number(once, "EXT-X-TARGETDURATION"),
        kind=once.get("EXT-X-PLAYLIST-TYPE", ""),
        ended="EXT-X-ENDLIST" in once,
        independent="EXT-X-INDEPENDENT-SEGMENTS" in once,
        key_frames_only="EXT-X-I-FRAMES-ONLY" in once,
        init_uri=_attribute_list(once["EXT-X-MAP"]).get("URI", "") if "EXT-X-MAP" in once else "",
        parts=tuple(parts),
    )


def parse_master_playlist(text: str) -> MasterPlaylist:
    once: dict[str, str] = {}
    found: dict[str, list[Mapping[str, str]]] = {tag: [] for tag in _MASTER_TAGS}
    variant: dict[str, str] | None = None
    for line in _lines(text, _MASTER_TAGS):
        if (not line.tag) != (variant is not None):
            raise MalformedPlaylist(f"line {line.number}: every variant has one URI, right below it")
        if variant is not None:
            found["EXT-X-STREAM-INF"].append({**variant, "URI": line.value})
            variant = None
        elif line.tag == "EXT-X-STREAM-INF":
            variant = _attribute_list(line.value)
        elif line.tag in ("EXT-X-MEDIA", "EXT-X-I-FRAME-STREAM-INF"):
            found[line.tag].append(_attribute_list(line.value))
        else:
            once[line.tag] = line.value
    if variant is not None:
        raise MalformedPlaylist("the last variant has no URI", hint="the playlist breaks off")
    return MasterPlaylist(
        _number(once, "EXT-X-VERSION"),
        "EXT-X-INDEPENDENT-SEGMENTS" in once,
        tuple(found["EXT-X-MEDIA"]),
        tuple(found["EXT-X-STREAM-INF"]),
        tuple(found["EXT-X-I-FRAME-STREAM-INF"]),
    )


def _lines(text: str, tags: set[str]) -> Iterator[_Line]:
    if not text.startswith("#EXTM3U\n"):
        raise MalformedPlaylist("line 1: a playlist begins with #EXTM3U")
    ended = False
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, value = line[1:].partition(":")
        known = name in tags if colon else name in _FLAGS
        if not line or ended or (line.startswith("#") and not known):
            raise MalformedPlaylist(f"line {number}: {line[:80]!r} does not belong here")
        ended = line == "#EXT-X-ENDLIST"
        yield _Line(number, name, value) if line.startswith("#") else _Line(number, "", line)


def _part(line: _Line, waiting: Mapping[str, str]) -> Part:
    duration = re.fullmatch(r"(\d{1,9}\.\d{6}),", waiting.get("EXTINF", ""), re.ASCII)
    span = re.fullmatch(r"(\d{1,18})@(\d{1,18})", waiting.get("EXT-X-BYTERANGE", "0@0"), re.ASCII)
    if not duration or not span:
        raise MalformedPlaylist(f"line {line.number}: a segment without a duration, or with a wrong byte range")
    return Part(line.value, int(span[2]), int(span[1]), Fraction(duration[1]))


def _number(once: Mapping[str, str], tag: str) -> int:
    value = once.get(tag, "")
    if not re.fullmatch(r"\d{1,9}", value, re.ASCII):
        raise MalformedPlaylist(f"{tag} is {value!r}, not a number" if value else f"{tag} is missing")
    return int(value)


def _attribute_list(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _ATTRIBUTE.match(text, at)
        if not match or match[1] in found:
            raise MalformedPlaylist(f"attributes that can't be read: {text[at : at + 80]!r}")
        found[match[1]] = match[2].strip('"')
        at = match.end()
    return found
