"""Parse the HLS playlists that `hls.py` writes, and refuse all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reelstate.media.formats.hls import MalformedPlaylist, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPlaylist:
    """The segments of one rung or track."""

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
    """Attributes as written, without quotes; those of a variant include its URI."""

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
    """Parse the playlist of a rung or track; raises `MalformedPlaylist`."""
    header: dict[str, str] = {}
    parts: list[Part] = []
    segment: dict[str, str] = {}
    for line in _lines(text, _MEDIA_TAGS):
        if not line.tag:
            parts.append(_parse_part(line, segment))
            segment = {}
            continue
        tags = segment if line.tag in ("EXTINF", "EXT-X-BYTERANGE") else header
        if line.tag in tags:
            raise MalformedPlaylist(f"line {line.number}: a second {line.tag}")
        tags[line.tag] = line.value
    if segment:
        raise MalformedPlaylist("the last segment has no URI", hint="the playlist is truncated")
    return MediaPlaylist(
        version=_parse_number(header, "EXT-X-VERSION"),
        target=_parse_number(header, "EXT-X-TARGETDURATION"),
        kind=header.get("EXT-X-PLAYLIST-TYPE", ""),
        ended="EXT-X-ENDLIST" in header,
        independent="EXT-X-INDEPENDENT-SEGMENTS" in header,
        key_frames_only="EXT-X-I-FRAMES-ONLY" in header,
        init_uri=_parse_attributes(header["EXT-X-MAP"]).get("URI", "") if "EXT-X-MAP" in header else "",
        parts=tuple(parts),
    )


def parse_master_playlist(text: str) -> MasterPlaylist:
    """Parse a master playlist; raises `MalformedPlaylist`."""
    header: dict[str, str] = {}
    found: dict[str, list[Mapping[str, str]]] = {tag: [] for tag in _MASTER_TAGS}
    variant: dict[str, str] | None = None
    for line in _lines(text, _MASTER_TAGS):
        if (not line.tag) != (variant is not None):
            raise MalformedPlaylist(f"line {line.number}: expected one URI after each variant")
        if variant is not None:
            found["EXT-X-STREAM-INF"].append({**variant, "URI": line.value})
            variant = None
        elif line.tag == "EXT-X-STREAM-INF":
            variant = _parse_attributes(line.value)
        elif line.tag in ("EXT-X-MEDIA", "EXT-X-I-FRAME-STREAM-INF"):
            found[line.tag].append(_parse_attributes(line.value))
        else:
            header[line.tag] = line.value
    if variant is not None:
        raise MalformedPlaylist("the last variant has no URI", hint="the playlist is truncated")
    return MasterPlaylist(
        _parse_number(header, "EXT-X-VERSION"),
        "EXT-X-INDEPENDENT-SEGMENTS" in header,
        tuple(found["EXT-X-MEDIA"]),
        tuple(found["EXT-X-STREAM-INF"]),
        tuple(found["EXT-X-I-FRAME-STREAM-INF"]),
    )


def _lines(text: str, tags: set[str]) -> Iterator[_Line]:
    if not text.startswith("#EXTM3U\n"):
        raise MalformedPlaylist("line 1: expected #EXTM3U")
    ended = False
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, value = line[1:].partition(":")
        known = name in tags if colon else name in _FLAGS
        if not line or ended or (line.startswith("#") and not known):
            raise MalformedPlaylist(f"line {number}: unexpected {line[:80]!r}")
        ended = line == "#EXT-X-ENDLIST"
        yield _Line(number, name, value) if line.startswith("#") else _Line(number, "", line)


def _parse_part(line: _Line, segment: Mapping[str, str]) -> Part:
    duration = re.fullmatch(r"(\d{1,9}\.\d{6}),", segment.get("EXTINF", ""), re.ASCII)
    span = re.fullmatch(r"(\d{1,18})@(\d{1,18})", segment.get("EXT-X-BYTERANGE", "0@0"), re.ASCII)
    if not duration or not span:
        raise MalformedPlaylist(f"line {line.number}: a segment without a duration, or with an invalid byte range")
    return Part(line.value, int(span[2]), int(span[1]), Fraction(duration[1]))


def _parse_number(header: Mapping[str, str], tag: str) -> int:
    value = header.get(tag, "")
    if not re.fullmatch(r"\d{1,9}", value, re.ASCII):
        raise MalformedPlaylist(f"{tag} is {value!r}, not a number" if value else f"{tag} is missing")
    return int(value)


def _parse_attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    offset = 0
    while offset < len(text):
        match = _ATTRIBUTE.match(text, offset)
        if not match or match[1] in found:
            raise MalformedPlaylist(f"invalid attributes {text[offset : offset + 80]!r}")
        found[match[1]] = match[2].strip('"')
        offset = match.end()
    return found
