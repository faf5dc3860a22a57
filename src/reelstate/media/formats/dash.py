"""DASH manifests over the same byte ranges of the same files as the HLS playlists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import ceil
from typing import Final, Literal
from xml.etree import ElementTree as ET

from reelstate.core.errors import ReelstateError
from reelstate.media.formats.hls import Part, target_duration
from reelstate.media.formats.labels import printable
from reelstate.media.formats.language import language_tag

NAMESPACE: Final = "urn:mpeg:dash:schema:mpd:2011"
_CHANNELS: Final = "urn:mpeg:dash:23003:3:audio_channel_configuration:2011"
_TILES: Final = "http://dashif.org/guidelines/thumbnail_tile"
_ROLES: Final = "urn:mpeg:dash:role:2011"

Role = Literal["main", "alternate", "commentary", "subtitle", "forced-subtitle"]


class MalformedManifest(ReelstateError):
    """A DASH manifest is not one that this module writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """One rung, or one audio track."""

    name: str
    init_uri: str
    timescale: int
    parts: Sequence[Part]
    bandwidth: int
    codec: str
    width: int = 0
    height: int = 0
    frame_rate: Fraction = Fraction(0)
    channels: int = 0
    sample_rate: int = 0
    language: str = ""
    label: str = ""
    """The name in the menu of a player."""
    roles: Sequence[Role] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsTrack:
    name: str
    uri: str
    language: str = ""
    label: str = ""
    roles: Sequence[Role] = ("subtitle",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """Sheets of thumbnails. `pattern` is a URI with $Number$, counted from `first`."""

    pattern: str
    first: int
    sheet_duration: Fraction
    columns: int
    rows: int
    width: int
    height: int
    """Of a sheet."""
    bandwidth: int
    name: str = "thumbnails"


def build_manifest(
    duration: Fraction,
    video: Sequence[Representation],
    audio: Sequence[Representation] = (),
    captions: Sequence[CaptionsTrack] = (),
    tiles: Tiles | None = None,
) -> str:
    """Return the manifest as XML."""
    root = ET.Element("MPD", _root(duration, [*video, *audio]))
    period = ET.SubElement(root, "Period", id="0", start="PT0S", duration=_seconds(duration))
    _video(period, video)
    for track in audio:
        _audio(period, track)
    for text in captions:
        _captions(period, text)
    if tiles:
        _tiles(period, tiles)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _root(duration: Fraction, every: Sequence[Representation]) -> dict[str, str]:
    longest = target_duration(part.duration for each in every for part in each.parts)
    return {
        "xmlns": NAMESPACE,
        "profiles": "urn:mpeg:dash:profile:full:2011",
        "type": "static",
        "mediaPresentationDuration": _seconds(duration),
        "minBufferTime": f"PT{longest}S",
    }


def _video(period: ET.Element, rungs: Sequence[Representation]) -> None:
    """Add one adaptation set per codec: players do not switch codecs within a set."""
    for _, group in groupby(sorted(rungs, key=_family), key=_family):
        adaptation = _set(period, "video", "video/mp4", roles=["main"], segmentAlignment="true", startWithSAP="1")
        for rung in group:
            attributes = {"width": str(rung.width), "height": str(rung.height), "sar": "1:1"}
            _representation(adaptation, rung, attributes | {"frameRate": str(rung.frame_rate)})


def _family(rung: Representation) -> str:
    return rung.codec.partition(".")[0]


def _audio(period: ET.Element, track: Representation) -> None:
    adaptation = _set(
        period,
        "audio",
        "audio/mp4",
        track.language,
        track.label,
        track.roles,
        segmentAlignment="true",
        startWithSAP="1",
    )
    inner = _representation(adaptation, track, {"audioSamplingRate": str(track.sample_rate)})
    inner.insert(0, ET.Element("AudioChannelConfiguration", schemeIdUri=_CHANNELS, value=str(track.channels)))


def _captions(period: ET.Element, text: CaptionsTrack) -> None:
    adaptation = _set(period, "text", "text/vtt", text.language, text.label, text.roles)
    inner = ET.SubElement(adaptation, "Representation", id=text.name, bandwidth="1000")
    ET.SubElement(inner, "BaseURL").text = text.uri


def _tiles(period: ET.Element, tiles: Tiles) -> None:
    adaptation = _set(period, "image", "image/jpeg")
    length = tiles.sheet_duration
    numbers = {"timescale": length.denominator, "duration": length.numerator, "startNumber": tiles.first}
    ET.SubElement(
        adaptation, "SegmentTemplate", {name: str(value) for name, value in numbers.items()}, media=tiles.pattern
    )
    sizes = {"bandwidth": tiles.bandwidth, "width": tiles.width, "height": tiles.height}
    inner = ET.SubElement(
        adaptation, "Representation", {name: str(value) for name, value in sizes.items()}, id=tiles.name
    )
    ET.SubElement(inner, "EssentialProperty", schemeIdUri=_TILES, value=f"{tiles.columns}x{tiles.rows}")


def _set(
    period: ET.Element,
    kind: str,
    mime: str,
    language: str = "",
    label: str = "",
    roles: Sequence[Role] = (),
    **attributes: str,
) -> ET.Element:
    """Add an adaptation set; its id must be a number, unlike that of a representation."""
    if tag := language_tag(language):
        attributes["lang"] = tag
    common = {"id": str(len(period)), "contentType": kind, "mimeType": mime}
    adaptation = ET.SubElement(period, "AdaptationSet", common | attributes)
    if label:
        ET.SubElement(adaptation, "Label").text = printable(label)
    for role in roles:
        ET.SubElement(adaptation, "Role", schemeIdUri=_ROLES, value=role)
    return adaptation


def _representation(adaptation: ET.Element, each: Representation, attributes: dict[str, str]) -> ET.Element:
    common = {"id": each.name, "bandwidth": str(each.bandwidth), "codecs": each.codec}
    inner = ET.SubElement(adaptation, "Representation", common | attributes)
    lengths = {"timescale": str(each.timescale), "duration": str(_segment_ticks(each))}
    segments = ET.SubElement(inner, "SegmentList", lengths)
    ET.SubElement(segments, "Initialization", sourceURL=each.init_uri)
    for part in each.parts:
        span = f"{part.offset}-{part.offset + part.size - 1}"
        ET.SubElement(segments, "SegmentURL", media=part.uri, mediaRange=span)
    return inner


def _segment_ticks(each: Representation) -> int:
    """Return the duration of every segment in ticks; the last one may be shorter.

    A list of segments has one duration and no SegmentTimeline, with which some players stop early.
    """
    lengths = {part.duration * each.timescale for part in each.parts[:-1] or each.parts}
    if len(lengths) != 1 or (ticks := lengths.pop()).denominator != 1:
        raise MalformedManifest(f"{each.name}: its segments differ in duration, or have no whole number of ticks")
    return ticks.numerator


def _seconds(duration: Fraction) -> str:
    """Format a duration, rounded up: players cut what is past the end."""
    micros = ceil(duration * 1_000_000)
    return f"PT{micros // 1_000_000}.{micros % 1_000_000:06}S"


@dataclass(frozen=True, slots=True)
class DashManifest:
    """A manifest that was parsed; representations are by name."""

    duration: Fraction
    representations: dict[str, Representation]


def parse_manifest(text: str) -> DashManifest:
    """Parse a manifest of this module; raises `MalformedManifest`.

    The last part of each representation has the duration of the others: its own is not in a manifest.
    """
    if "<!" in text:
        raise MalformedManifest("it contains a declaration", hint="expected none")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without declarations there are no entities to expand
        found = {each.name: each for each in _representations(root)}
        return DashManifest(_parse_seconds(root.get("mediaPresentationDuration", "")), found)
    except (ET.ParseError, ValueError, KeyError, ArithmeticError) as error:
        raise MalformedManifest(f"it can't be read: {error}") from None


def _representations(root: ET.Element) -> Iterator[Representation]:
    for each in root.iterfind(".//{*}Representation"):
        segments = each.find("{*}SegmentList")
        if segments is not None:
            yield _parse_representation(each, segments)


def _parse_representation(each: ET.Element, segments: ET.Element) -> Representation:
    timescale = int(segments.attrib["timescale"])
    init = segments.find("{*}Initialization")
    return Representation(
        name=each.attrib["id"],
        init_uri=init.attrib["sourceURL"] if init is not None else "",
        timescale=timescale,
        parts=tuple(_parts(segments, Fraction(int(segments.attrib["duration"]), timescale))),
        bandwidth=int(each.attrib["bandwidth"]),
        codec=each.attrib["codecs"],
        width=int(each.get("width", "0")),
        height=int(each.get("height", "0")),
        frame_rate=Fraction(each.get("frameRate", "0")),
        sample_rate=int(each.get("audioSamplingRate", "0")),
    )


def _parts(segments: ET.Element, duration: Fraction) -> Iterator[Part]:
    for url in segments.iterfind("{*}SegmentURL"):
        first, last = url.attrib["mediaRange"].split("-")
        yield Part(url.attrib["media"], int(first), int(last) - int(first) + 1, duration)


def _parse_seconds(text: str) -> Fraction:
    match = re.fullmatch(r"PT(\d{1,9}\.\d{6})S", text, re.ASCII)
    if not match:
        raise MalformedManifest(f"invalid duration {text!r}")
    return Fraction(match[1])
